"""The contract checks find every broken promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import broken_kinds as broken
import pytest

from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.testing import (
    ContractError,
    check_exporter,
    check_kind,
    check_payload,
    check_retriever,
    check_source,
    check_step,
    check_tokenizer,
)

TABLE = Table.of(
    [
        Passage.build(base="b", document="d", text=f"text {n}", origin=Origin(file="f", line=n),
                      produced_by=ProducedBy(rule="r"), language="en", partition="p")
        for n in range(1, 20)
    ],
    Passage,
)  # fmt: skip
CONTEXT = StepContext(seed=1, language="en", step="step", cache=Path("nowhere"), workplace=Path("nowhere"))


def run(cls: Any, how: str) -> None:
    spec = broken.HowSpec.model_validate({"kind": cls.kind, "from": "x", "how": how})
    check_step(lambda: cls(spec, CONTEXT), {"each": TABLE})


@pytest.mark.parametrize("cls", [broken.Copy, broken.Columns, broken.First, broken.Pack])
def test_a_good_step_passes(cls: Any) -> None:
    run(cls, "")


@pytest.mark.parametrize(
    ("cls", "how", "message"),
    [
        (broken.Copy, "unpicklable", "cannot be pickled before it is opened"),
        (broken.Copy, "order", "opened once and run twice|in batches of 1"),
        (broken.Copy, "global", "run again, makes other rows"),
        (broken.Copy, "process", "in another process, makes other rows"),
        (broken.Copy, "hash", "in another process, makes other rows"),
        (broken.Copy, "undeclared", "undeclared reason 'mood'"),
        (broken.Copy, "slot", "the kind declares"),
        (broken.Copy, "id", "occurs twice"),
        (broken.Copy, "of", "names passage-2 as the one"),
        (broken.Copy, "parents", "as the one that it comes from"),
        (broken.Copy, "origin", "another origin than that of its parent"),
        (broken.Copy, "language", "another language than that of its parent"),
        (broken.Copy, "partition", "another partition than that of its parent"),
        (broken.Copy, "produced_by", "does not say which rule produced"),
        (broken.Copy, "text", "make rows with build or child"),
        (broken.Copy, "touched", "but changes it"),
        (broken.Columns, "drops", "working on columns, makes other rows"),
        (broken.Columns, "missing", "says that it prepared none, which does not exist"),
        (broken.Columns, "astray", "which is not in its cache"),
        (broken.First, "batch", "in batches of 1, makes other rows"),
        (broken.Pack, "hash", "in another process, makes other rows"),
    ],
)
def test_a_step_that_breaks_a_promise_is_found(cls: Any, how: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        run(cls, how)


def test_a_step_that_divides_may_name_partitions_but_has_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broken.Copy, "divides", True)
    run(broken.Copy, "partition")
    with pytest.raises(ContractError, match="no partition"):
        run(broken.Copy, "no_partition")


def test_a_step_that_translates_may_change_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ContractError, match="another language"):
        run(broken.Copy, "language")
    monkeypatch.setattr(broken.Copy, "translates", True)
    run(broken.Copy, "language")
    with pytest.raises(ContractError, match="another partition"):
        run(broken.Copy, "partition")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("", ""),
        ("order", "out of order"),
        ("reason", "undeclared reason 'mood'"),
        ("origin", "names another origin"),
        ("partition", "has the partition 'other'"),
        ("twins", "two rows with the id"),
        ("missing", "does not reach the end of numbers.txt"),
        ("count", "counts 4 units of numbers.txt, but yields 3"),
        ("after", "continues with numbers.txt after its end"),
        ("process", "read in another process"),
        ("bulk_detail", "that is kept a detail"),
        ("bulk_rows", "keeps 3 units of numbers.txt, and makes 2 rows"),
        ("bulk_other", "read as columns, gives other units"),
        ("bulk_lost", "read as columns, gives other units"),
    ],
)
def test_sources(tmp_path: Path, how: str, message: str) -> None:
    (tmp_path / "numbers.txt").write_text("a\nb\nc\n")
    path = FileRef(path="numbers.txt", resolved_path=str(tmp_path / "numbers.txt"))
    source = broken.Numbers(broken.FileSpec(kind="numbers", path=path, how=how), "numbers", "en")
    if not message:
        assert len(check_source(source)) == 3
        return
    with pytest.raises(ContractError, match=message):
        check_source(source)


@pytest.mark.parametrize(
    ("how", "message"), [("", ""), ("lower", "makes"), ("empty", "empty token"), ("lost", "makes")]
)
def test_tokenizers(how: str, message: str) -> None:
    spec = broken.HowSpec.model_validate({"kind": "letters", "from": "x", "how": how})
    if not message:
        check_tokenizer(lambda: broken.Letters(spec), ["A b"])
        return
    with pytest.raises(ContractError, match=message):
        check_tokenizer(lambda: broken.Letters(spec), ["A b"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("", ""),
        ("zero", "score zero"),
        ("worst", "the best text first"),
        ("twice", "a text twice"),
        ("all", "for an empty query"),
    ],
)
def test_retrievers(how: str, message: str) -> None:
    spec = broken.HowSpec.model_validate({"kind": "every", "from": "x", "how": how})
    if not message:
        assert check_retriever(lambda: broken.Every(spec), ["ab", "bc"], ["b", "z"]) == [[(0, 1.0), (1, 0.5)], []]
        return
    with pytest.raises(ContractError, match=message):
        check_retriever(lambda: broken.Every(spec), ["ab", "bc"], ["b", "z"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("", ""),
        ("clock", "differently when run again"),
        ("process", "differently in another process"),
        ("hidden", "returns"),
        ("nothing", "returns"),
    ],
)
def test_exporters(how: str, message: str) -> None:
    spec = broken.HowSpec.model_validate({"kind": "lines", "from": "x", "how": how})
    finished = FinishedBuild(
        tables={"items": TABLE}, step_counts=(), recipe={}, recipe_yaml="", ledger=Path("ledger.tsv"), items="items",
        state="done",
    )  # fmt: skip
    if not message:
        assert check_exporter(lambda: broken.Lines(spec), finished) == {"lines.txt": b"fine"}
        return
    with pytest.raises(ContractError, match=message):
        check_exporter(lambda: broken.Lines(spec), finished)


def test_payloads() -> None:
    check_payload(broken.Note)
    check_payload(broken.FieldNote)
    for cls, message in (
        (broken.ForgetfulNote, "does not convert its text 'title'"),
        (broken.WrongTextNote, "names the field 'remarks.texts', which is no text"),
        (broken.WrongCellNote, "names the field 'remarks', which is no text"),
        (broken.TwinNote, "are equal"),
        (broken.NumberNote, "not a string"),
    ):
        with pytest.raises(ContractError, match=message):
            check_payload(cls)


def test_kinds() -> None:
    check_kind("step", "copy", broken.Copy)
    with pytest.raises(ContractError, match="registered as 'copie'"):
        check_kind("step", "copie", broken.Copy)
