"""What `check` says of the first rows of sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from benchbuilder.cli.build import _topic_notes  # pyright: ignore[reportPrivateUsage]
from benchbuilder.config import load_recipe
from benchbuilder.core import Outcome, StepContext, Triple, create_from_spec
from benchbuilder.pipeline import check_recipe, understood_rows
from benchbuilder.pipeline.check_rows import (
    BRACKET,
    CONTROL,
    ENTITY,
    ESCAPE,
    LOOKALIKE,
    MARK,
    MOJIBAKE,
    TAG,
    faults_of,
)
from benchbuilder.steps import TopicSpec
from benchbuilder.steps.language.relations import RelationStep, RelationStepSpec


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a\u202eb", CONTROL), ("one\\nTwo", ESCAPE), ("one\\r\\n", ESCAPE), ("H<sub>2</sub>O", TAG), ("a<br/>b", TAG),
        ("a &amp; b", ENTITY), ("nife\u00addipine", CONTROL), ("\\u00fcber", ESCAPE),
        ("M\u00c3\u00bcnchen", MOJIBAKE), ("P\u0430ris", LOOKALIKE),
        ("a (b", BRACKET), ("so long） b", BRACKET), ("[a(b]", BRACKET),
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
        "\u00fcber \u00e9t\u00e9 na\u00efve, \u041c\u043e\u0441\u043a\u0432\u0430, \u03b2-cell, \u00b5g",
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


LEFTOVERS = [
    ("invisible control characters", "nife\u00addi\u200bpine", "nifedipine"),
    ("HTML tags", "H<sub>2</sub>O at 10<sup>6</sup> Pa,<br>or <i>so</i>", "H2O at 10^6 Pa, or so"),
    ("HTML entities", "&lt; 90 mmHg, R&amp;D, &alpha;", "< 90 mmHg, R&D, \u03b1"),
    ("written escapes", "one\\nTwo, M\\u00fcnchen", "one Two, M\u00fcnchen"),
    ("UTF-8 that was read", "M\u00c3\u00bcnchen \u00e2\u201a\u00ac", "M\u00fcnchen \u20ac"),
    ("letters of another script", "P\u0430ris", "Paris"),
]


@pytest.mark.push
@pytest.mark.parametrize(("what", "text", "mended"), LEFTOVERS, ids=[what for what, *_ in LEFTOVERS])
def test_the_clean_up_that_a_warning_proposes_mends_what_it_is_about(
    tmp_path: Path, what: str, text: str, mended: str
) -> None:
    lines = [{"question": "plain?", "A": "a", "B": text, "C": "c", "D": "d", "answer": "A"}]
    lines += [{"question": f"{text} {n}?", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "A"} for n in range(2)]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    words = ["recipe=exam_any", f"paths.exam_any={path}"]
    (warning,) = looked(*words)
    assert f"{what}" in warning
    assert "3 of the first 3 rows" in warning
    key, _, value = warning.partition("hint:")[2].strip().removesuffix(" mends them").partition(": ")
    assert set(yaml.safe_load(value)) == {"question", "options"}
    assert not looked(*words, f"{key}={value}")
    spec = load_recipe([*words, f"{key}={value}"]).recipe.sources["exam_any"]
    rows = create_from_spec("source", spec, "exam_any", "en").first_rows(3)
    assert [row.payload.question for row in rows] == ["plain?", f"{mended} 0?", f"{mended} 1?"]
    assert rows[0].payload.options[1].text == mended


@pytest.mark.push
@pytest.mark.parametrize("form", ["{}. {}", "({}) {}", "{}\u3001{}"])
def test_the_mark_that_a_warning_proposes_reads_the_letters_of_options(tmp_path: Path, form: str) -> None:
    options = {
        name: form.format(name, text) for name, text in zip("ABCD", ("one", "two", "three", "four"), strict=True)
    }
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "q?", **options, "answer": "A"}) + "\n")
    words = ["recipe=exam_any", f"paths.exam_any={tmp_path / 'q.jsonl'}"]
    (warning,) = looked(*words)
    assert "letters of options: 1 of the first 1 rows" in warning
    assert not looked(
        *words, warning.partition("hint:")[2].strip().removesuffix(" reads them as keys").replace("'", '"')
    )


def test_leftovers_that_no_clean_up_mends_are_to_be_corrected(tmp_path: Path) -> None:
    lines = [{"question": "an (odd bracket?", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "A"}]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (warning,) = looked("recipe=exam_any", f"paths.exam_any={tmp_path / 'q.jsonl'}")
    assert "correct the file" in warning


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


def test_a_topic_filter_that_loses_much_is_told_with_its_words(tmp_path: Path) -> None:
    spec = TopicSpec.model_construct(
        kind="topic", words=SimpleNamespace(path="a/words.txt", file=tmp_path / "words.txt")
    )
    counts = (("kg", "kept", "", 113), ("kg", "dropped", "off_topic", 262_074), ("mcq", "kept", "", 750),
              ("mcq", "dropped", "off_topic", 250), ("all", "kept", "", 9), ("all", "dropped", "off", 1))  # fmt: skip
    tallies = (("words", "kg", "flu", 100), ("words", "kg", "cough", 13), ("words", "kg", "none", 0))
    report: Any = SimpleNamespace(manifests={"topic": SimpleNamespace(counts=counts, tallies=tallies)})
    recipe: Any = SimpleNamespace(name="own", steps={"topic": spec})
    few, some = _topic_notes(report, recipe, ())
    assert few == (
        "warning: 262074 of 262187 rows of kg are off topic by a/words.txt. Words that match most: flu (100), "
        "cough (13); 1 of 3 words match nothing. steps.topic.words=null keeps every row"
    )
    assert some.startswith("note: 250 of 1000 rows of mcq are off topic")


@pytest.mark.push
def test_three_rows_of_each_source_are_shown_as_they_were_understood(tmp_path: Path) -> None:
    plain = [{"question": f"q{n}?", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "B"} for n in range(20)]
    odd = {"question": "odd?", "A": "", "B": "one\ntwo", "C": "c", "D": "", "answer": "B"}
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, [*plain[:9], odd, *plain[9:]])))
    loaded = load_recipe(["recipe=exam_any", f"paths.exam_any={path}"])
    lines = list(understood_rows(loaded))
    assert lines[0] == "exam_any, as read:"
    text = "\n".join(lines)
    assert text.count("question: ") == 3
    assert f"{path.name}:10\n    question: odd?\n      right: one / two\n      wrong: c" in text
    assert "right: b\n      wrong: a | c | d" in text
    assert list(understood_rows(loaded)) == lines


@pytest.mark.push
def test_words_of_a_list_that_match_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "flu_test.csv").write_text("Febre alta?,Água,b,c,d,A\nQual rim?,e,f,g,Pés,B\n", encoding="utf-8")
    (tmp_path / "words.txt").write_text("# a\nfebre\trim\nágua\nRIM\nrim\npé\n\nfígado\nmama\nbar\n", encoding="utf-8")
    words = ["recipe=medicine_en", "source=[mmlu_csv]", "annotation=none", f"paths.mmlu_csv={tmp_path}"]
    found = check_recipe(load_recipe([*words, f"paths.words={tmp_path / 'words.txt'}"]), look=True)
    (warning,) = [each for each in found if "words of the list" in each.message]
    assert warning.message.startswith("4 of the 8 words of the list match nothing in the 2 rows")
    assert warning.where.endswith("words.txt:6")
    assert warning.actual == "pé (line 6), fígado (line 8), mama (line 9), and 1 more"
    assert "a plural is a word of its own" in warning.hint
    whole = [f"paths.words={tmp_path / 'words.txt'}", "steps.choices_on_topic.match=contains"]
    (other,) = [each for each in check_recipe(load_recipe([*words, *whole]), look=True) if "words of" in each.message]
    assert other.actual == "fígado (line 8), mama (line 9), bar (line 10)"
    assert "plural" not in other.hint
    assert not [each for each in check_recipe(load_recipe(words), look=True) if "words of the list" in each.message]
