"""Whatever is in a file that somebody gives, its reader gives rows, or says in a message what is wrong with it."""

from __future__ import annotations

import csv
import gc
import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.authoring.starter.data_file import read_data_files
from benchbuilder.authoring.starter.layout import propose_layout
from benchbuilder.authoring.starter.sample import UnclearLayoutError
from benchbuilder.core import BenchbuilderError, EndOfFile, Kept, find_kind, read_row_file
from benchbuilder.evaluation.baselines.people import _file_answers
from benchbuilder.evaluation.baselines.recorded import _read
from benchbuilder.evaluation.judge_training.score_file import read_records
from benchbuilder.evaluation.scorers.ratings import ratings_in_file
from benchbuilder.publishing.errata.reports import read_reports
from benchbuilder.publishing.release.record import read_record
from benchbuilder.publishing.release.submissions import read_submission

Reader = Callable[[Path], object]
TABLES = (".jsonl", ".csv", ".tsv", ".parquet")
SOURCES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
PIECES = (
    b"[" * 100_000, b'{"a":' * 50_000, b"\\ud800", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b'"', b"'",
    b"\r", b"\n", b"\t", b",", b"\\", b"NaN", b"1e999", b"-Infinity", b"null", b"true", b"{}", b"[]", b'""', b"=1+1",
    b"9" * 5_000, "\u2028\u0085\u202e".encode(), b"\xc3\x28", b"A" * 70_000, b'{"id": 1, "id": 2}',
)  # fmt: skip
"""What other files have been found to hold, or an attacker would write."""


def _layout(kind: str) -> Reader:
    """What `new` makes of a file: a layout, or a question."""

    def read(path: Path) -> object:
        with suppress(UnclearLayoutError):
            return propose_layout(path, kind)
        return None

    return read


def _source(kind: str, **spec: Any) -> Reader:
    """A source that reads a file, every text of which can be written again."""

    def read(path: Path) -> object:
        cls = find_kind("source", kind).load()
        source = cls(cls.spec_class.model_validate({"kind": kind, "path": str(path), **spec}), "given", "en")
        source.check()
        for unit in source.read():
            if not isinstance(unit, EndOfFile) and isinstance(unit.outcome, Kept):
                json.dumps(unit.outcome.row.model_dump(mode="json"), ensure_ascii=False).encode()
        return None

    return read


CHOICE = {"question": "Which planet is hottest?", "a": "Venus", "b": "Mars", "c": "Earth", "key": "A", "part": "sky"}
RATED = {"id": "item-1", "model": "m", "question": "Is it hot?", "answer": "yes", "correctness.ann": "0.5"}
RECORD = {
    "canary": "0" * 36, "name": "given", "title": "Given", "version": "1.0.0", "date": "2026-01-01", "seed": 1,
    "licence": "CC0-1.0", "language": "en", "sources": [], "recipe_sha256": "ab", "versions": {"python": "3.11"},
    "configs": [{"name": "tf", "type": "tf", "files": {"test": "tf.jsonl"}, "items": {"test": 3}}],
}  # fmt: skip
READERS: dict[str, tuple[Reader, tuple[str, ...], Mapping[str, Any]]] = {
    "rows": (read_row_file, TABLES, CHOICE),
    "records for a judge": (read_records, TABLES, RATED),
    "recorded answers": (_read, TABLES, RATED),
    "answers of people": (lambda path: _file_answers(path, "item"), TABLES, {"id": "i", "person": "p", "answer": "A"}),
    "ratings": (lambda path: ratings_in_file(path, ["correctness"]), TABLES, RATED),
    "submissions": (lambda path: read_submission(path, {"item-1"}), TABLES, RATED),
    "reports of errors": (read_reports, TABLES, {"item": "i", "kind": "wrong_key", "text": "It is Venus.", "by": "me"}),
    "a release": (lambda path: read_record(path.parent), (".json",), RECORD),
    "layouts of choices": (_layout("multiple_choice"), (*TABLES, ".json", ".txt"), CHOICE),
    "layouts of answers": (_layout("question_answer"), (*TABLES, ".json"), CHOICE),
    "layouts of claims": (_layout("claims"), (*TABLES, ".json"), CHOICE),
    "multiple choice": (_source("multiple_choice", columns={
        "question": "question", "options": {"A": "a", "B": "b", "C": "c"}, "answer_key": "key"}), SOURCES, CHOICE),
    "claims": (_source("claims", columns={"text": "claim", "label": "label"}, labels={"true": "yes", "false": "no"}),
               SOURCES, {"claim": "Venus is hot.", "label": "yes"}),
    "questions with answers": (_source("question_answer", columns={"question": "q", "answers": "a"}),
                               SOURCES, {"q": "Which planet is hot?", "a": "Venus"}),
    "triples": (_source("triples", columns={"head": "h", "relation": "r", "tail": "t"}),
                SOURCES, {"h": "Venus", "r": "is", "t": "hot"}),
    "benchmarks": (_source("benchmark"), (".jsonl", ".csv", ".tsv", ".parquet"), {
        "q-type": "TF", "source": "Atlas", "full-question": "Is it hot?", "answer": "Yes.", "answer-wrong": "No.",
        "evidence": ["It is hot."]}),
    "documents": (_source("corpus", columns={"text": "text"}), SOURCES, {"text": "Venus is hot. It has clouds."}),
}  # fmt: skip


