from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preparation_rows import choice, make, page, triple

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Triple
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.text.normalise import compose_characters, fold_text
from benchbuilder.core.text.wordlist import WordFinder
from benchbuilder.steps.topic import Topic, TopicSpec


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
    assert result.reasons.to_pylist() == [None, None, "off_topic", "off_topic", "off_topic"]
    assert result.details[2].as_py() == "no word in tail, tail_terms"
    assert result.details[4].as_py() == "no word in head, head_terms, tail, tail_terms"


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
    assert result.reasons.to_pylist() == [None, None, None, "off_topic"]
    assert result.tallies["words", "medqa", "母乳"] == 1
    assert result.tallies["words", "medqa", "母乳喂养"] == 1


def test_pages_are_filtered_by_title_and_text(words):
    stage = make("topic", words=words, match="contains", groups={"page": ["title", "text"]})
    rows = [page("喂养。", title="新生儿"), page("母乳好。"), page("汽车。", title="车")]
    assert stage.screen(Table.of(rows, Passage)).reasons.to_pylist() == [None, None, "off_topic"]


def test_an_empty_table_gives_nothing(words):
    stage = make("topic", words=words, match="exact", groups={"head": ["head", "head_terms"]})
    result = stage.screen(Table.of([], Fact[Triple]))
    assert (len(result.reasons), len(result.details), dict(result.tallies)) == (0, 0, {})


def test_a_slice_of_a_table_is_judged_by_its_own_rows(words):
    rows = [triple("甲", "是", "新生儿"), triple("佝偻病", "见于", "新生儿"), triple("乙", "是", "丙")]
    table = Table.of(rows, Fact[Triple])
    stage = make("topic", words=words, match="exact", groups={"head": ["head", "head_terms"]})
    part = Table(table.arrow.slice(1, 2), table.row)
    assert stage.screen(part).reasons.to_pylist() == [None, "off_topic"]


def test_an_unknown_field_is_named(words):
    stage = make("topic", words=words, match="contains", groups={"text": ["stem"]})
    with pytest.raises(DataError, match="no text 'stem'"):
        stage.screen(Table.of([choice("诊断是")], Fact[Choice]))


def test_a_missing_word_list_is_an_error():
    with pytest.raises(DataError, match="word list is missing"):
        make("topic", words="nowhere.txt", match="exact", groups={"head": ["head"]})


PART = st.text(st.sampled_from(["母", "乳", "喂", "e", "\u0301", "é", "E", "Ω", "\u2126", " ", "\n"]), max_size=4)
WORDS = st.lists(PART.map(str.strip).filter(bool), min_size=1, max_size=6)
TEXTS = st.lists(st.tuples(PART, PART, st.lists(PART, max_size=2)), max_size=6)


def judged(row, words, match, fold, groups):
    """What the stage says of a row, by the plain definition: whether it is on topic, and the words that it holds."""
    holds = str.__eq__ if match == "exact" else str.__contains__
    texts = {name: [fold_text(text, fold) for text in said] for name, said in row.payload.texts().items()}
    hits = {
        group: {
            word for word in words for field in fields for text in texts[field] if holds(text, fold_text(word, fold))
        }
        for group, fields in groups.items()
    }  # fmt: skip
    return all(hits.values()), set().union(*hits.values())


@pytest.mark.parametrize("match", ["exact", "contains"])
@pytest.mark.parametrize("fold", [(), ("case",), ("case", "marks")])
@settings(max_examples=40)
@given(words=WORDS, texts=TEXTS)
def test_a_table_is_judged_as_each_of_its_rows(match, fold, words, texts):
    words = tuple(dict.fromkeys(compose_characters(word) for word in words))
    words = tuple({fold_text(word, fold): word for word in words if fold_text(word, fold)}.values())
    groups = {"head": ("head", "head_terms"), "tail": ("tail",)}
    stage = Topic(
        TopicSpec.model_validate(
            {"kind": "topic", "from": "x", "words": "w", "match": match, "fold": fold, "groups": groups}
        ),
        StepContext(seed=1, language="zh", step="topic", cache=Path(), workplace=Path()),
    )
    stage.set_words(words)
    rows = [triple(head, "是", tail, line=n, head_terms=tuple(more)) for n, (head, tail, more) in enumerate(texts)]
    result = stage.screen(Table.of(rows, Fact[Triple]))
    wanted = [judged(row, words, match, fold, groups) for row in rows]
    assert [reason is None for reason in result.reasons.to_pylist()] == [kept for kept, _ in wanted]
    counts = Counter(word for _, hits in wanted for word in hits)
    assert {key[2]: n for key, n in result.tallies.items()} == ({word: counts[word] for word in words} if rows else {})


def test_whole_words_are_looked_for_only_where_a_word_stands(monkeypatch, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("母乳\n新生儿\n", "utf-8")
    stage = make("topic", words=str(path), match="words", groups={"text": ["question"]})
    monkeypatch.setattr(stage, "_tokenizer", SimpleNamespace(tokens=list))
    looked = []
    monkeypatch.setattr(WordFinder, "find", lambda self, text: looked.append(text) or set())
    rows = [choice("母乳喂养"), choice("诊断是"), choice("新生儿")]
    stage.screen(Table.of(rows, Fact[Choice]))
    assert looked == ["母乳喂养", "新生儿"]


@pytest.mark.parametrize("match", ["exact", "contains", "words"])
def test_without_a_list_every_row_is_on_topic(match):
    stage = make("topic", words=None, match=match, groups={"head": ["head"]})
    stage.open({})
    result = stage.screen(Table.of([triple("肺炎", "见于", "成人"), triple("痛风", "见于", "成人")], Fact[Triple]))
    assert result.reasons.to_pylist() == [None, None]
    assert result.details.to_pylist() == ["", ""]
    assert not result.tallies


@pytest.mark.parametrize(("match", "text"), [("exact", "Ingane"), ("contains", "Ingane esanda kuzalwa")])
def test_capitals_do_not_count_unless_the_recipe_says_so(tmp_path, match, text):
    path = tmp_path / "words.txt"
    path.write_text("ingane\n", "utf-8")
    rows = Table.of([choice(text), choice("Ukudla")], Fact[Choice])
    settings_of = {"words": str(path), "match": match, "groups": {"text": ["question"]}}
    assert make("topic", **settings_of).screen(rows).reasons.to_pylist() == [None, "off_topic"]
    assert make("topic", **settings_of, fold=[]).screen(rows).reasons.to_pylist() == ["off_topic", "off_topic"]
