"""Steps, sources and other kinds that each break one promise."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa

from benchbuilder.config.spec.base import FileRef, StepSpec
from benchbuilder.core.records.arrow.batches import OutcomeBatch, SourceBatch
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, FilterResult, GatherResult, Kept, Outcome, SourceUnit
from benchbuilder.core.records.payload_base import FieldPayload, Payload
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import FrozenModel, Origin, ProducedBy, Row
from benchbuilder.exporters.base import Exporter, FinishedBuild
from benchbuilder.retrieval.base import Retriever, Tokenizer
from benchbuilder.sources.base import Source, SourceSpec
from benchbuilder.steps.base import Filter, Gather, Map, Port


class HowSpec(StepSpec):
    how: str = ""


class Copy(Map):
    """Copies each row, well or badly."""

    kind = "copy"
    spec_class = HowSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"odd": "It is odd."}
    made = 0

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        if spec.how == "unpicklable":
            self.count = itertools.count
            self.never = lambda: None

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        self.seen = 0

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        how, text, slot = self.spec.how, row.text, ""
        self.seen += 1
        if how == "order":
            text = str(self.seen)
        elif how == "global":
            Copy.made += 1
            text = str(Copy.made)
        elif how == "process":
            text = str(os.getpid())
        elif how == "hash":
            text = "".join({*"abcdefghijkl"}) + text
        elif how == "undeclared":
            return [Dropped("mood")]
        elif how == "slot":
            slot = "x"
        child = Passage.child(
            row,
            produced_by=ProducedBy(rule="" if how == "produced_by" else "copy"),
            base=row.base,
            document="",
            text=text,
        )
        changes: dict[str, dict[str, Any]] = {
            "id": {"id": "passage-1"},
            "of": {"of": "passage-2"},
            "parents": {"parents": ()},
            "origin": {"origin": Origin(file="elsewhere", line=1)},
            "language": {"language": "xx"},
            "partition": {"partition": "xx"},
            "no_partition": {"partition": ""},
            "text": {"text": "changed afterwards"},
        }
        if how == "touched":
            return [Kept(row.model_copy(update={"text": "touched"}))]
        return [Kept(child.model_copy(update=changes.get(how, {})), slot=slot)]


class Columns(Copy):
    """Works on columns too, well or badly; `how` may make it prepare a file."""

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        made = {"missing": self.context.cache / "none", "astray": Path(__file__)}
        return (made[self.spec.how],) if self.spec.how in made else ()

    def map_columns(self, table: Table[Any]) -> OutcomeBatch:
        rows = list(table)[:: -1 if self.spec.how == "backwards" else 1]
        drops = self.spec.how == "drops"
        outcomes = [[Dropped("odd")] if drops else list(self.map(row, {})) for row in rows]
        made = [(place, outcome) for place, of_row in enumerate(outcomes) for outcome in of_row]
        kept = [outcome.row for _, outcome in made if isinstance(outcome, Kept)]
        names = ["kept" if isinstance(outcome, Kept) else "dropped" for _, outcome in made]
        reasons = ["" if isinstance(outcome, Kept) else outcome.reason for _, outcome in made]
        columns = ([outcome.slot for _, outcome in made], names, reasons, [""] * len(made))
        return OutcomeBatch(
            pa.array([place for place, _ in made], pa.int64()), *(pa.array(texts, pa.string()) for texts in columns),
            Table.of(kept, table.row),
        )  # fmt: skip


class First(Filter):
    """Keeps the first of each batch."""

    kind = "first"
    spec_class = HowSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    reasons: ClassVar[Mapping[str, str]] = {"late": "It is not the first."}

    def screen(self, table: Table[Any]) -> FilterResult:
        if self.spec.how == "batch":
            return FilterResult([None if n == 0 else "late" for n in range(len(table))], [""] * len(table))
        return FilterResult([None] * len(table), [""] * len(table))


class Pack(Gather):
    """Passes all rows on."""

    kind = "pack"
    spec_class = HowSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        rows = list(tables["each"])
        if self.spec.how == "hash":
            rows = list(rows)
            rows.sort(key=lambda row: hash(row.text))
        return GatherResult([(row.id, [Kept(row)]) for row in rows])


class FileSpec(SourceSpec):
    path: FileRef
    how: str = ""


class Numbers(Source):
    """One passage per line."""

    kind = "numbers"
    spec_class = FileSpec
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"odd": "It is odd."}

    def files(self) -> list[FileRef]:
        return [self.spec.path]

    def check(self) -> None: ...

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        for units in super().read_batches():
            if isinstance(units, EndOfFile) or not self.spec.how.startswith("bulk"):
                yield units
            elif self.spec.how == "bulk_detail":
                yield replace(units, details=pa.array(["seen"] * len(units.lines)))
            elif self.spec.how == "bulk_rows":
                yield replace(units, rows=Table.of(list(units.rows)[1:], self.output))
            elif self.spec.how == "bulk_other":
                yield replace(units, rows=Table.of(list(units.rows)[::-1], self.output))

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        how, name = self.spec.how, self.spec.path.path
        lines = self.spec.path.file.read_text().splitlines()
        numbers = list(range(1, len(lines) + 1))
        if how == "order":
            numbers.reverse()
        for number in numbers:
            if how == "reason" and number == 2:
                yield SourceUnit(name, number, Dropped("mood"))
                continue
            text = "same" if how == "twins" else str(os.getpid() + number) if how == "process" else str(number)
            row = Passage.build(
                base="b", document="d", text=text,
                origin=Origin(file=name, line=number + (how == "origin")), produced_by=ProducedBy(rule="numbers"),
                language="en", partition="other" if how == "partition" else self.name,
            )  # fmt: skip
            yield SourceUnit(name, number, Kept(row))
        if how == "missing":
            return
        yield EndOfFile(name, len(lines) + (how == "count"))
        if how == "after":
            yield SourceUnit(name, 99, Dropped("odd"))


class Letters(Tokenizer):
    """Letters."""

    kind = "letters"
    spec_class = HowSpec

    def tokens(self, text: str) -> list[str]:
        how = self.spec.how
        if how == "lower":
            return list(text.lower())
        if how == "empty":
            return [*text, ""]
        if how == "lost":
            return list(text)[1:]
        return list(text)


class Every(Retriever):
    """Every text that holds the query's first letter."""

    kind = "every"
    spec_class = HowSpec

    def index(self, texts: Any, cache: Path) -> None:
        self._texts = texts

    def search(self, query: str) -> list[tuple[int, float]]:
        how = self.spec.how
        found = [(n, 1.0 / (n + 1)) for n, text in enumerate(self._texts) if query and query[0] in text]
        if how == "zero":
            return [(n, 0.0) for n, _ in found]
        if how == "worst":
            return found[::-1]
        if how == "twice":
            return [pair for pair in found for _ in range(2)]
        if how == "all":
            return [(n, 1.0) for n in range(len(self._texts))]
        return found