def _file(row: Mapping[str, Any], suffix: str) -> bytes:
    rows = [dict(row) for _ in range(3)]
    if suffix == ".jsonl":
        return b"".join(json.dumps(one).encode() + b"\n" for one in rows)
    if suffix == ".json":
        return json.dumps(row if row is RECORD else rows).encode()
    if suffix == ".parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row), delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


CASES = [(name, suffix) for name, (_, suffixes, _) in READERS.items() for suffix in suffixes]


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """A file in which pieces stand where none belong, parts are missing or twice, or bytes are others."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        to = draw(st.integers(at, min(len(content), at + 30)))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=6) | st.just(content[at:to]))
        content = content[:at] + piece + content[draw(st.sampled_from((at, to))) :]
    return content


def refusal(reader: Reader, path: Path) -> BenchbuilderError | None:
    """The message with which a file is refused; any other error is none."""
    gc.disable()  # what other tests left may not be cleared away at the limit of recursion: its finalizers fail there
    try:
        reader(path)
    except BenchbuilderError as error:
        return error
    finally:
        gc.enable()
    return None


def _read_damaged(name: str, suffix: str, folder: Path, examples: int) -> None:
    reader, _, row = READERS[name]
    path = folder / ("release.json" if name == "a release" else f"given{suffix}")
    content = _file(row, suffix)
    path.write_bytes(content)

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(damaged(content))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        if error := refusal(reader, path):
            assert error.exit_code in (2, 3)
            assert str(error).encode()
            assert path.name.partition(".")[0] in f"{error} {error.where} {error.why}"

    check()


@pytest.mark.push
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    for suffix in READERS[name][1]:
        _read_damaged(name, suffix, tmp_path, 12)


NEW = {
    "paper.txt": "1. Which planet is hot?\nA. Venus\nB. Mars\n2. Which is red? a) Mars b) Venus\nAnswer key\n1. A 2. A",
    "paper.md": "**1. Which planet is hot?**\n\n- A. Venus\n- B. Mars\n\n**Answer:** A\n",
    "paper.html": "<ol><li>Hot?<ol><li>Venus</li><li>Mars</li></ol></li></ol><p>Answers</p><p>1. A</p>",
    "bank.xml": "<quiz><question type='multichoice'><questiontext><text>Hot?</text></questiontext>"
                "<answer fraction='9'><text>Venus</text></answer><answer><text>Mars</text></answer></question></quiz>",
    "query.json": '{"results": {"bindings": [{"a": {"value": "Venus"}, "b": {"value": "hot"}}]}}',
    "graph.jsonl": '{"n": {"labels": ["p"], "properties": {"name": "Venus"}}, "r": {"type": "is"}, '
                   '"m": {"labels": ["q"], "properties": {"name": "hot"}}}\n',
    "planets.csv": "planet,heat,colour\nVenus,hot,white\nMars,cold,red\nEarth,mild,blue\nNeptune,cold,deep blue\n",
    "planets.json": '{"Venus": {"heat": "hot"}, "Mars": {"heat": "cold"}, "Earth": {"heat": "mild"}}',
}  # fmt: skip


@pytest.mark.push
@pytest.mark.parametrize("name", NEW)
def test_a_damaged_file_is_told_or_refused_by_new(name: str, tmp_path: Path) -> None:
    path, content = tmp_path / name, NEW[name].encode()

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(damaged(content))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        if error := refusal(lambda given: read_data_files([str(given)], None), path):
            assert name in str(error)

    check()


@pytest.mark.full
@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_many_damaged_files_are_read_or_refused(name: str, suffix: str, tmp_path: Path) -> None:
    _read_damaged(name, suffix, tmp_path, 400)


@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_a_file_as_it_should_be_is_read(name: str, suffix: str, tmp_path: Path) -> None:
    reader, _, row = READERS[name]
    path = tmp_path / ("release.json" if name == "a release" else f"given{suffix}")
    path.write_bytes(_file(row, suffix))
    error = refusal(reader, path)
    told = "" if error is None else f"{error} {error.why}"
    assert not told or "problems" in told, told  # three equal rows
