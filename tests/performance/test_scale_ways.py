"""The plain ways give what ours give, where the benchmark compares them."""

from dataclasses import replace
from pathlib import Path

import pytest
from scale import ours, plain, tasks, words
from scale.sizes import QUICK


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tasks.Place:
    sizes = replace(QUICK, topic=3_000, questions=300)
    return tasks.Place(tmp_path_factory.mktemp("work"), None, sizes)


def test_the_same_paragraphs_are_best_with_the_same_scores(place: tasks.Place):
    told = tasks.retrieval_plain(place, count=200)
    found = tasks.retrieval_ours(place, count=200)
    assert found["compared"] == told["queries"] == QUICK.plain_queries
    assert found["equal"] == found["compared"]


def test_other_scores_are_told_from_equal_ones():
    model = plain.Bm25([["milk", "iron"], ["iron"], ["sleep"], ["sleep", "milk"], ["walk"]])
    best, scores = model.best(["iron"])
    first = [(at, score) for at, score in best if score > 0]
    assert plain.same(first, best, scores)
    assert not plain.same(first[1:], best, scores)
    assert not plain.same([(at, score + 1e-12) for at, score in first], best, scores)
    assert not plain.same([(2, first[0][1]), *first[1:]], best, scores)


def test_tokens_are_those_of_jieba(place: tasks.Place):
    assert tasks.tokens_plain(place)["digest"] == tasks.tokens_ours(place)["digest"]


def test_the_same_triples_and_questions_are_on_topic(place: tasks.Place):
    assert tasks.topic_plain(place)["kept"] == tasks.topic_ours(place)["kept"] > 0
    assert tasks.questions_plain(place)["kept"] == tasks.questions_ours(place)["kept"] > 0


def test_texts_in_a_file_are_a_sequence(tmp_path: Path):
    import pyarrow as pa

    texts = ours.Texts.write(tmp_path / "texts.arrow", iter([pa.array(["a", "b"]), pa.array(["c"])]))
    assert (len(texts), texts[2], texts[-1:], texts[1:3]) == (3, "c", ["c"], ["b", "c"])


def test_the_real_files_are_left_out_with_a_reason_where_they_are_not(place: tasks.Place):
    assert "--real" in tasks.real_ours(place, "care_mi")["skipped"]
    assert "--real" in tasks.real_plain(place, "care_mi")["skipped"]


def test_relations_that_are_generated_have_a_sentence():
    assert len(words.relations("relations_bios.tsv")) > 5
    assert len(words.relations("relations_cpubmed.tsv")) > 5
