import pytest
from preparation_rows import make, page
from pydantic import ValidationError

from benchbuilder.core.records.outcomes import Dropped


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("母乳\n新生儿\n", "utf-8")
    return str(path)


def test_a_page_is_cut_at_line_breaks_and_short_paragraphs_are_dropped():
    row = page(
        "新生儿出生后应尽早开始母乳喂养。\n\n参考\n　　一二三四五六七八九十\n一二三四五六七八九十甲", title="喂养"
    )
    fates = make("paragraphs", min_chars=10, filter_bases=[], words=None).map(row, {})
    assert [fate.slot for fate in fates] == ["1", "2", "3", "4"]
    assert fates[1:3] == [Dropped("too_short", "参考", "2"), Dropped("too_short", "一二三四五六七八九十", "3")]
    first, last = fates[0].row, fates[3].row
    assert (first.text, first.title, first.base) == ("新生儿出生后应尽早开始母乳喂养。", "喂养", "wiki")
    assert (first.of, first.slot, last.text) == (row.id, "1", "一二三四五六七八九十甲")


def test_equal_paragraphs_of_a_page_are_two_rows():
    row = page("同样的一段文字写了两遍而已。\n同样的一段文字写了两遍而已。")
    fates = make("paragraphs", min_chars=10, filter_bases=[], words=None).map(row, {})
    assert fates[0].row.id != fates[1].row.id


def test_bases_with_a_filter_keep_pages_on_topic_only(words):
    stage = make("paragraphs", min_chars=2, filter_bases=["wiki"], words=words)
    assert stage.map(page("汽车有四个轮子。\n还有发动机。", title="汽车"), {}) == [Dropped("off_topic", "汽车")]
    assert len(stage.map(page("汽车有四个轮子。", base="textbook"), {})) == 1
    kept = stage.map(page("喂养方法。\n母乳最好。", title="新生儿"), {})
    assert [fate.row.text for fate in kept] == ["喂养方法。", "母乳最好。"]


def test_a_blank_page_has_one_ticket():
    stage = make("paragraphs", min_chars=2, filter_bases=[], words=None)
    assert stage.map(page(" \n　", title="空"), {}) == [Dropped("empty", "空")]


def test_traditional_pages_are_converted_before_they_are_filtered(words):
    stage = make("paragraphs", min_chars=2, filter_bases=["wiki"], words=words, convert="t2s")
    (fate,) = stage.map(page("新生兒需要保暖。"), {})
    assert fate.row.text == "新生儿需要保暖。"


def test_a_filter_needs_a_word_list():
    with pytest.raises(ValidationError, match="needs the word list"):
        make("paragraphs", min_chars=2, filter_bases=["wiki"], words=None)
