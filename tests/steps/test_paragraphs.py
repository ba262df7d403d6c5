"""Pages are split into paragraphs, one by one or by column, with the same result."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preparation_rows import make, page

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.text.lengths import text_length
from benchbuilder.core.text.normalise import convert_script
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec
from benchbuilder.steps import paragraphs
from benchbuilder.steps.language.normal_form import rewrite_texts
from benchbuilder.steps.paragraphs import is_longer_than

# --- paragraphs ------------------------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("母乳\n新生儿\n", "utf-8")
    return str(path)


def test_a_page_is_cut_at_line_breaks_and_short_paragraphs_are_dropped():
    row = page(
        "新生儿出生后应尽早开始母乳喂养。\n\n参考\n　　一二三四五六七八九十\n一二三四五六七八九十甲", title="喂养"
    )
    outcomes = make("paragraphs", min_chars=10, filter_bases=[], words=None).map(row, {})
    assert [outcome.slot for outcome in outcomes] == ["1", "2", "3", "4"]
    assert outcomes[1:3] == [Dropped("too_short", "参考", "2"), Dropped("too_short", "一二三四五六七八九十", "3")]
    first, last = outcomes[0].row, outcomes[3].row
    assert (first.text, first.title, first.base) == ("新生儿出生后应尽早开始母乳喂养。", "喂养", "wiki")
    assert (first.of, first.slot, last.text) == (row.id, "1", "一二三四五六七八九十甲")


def test_headings_stand_in_the_titles_of_the_paragraphs_below_them():
    stage = make("paragraphs", min_chars=2, filter_bases=[], words=None, headings=["第.章.*", r"#+ (?P<title>.*)"])
    text = "前言一段。\n第一章 饮水\n每天喝水。\n## 儿童\n儿童喝水。\n第二章 用药\n按时服药。\n## 空\n短"
    outcomes = stage.map(page(text, title="指南"), {})
    kept = [(outcome.row.title, outcome.row.text, outcome.slot) for outcome in outcomes if isinstance(outcome, Kept)]
    assert kept == [
        ("指南", "前言一段。", "1"),
        ("指南 > 第一章 饮水", "每天喝水。", "3"),
        ("指南 > 第一章 饮水 > 儿童", "儿童喝水。", "5"),
        ("指南 > 第二章 用药", "按时服药。", "7"),
    ]
    assert outcomes[1] == NotApplicable("heading", "2")
    batch = stage.map_columns(Table.of([page(text, title="指南")], Passage))
    assert [(row.title, row.text, row.slot) for row in batch.rows] == kept
    assert batch.outcomes.to_pylist().count("not_applicable") == 4


def test_equal_paragraphs_of_a_page_are_two_rows():
    row = page("同样的一段文字写了两遍而已。\n同样的一段文字写了两遍而已。")
    outcomes = make("paragraphs", min_chars=10, filter_bases=[], words=None).map(row, {})
    assert outcomes[0].row.id != outcomes[1].row.id


def test_bases_with_a_filter_keep_pages_on_topic_only(words):
    stage = make("paragraphs", min_chars=2, filter_bases=["wiki"], words=words)
    assert stage.map(page("汽车有四个轮子。\n还有发动机。", title="汽车"), {}) == [Dropped("off_topic", "汽车")]
    assert len(stage.map(page("汽车有四个轮子。", base="textbook"), {})) == 1
    kept = stage.map(page("喂养方法。\n母乳最好。", title="新生儿"), {})
    assert [outcome.row.text for outcome in kept] == ["喂养方法。", "母乳最好。"]


def test_capitals_of_pages_do_not_count(tmp_path):
    (tmp_path / "words.txt").write_text("ingane\n", "utf-8")
    settings = {"min_chars": 2, "filter_bases": ["wiki"], "words": str(tmp_path / "words.txt")}
    assert len(make("paragraphs", **settings).map(page("Ingane iyakhala."), {})) == 1
    assert make("paragraphs", **settings, fold=[]).map(page("Ingane iyakhala.", title="x"), {}) == [
        Dropped("off_topic", "x")
    ]


def test_a_blank_page_has_one_ticket():
    stage = make("paragraphs", min_chars=2, filter_bases=[], words=None)
    assert stage.map(page(" \n　", title="空"), {}) == [Dropped("empty", "空")]


def test_traditional_pages_are_converted_before_they_are_filtered(words):
    stage = make("paragraphs", min_chars=2, filter_bases=["wiki"], words=words, convert="t2s")
    (outcome,) = stage.map(page("新生兒需要保暖。"), {})
    assert outcome.row.text == "新生儿需要保暖。"


def test_without_a_word_list_every_page_stays():
    stage = make("paragraphs", min_chars=2, filter_bases=["wiki"], words=None)
    stage.open({})
    (outcome,) = stage.map(page("心脏在左边。"), {})
    assert outcome.row.text == "心脏在左边。"


# --- paragraphs columns ----------------------------------------------------------------------------------------------

PARTS = [
    "母乳",
    "新生兒",
    "後",
    "发",
    "\n",
    "\n",
    "\r\n",
    " ",
    "\u3000",
    "\x1f",
    "\x1c",
    "\0",
    "e\u0301",
    "E\u0301",
    "👨‍👩‍👧",
    "\u2028",
    "干",
]
texts = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)
pages = st.lists(st.tuples(texts, texts, st.sampled_from(["wiki", "textbook"])), max_size=8)
specs = st.fixed_dictionaries(
    {
        "min_chars": st.integers(0, 5),
        "filter_bases": st.sampled_from([[], ["wiki"]]),
        "match": st.sampled_from(["contains", "words"]),
        "fold": st.sampled_from([[], ["case", "marks"]]),
        "convert": st.sampled_from([None, "t2s", "s2twp"]),
        "normal_form": st.sampled_from([None, "NFC", "NFKD"]),
    }
)


@pytest.fixture
def column_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("母乳\n新生\ne\u0301e\n", "utf-8")
    return str(path)


def by_column(stage, table):
    """The fates of each row of a table, as `map` would give them."""
    tickets = stage.map_columns(table)
    assert tickets.rows.arrow.schema.equals(schema_of(Passage))
    rows, found = iter(tickets.rows), defaultdict(list)
    names = ("row_position", "slots", "outcomes", "reasons", "details")
    for place, slot, fate, reason, detail in zip(*(getattr(tickets, name).to_pylist() for name in names), strict=True):
        found[place].append(Kept(next(rows), slot) if fate == "kept" else Dropped(reason, detail, slot))
        assert fate == "dropped" or (reason, detail) == ("", "")
    assert list(found) == list(range(len(table)))
    assert next(rows, None) is None
    return list(found.values())


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(pages, specs, st.sampled_from([1, 40, 1 << 22]))
def test_the_same_as_page_by_page(column_words, monkeypatch, made, spec, size):
    monkeypatch.setattr(paragraphs, "_BLOCK_BYTES", size)
    if spec["match"] == "words":
        spec = {**spec, "tokenizer": WhitespaceSpec(kind="whitespace", punctuation="apart")}
    stage = make("paragraphs", words=column_words, **spec)
    rows = [page(text, title=title, base=base, line=n) for n, (text, title, base) in enumerate(made, 1)]
    table = Table.of(rows, Passage)
    assert by_column(stage, table) == [list(stage.map(row, {})) for row in rows]
    part = Table(table.arrow.slice(len(rows) // 2), Passage)
    assert by_column(stage, part) == [list(stage.map(row, {})) for row in rows[len(rows) // 2 :]]


@pytest.mark.push
@given(st.lists(texts, max_size=10), st.sampled_from(["t2s", "s2twp", "tw2sp"]))
def test_many_texts_are_converted_as_each_is(many, conversion):
    alone = [convert_script(text, conversion) for text in many]
    assert rewrite_texts(many, lambda text: convert_script(text, conversion)) == alone


@given(texts, st.integers(0, 9))
def test_longer_counts_what_people_see(text, most):
    assert is_longer_than(text, most) == (text_length(text) > most)
