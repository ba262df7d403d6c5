"""What `check` says of the first rows of sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchbuilder.cli.build import _topic_notes  # pyright: ignore[reportPrivateUsage]
from benchbuilder.config import load_recipe
from benchbuilder.core import Outcome, StepContext, Triple
from benchbuilder.pipeline import check_recipe
from benchbuilder.pipeline.text_faults import BRACKET, CONTROL, ENTITY, ESCAPE, MARK, TAG, faults_of
from benchbuilder.steps import TopicSpec
from benchbuilder.steps.language.relations import RelationStep, RelationStepSpec


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a\u202eb", CONTROL), ("one\\nTwo", ESCAPE), ("one\\r\\n", ESCAPE), ("H<sub>2</sub>O", TAG), ("a<br/>b", TAG),
        ("a &amp; b", ENTITY), ("a (b", BRACKET), ("so long） b", BRACKET), ("[a(b]", BRACKET),
    ],
)  # fmt: skip
def test_each_leftover_is_found(text: str, fault: Any) -> None:
    assert list(faults_of({"question": (text,)}, whole=True)) == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "x < y > z",
        "\\nabla \\times",
        "R&D; p",
        "a) one; b) two",
        "at 1 (see 12) and (c)",
        "می\u200cشود",
        "a\nb",
        "f(a[0])",
    ],
)
def test_sound_texts_are_left_alone(text: str) -> None:
    assert faults_of({"question": (text,)}, whole=True) == {}


def test_letters_of_options_are_found_if_all_have_their_own() -> None:
    assert list(faults_of({"options": ("A. one", "B. two")}, whole=True)) == [MARK]
    assert faults_of({"options": ("A. baumannii", "E. coli")}, whole=True) == {}
    assert faults_of({"options": ("1.5 mg", "2.5 mg")}, whole=True) == {}


def looked(*words: str) -> list[str]:
    return [str(warning) for warning in check_recipe(load_recipe(words), look=True)]


@pytest.mark.push
def test_a_leftover_is_one_warning_with_its_line_and_a_rule(tmp_path: Path) -> None:
    options = {name: f"{name}. {text}" for name, text in zip("ABCD", ("a", "b", "c", "d"), strict=True)}
    lines = [{"question": text, **options, "answer": "A"} for text in ("plain", "is <b>it</b>", "or <i>it</i>")]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = looked("recipe=exam_any", f"paths.exam_any={tmp_path / 'q.jsonl'}")
    assert "letters of options: 3 of the first 3 rows" in first
    assert "HTML tags: 2 of the first 3 rows" in second
    assert "q.jsonl:2" in second
    assert 'sources.exam_any.clean: {question: [{find: "</?[A-Za-z][^<>]*>", put: ""}]}' in second


class Stated(RelationStep):
    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        return []


def test_relations_without_a_sentence_are_named_with_their_rows(tmp_path: Path) -> None:
    table = tmp_path / "relations.tsv"
    table.write_text("relation\tstatement\tnegated\ttf\toe\tanswer_end\nlikes\t{head} likes {tail}.\t"
                     "{head} does not like {tail}.\tDoes {head} like {tail}?\tWhat likes {head}?\ttail\n")  # fmt: skip
    spec = RelationStepSpec.model_validate({"kind": "x", "from": "y", "relations": {"default": str(table)}})
    context = StepContext(seed=1, language="en", step="s", cache=tmp_path, workplace=tmp_path)
    step = Stated(spec, context)

    def row(relation: str, number: int) -> Any:
        return SimpleNamespace(partition="kg", payload=Triple(head=f"h{number}", relation=relation, tail="t"))

    found = list(step.remarks_on([row("likes", 1), row("hates", 2), row("hates", 3), row("fears", 4)]))
    assert [(issue.message, issue.actual) for issue in found] == [
        ("no sentence for 2 relations of kg: 3 of its first 4 triples are dropped", "hates (2), fears (1)")
    ]
    assert not list(step.remarks_on([row("likes", n) for n in range(99)] + [row("hates", 0)]))


def test_a_topic_filter_that_keeps_few_rows_is_told_with_its_words() -> None:
    spec = TopicSpec.model_construct(kind="topic", words=SimpleNamespace(path="a/words.txt"))
    counts = (("kg", "kept", "", 113), ("kg", "dropped", "off_topic", 262_074), ("mcq", "kept", "", 50),
              ("mcq", "dropped", "off_topic", 800))  # fmt: skip
    tallies = (("words", "kg", "flu", 100), ("words", "kg", "cough", 13), ("words", "kg", "none", 0))
    report: Any = SimpleNamespace(manifests={"topic": SimpleNamespace(counts=counts, tallies=tallies)})
    recipe: Any = SimpleNamespace(steps={"topic": spec})
    assert list(_topic_notes(report, recipe)) == [
        "topic keeps 113 of 262187 rows of kg: look at a/words.txt. Words that match most: flu (100), cough (13); "
        "1 of 3 words match nothing"
    ]