class Lines(Exporter):
    """A file."""

    kind = "lines"
    spec_class = HowSpec
    runs = 0

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        Lines.runs += 1
        path = folder / "lines.txt"
        path.write_text({"clock": str(Lines.runs), "process": str(os.getpid())}.get(self.spec.how, "fine"))
        if self.spec.how == "hidden":
            (folder / "hidden.txt").write_text("x")
        return [] if self.spec.how == "nothing" else [path]


class Note(Payload):
    """A text with a title."""

    kind: ClassVar[str] = "note"
    title: str
    text: str

    def texts(self) -> dict[str, tuple[str, ...]]:
        return {"title": (self.title,), "text": (self.text,)}

    def map_texts(self, convert: Any) -> Self:
        return self.model_copy(update={"title": convert(self.title), "text": convert(self.text)})

    def flat_cells(self) -> dict[str, str]:
        return {"title": self.title, "text": self.text}

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(title="a", text="b"), cls(title="c", text="d")]


class Remark(FrozenModel):
    """A remark on a page."""

    text: str
    page: int


class ForgetfulNote(Note):
    """Forgets to convert its title."""

    def map_texts(self, convert: Any) -> Self:
        return self.model_copy(update={"text": convert(self.text)})


class FieldNote(FieldPayload):
    """A text with a title and remarks, described by its fields."""

    kind: ClassVar[str] = "note"
    text_fields = ("title", "remarks.text")
    cell_fields = {"title": "title"}

    title: str
    remarks: tuple[Remark, ...]

    def texts(self) -> dict[str, tuple[str, ...]]:
        return {"title": (self.title,), "remarks": tuple(remark.text for remark in self.remarks)}

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(title="a", remarks=(Remark(text="b", page=1), Remark(text="", page=2))), cls(title="c", remarks=())]


class WrongCellNote(FieldNote):
    """Shows the number of a page in a cell."""

    cell_fields = {"title": "title", "remarks": "remarks"}


class WrongTextNote(FieldNote):
    """Converts a field that it does not have."""

    text_fields = ("title", "remarks.texts")


class TwinNote(Note):
    """Has equal examples."""

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(title="a", text="b"), cls(title="a", text="b")]


class NumberNote(Note):
    """Has a cell that is a number."""

    def flat_cells(self) -> dict[str, Any]:
        return {"title": 3}
