import pytest
from preparation_rows import choice, make, page, triple

from benchbuilder.errors import DataError
from benchbuilder.records.fact import Choice, Fact, Triple
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import Table


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# birth\n母乳\tbreast milk\n母乳喂养\n新生儿\n佝偻病\n产褥期\n", "utf-8")
    return str(path)


def test_exact_wants_every_group_by_any_of_its_fields(words):
    groups = {"head": ["head", "head_terms"], "tail": ["tail", "tail_terms"]}
    stage = make("topic", words=words, match="exact", groups=groups)
    rows = [
        triple("佝偻病", "见于", "新生儿"),
        triple("软骨病", "见于", "新生儿", head_terms=("软骨病", "佝偻病")),
        triple("佝偻病", "见于", "新生儿期"),
        triple("肺炎", "见于", "新生儿", head_terms=("肺炎",)),
        triple("肺炎", "见于", "成人"),
    ]
    result = stage.screen(Table.of(rows, Fact[Triple]))
    assert result.reasons == [None, None, "off_topic", "off_topic", "off_topic"]
    assert result.details[2] == "no word in tail, tail_terms"
    assert result.details[4] == "no word in head, head_terms, tail, tail_terms"


def test_a_word_counts_once_a_row_and_one_never_found_counts_zero(words):
    groups = {"head": ["head", "head_terms"], "tail": ["tail"]}
    rows = [
        triple("佝偻病", "见于", "新生儿", head_terms=("佝偻病", "佝偻病")),
        triple("佝偻病", "同", "佝偻病", partition="cpubmed"),
    ]
    tallies = make("topic", words=words, match="exact", groups=groups).screen(Table.of(rows, Fact[Triple])).tallies
    assert tallies["words", "bios", "佝偻病"] == 1
    assert tallies["words", "cpubmed", "佝偻病"] == 1
    assert tallies["words", "bios", "新生儿"] == 1
    assert ("words", "bios", "产褥期") in tallies
    assert tallies["words", "bios", "产褥期"] == 0


def test_contains_looks_into_question_context_and_options(words):
    groups = {"text": ["context", "question", "options"]}
    stage = make("topic", words=words, match="contains", groups=groups)
    rows = [
        choice("最佳喂养方式是母乳喂养后的", "肺炎"),
        choice("诊断是", "肺炎", options=("肺炎", "新生儿肺炎")),
        choice("诊断是", "肺炎", options=("肺炎", "湿疹"), context="产褥期发热。"),
        choice("诊断是", "肺炎", options=("肺炎", "湿疹")),
    ]
    result = stage.screen(Table.of(rows, Fact[Choice]))
    assert result.reasons == [None, None, None, "off_topic"]
    assert result.tallies["words", "medqa", "母乳"] == 1
    assert result.tallies["words", "medqa", "母乳喂养"] == 1


def test_pages_are_filtered_by_title_and_text(words):
    stage = make("topic", words=words, match="contains", groups={"page": ["title", "text"]})
    rows = [page("喂养。", title="新生儿"), page("母乳好。"), page("汽车。", title="车")]
    assert stage.screen(Table.of(rows, Passage)).reasons == [None, None, "off_topic"]


def test_an_empty_table_gives_nothing(words):
    stage = make("topic", words=words, match="exact", groups={"head": ["head", "head_terms"]})
    result = stage.screen(Table.of([], Fact[Triple]))
    assert (result.reasons, result.details, dict(result.tallies)) == ([], [], {})


def test_a_slice_of_a_table_is_judged_by_its_own_rows(words):
    rows = [triple("甲", "是", "新生儿"), triple("佝偻病", "见于", "新生儿"), triple("乙", "是", "丙")]
    table = Table.of(rows, Fact[Triple])
    stage = make("topic", words=words, match="exact", groups={"head": ["head", "head_terms"]})
    part = Table(table.arrow.slice(1, 2), table.row)
    assert stage.screen(part).reasons == [None, "off_topic"]


def test_an_unknown_field_is_named(words):
    stage = make("topic", words=words, match="contains", groups={"text": ["stem"]})
    with pytest.raises(DataError, match="no text 'stem'"):
        stage.screen(Table.of([choice("诊断是")], Fact[Choice]))


def test_a_missing_word_list_is_an_error():
    with pytest.raises(DataError, match="word list is missing"):
        make("topic", words="nowhere.txt", match="exact", groups={"head": ["head"]})
