"""Small kinds that stand in for real ones: one for each shape of work, and some that break the law."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchbuilder.config.spec.base import FileRef, KindSpec, RuntimeOption, StepSpec
from benchbuilder.core.errors import DataError, WaitingForPeople
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import (
    Dropped,
    EndOfFile,
    Failed,
    FilterResult,
    GatherResult,
    Kept,
    NotApplicable,
    Outcome,
    SourceUnit,
)
from benchbuilder.core.records.roles import Passage, Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Row
from benchbuilder.exporters.base import Exporter, FinishedBuild
from benchbuilder.sources.base import Source, SourceSpec
from benchbuilder.steps.base import Filter, Gather, Map, Port, Step


class LinesSpec(SourceSpec):
    path: FileRef
    more: FileRef | None = None


class Lines(Source):
    """A passage a line; a line that begins with ``!`` is malformed, an equal line a duplicate."""

    kind = "t_lines"
    spec_class = LinesSpec
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"malformed": "No good.", "duplicate": "Was there."}
    spec: LinesSpec

    def files(self) -> list[FileRef]:
        return [ref for ref in (self.spec.path, self.spec.more) if ref is not None]

    def check(self) -> None:
        pass

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        seen: dict[str, str] = {}
        for ref in self.files():
            if not ref.file.exists():
                raise DataError(f"{ref.path} is missing")
            number = 0
            for number, raw in enumerate(ref.file.read_text(encoding="utf-8").splitlines(), 1):
                yield SourceUnit(ref.path, number, self._outcome(raw, ref, number, seen))
            yield EndOfFile(ref.path, number)

    def _outcome(self, raw: str, ref: FileRef, number: int, seen: dict[str, str]) -> Kept | Dropped:
        if raw.startswith("!"):
            return Dropped("malformed", raw)
        if raw in seen:
            return Dropped("duplicate", seen[raw])
        seen[raw] = f"{ref.path}:{number}"
        return Kept(Passage.build(
            base=self.name, document=ref.path, text=raw, origin=Origin(file=ref.path, line=number),
            produced_by=ProducedBy(rule="t_lines"), language=self.language, partition=self.name,
        ))  # fmt: skip


class WrongLines(Lines):
    """Lines that account wrongly, as the environment says."""

    kind = "t_wrong_lines"

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        how = os.environ["T_WRONG"]
        units = list(super().read())
        end = units.pop()
        assert isinstance(end, EndOfFile)
        first = units[0]
        assert isinstance(first, SourceUnit)
        if how == "lost":
            units.pop(0)
        elif how == "twice":
            units[1] = first
        elif how == "reason":
            units[0] = SourceUnit(first.file, first.line, Dropped("mood"))
        elif how == "origin":
            units[0] = SourceUnit(first.file, 99, first.outcome)
        yield from units
        if how != "end":
            yield end


class TextSpec(StepSpec):
    suffix: str = ""
    at_most: int = 1000
    words: FileRef | None = None
    pace: Annotated[int, RuntimeOption()] = 0
    how: str = ""


EACH = {"each": Port(Passage)}


def _child(stage: Step, row: Any, *others: Row, slot: str = "", text: str) -> Passage:
    return Passage.child(
        row, *others, produced_by=stage.produced_by(), slot=slot, base=row.base, document=row.document, text=text
    )


class Upper(Map):
    """Writes in capitals; ``drop`` is dropped, and so is what stands in `words`."""

    kind = "t_upper"
    spec_class = TextSpec
    ports = EACH
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"unwanted": "Nobody wants it."}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        words: FileRef | None = self.spec.words
        self._words = words.file.read_text(encoding="utf-8").split() if words else []
        if "broken" in self._words:
            raise DataError("the word list is broken", next="mend it")

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        if self.spec.pace:
            time.sleep(self.spec.pace / 1000)
        if "drop" in row.text or set(row.text.split()) & set(self._words):
            return [Dropped("unwanted", row.text)]
        return [Kept(_child(self, row, text=row.text.upper() + self.spec.suffix))]


class Faces(Map):
    """A front and a back; one word has no back."""

    kind = "t_faces"
    spec_class = TextSpec
    ports = EACH
    output = Passage
    slots = ("front", "back")
    reasons: ClassVar[Mapping[str, str]] = {"no_back": "One word has no back."}

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        front, *rest = row.text.split() or [""]
        yield Kept(_child(self, row, slot="front", text=front), slot="front")
        if rest:
            yield Kept(_child(self, row, slot="back", text=rest[-1]), slot="back")
        else:
            yield NotApplicable("no_back", slot="back")


class Words(Map):
    """A row a word."""

    kind = "t_words"
    spec_class = TextSpec
    ports = EACH
    output = Passage
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {"empty": "It has no words."}

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        words = row.text.split()
        for place, word in enumerate(words):
            yield Kept(_child(self, row, slot=str(place), text=word), slot=str(place))
        if not words:
            yield Dropped("empty")


class Short(Filter):
    """Drops long texts."""

    kind = "t_short"
    spec_class = TextSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    reasons: ClassVar[Mapping[str, str]] = {"too_long": "It is too long."}

    def screen(self, table: Table[Any]) -> FilterResult:
        if self.spec.pace:
            time.sleep(self.spec.pace / 1000)
        texts, partitions = table.column("text"), table.column("partition")
        long = [len(text) > self.spec.at_most for text in texts]
        return FilterResult(
            ["too_long" if far else None for far in long],
            [str(len(text)) if far else "" for text, far in zip(texts, long, strict=True)],
            Counter(("length", p, str(len(t))) for p, t in zip(partitions, texts, strict=True)),
        )


class Unique(Gather):
    """The first of equal texts."""

    kind = "t_unique"
    spec_class = TextSpec
    ports = EACH
    reasons: ClassVar[Mapping[str, str]] = {"duplicate": "Was there."}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        first: dict[str, str] = {}
        outcomes: list[tuple[str, list[Outcome]]] = []
        for row in tables["each"]:
            kept = first.setdefault(row.text, row.id)
            outcomes.append((row.id, [Kept(row) if kept == row.id else Dropped("duplicate", kept)]))
        return GatherResult(outcomes, notes={"texts": len(first)})


class Join(Gather):
    """Puts the children of a row behind it; children that hold a ``z`` are left."""

    kind = "t_join"
    spec_class = TextSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage), "children": Port(Passage, mode="whole")}
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"has_z": "No z.", "orphan": "Its parent is not here."}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        rows = {row.id: row for row in tables["each"]}
        used = {i for row in rows.values() for i in (row.id, *row.parents)}
        family: dict[str, list[Passage]] = {}
        unused: dict[str, str] = {}
        for child in tables["children"]:
            if child.id in used:
                continue
            parent = next((i for i in child.parents if i in rows), None)
            if parent is None:
                unused[child.id] = "orphan"
            elif "z" in child.text.lower():
                unused[child.id] = "has_z"
            else:
                family.setdefault(parent, []).append(child)
        outcomes: list[tuple[str, list[Outcome]]] = []
        step = self.context.step
        for row in rows.values():
            children = family.get(row.id, [])
            # a row without children is no copy of one that another such step made
            text = "+".join([row.text, *(child.text for child in children)] if children else [row.text, step])
            outcomes.append((row.id, [Kept(_child(self, row, *children, text=text))]))
        return GatherResult(outcomes, {"children": unused})


class Flaky(Map):
    """Fails for the texts that stand in ``failing.txt`` of the workplace."""

    kind = "t_flaky"
    spec_class = TextSpec
    ports = EACH
    output = Passage

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        failing = self.context.workplace / "failing.txt"
        if failing.exists() and row.text in failing.read_text(encoding="utf-8").splitlines():
            return [Failed(f"no answer to {row.text}")]
        with (self.context.workplace / "asked.txt").open("a", encoding="utf-8") as stream:
            stream.write(row.text + "\n")
        return [Kept(_child(self, row, text=f"{row.text}?"))]


class FlakyGather(Gather):
    """A gather that fails for the texts in ``failing.txt``."""

    kind = "t_flaky_gather"
    spec_class = TextSpec
    ports = EACH

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        failing = self.context.workplace / "failing.txt"
        bad = failing.read_text(encoding="utf-8").splitlines() if failing.exists() else []
        return GatherResult([(row.id, [Failed("no") if row.text in bad else Kept(row)]) for row in tables["each"]])


class Vote(Gather):
    """Waits for ``votes.txt`` in the workplace."""

    kind = "t_vote"
    spec_class = TextSpec
    ports = EACH
    output = Passage

    @property
    def _votes(self) -> Path:
        return self.context.workplace / "votes.txt"

    def external_inputs(self) -> Mapping[str, str]:
        if not self._votes.exists():
            return {}
        return {"votes.txt": hashlib.sha256(self._votes.read_bytes()).hexdigest()}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        rows = list(tables["each"])
        if not self._votes.exists():
            raise WaitingForPeople("votes are missing", missing={"votes": len(rows)}, next="vote, and run it again")
        votes = self._votes.read_text(encoding="utf-8").strip()
        return GatherResult([(row.id, [Kept(_child(self, row, text=f"{row.text}={votes}"))]) for row in rows])


class Remember(Map):
    """Puts the ancestor's text behind."""

    kind = "t_parent"
    spec_class = TextSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage), "first": Port(Passage, mode="parent")}
    output = Passage

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        return [Kept(_child(self, row, text=f"{row.text}<{parents['first'].text}"))]


class Unknown(Map):
    """Drops what stands in the table of known texts."""

    kind = "t_lookup"
    spec_class = TextSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage), "known": Port(Passage, mode="lookup")}
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"known": "It is known."}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        self._known = set(lookups["known"].column("text"))

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        return [Dropped("known") if row.text in self._known else Kept(row)]


def _statement(row: Row) -> Statement:
    return Statement.child(row, produced_by=ProducedBy(rule="t"), polarity="true", text="x", joined="seam", fact=row.id)


class Rogue(Map):
    """A map that breaks the law as `how` says."""

    kind = "t_rogue"
    spec_class = TextSpec
    ports = EACH
    output = Passage
    slots = ("a", "b")
    reasons: ClassVar[Mapping[str, str]] = {"fine": "Fine."}

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        good: list[Outcome] = [Dropped("fine", slot="a"), Dropped("fine", slot="b")]
        stranger = row.model_copy(update={"id": "passage-x"})
        odd: Any = 3
        bad: dict[str, Outcome | None] = {
            "": good[1],
            "none": None,
            "slot": Dropped("fine", slot="c"),
            "twice": good[0],
            "reason": Dropped("mood", slot="b"),
            "branch": NotApplicable("mood", slot="b"),
            "detail": Dropped("fine", odd, slot="b"),
            "error": Failed(odd, slot="b"),
            "class": Kept(_statement(row), slot="b"),
            "lineage": Kept(stranger, slot="b"),
            "parents": Kept(_child(self, row, text="x").model_copy(update={"parents": ()}), slot="b"),
            "same": Kept(_child(self, row, text="x", slot="b").model_copy(update={"id": "passage-same"}), slot="b"),
        }
        outcome = bad[self.spec.how]
        return good[:1] + ([] if outcome is None else [outcome])


class RogueMany(Map):
    """A map of many slots that breaks the law."""

    kind = "t_rogue_many"
    spec_class = TextSpec
    ports = EACH
    output = Passage
    slots = "many"
    reasons: ClassVar[Mapping[str, str]] = {"fine": "Fine."}

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        return [] if self.spec.how == "none" else [Dropped("fine", slot="1"), Dropped("fine", slot="1")]


class RogueFilter(Filter):
    """A filter that breaks the law."""

    kind = "t_rogue_filter"
    spec_class = TextSpec
    ports = EACH
    reasons: ClassVar[Mapping[str, str]] = {"fine": "Fine."}

    def screen(self, table: Table[Any]) -> FilterResult:
        count = len(table)
        odd: Any = 3
        return {
            "short": FilterResult(["fine"] * (count - 1), ["x"] * count),
            "details": FilterResult(["fine"] * count, ["x"] * (count + 1)),
            "reason": FilterResult(["mood"] * count, ["x"] * count),
            "empty": FilterResult([""] * count, ["x"] * count),
            "detail": FilterResult(["fine"] * count, [odd] * count),
        }[self.spec.how]


class RogueGather(Gather):
    """A gather that breaks the law."""

    kind = "t_rogue_gather"
    spec_class = TextSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage), "children": Port(Passage, mode="whole")}
    reasons: ClassVar[Mapping[str, str]] = {"fine": "Fine."}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        outcomes: list[tuple[str, list[Outcome]]] = [(row.id, [Kept(row)]) for row in tables["each"]]
        unused = dict.fromkeys(tables["children"].ids(), "fine")
        first = next(iter(unused))
        how = self.spec.how
        if how == "lost":
            outcomes.pop()
        elif how == "strange":
            outcomes.append(("passage-x", [Dropped("fine")]))
        elif how == "twice":
            outcomes.append(outcomes[0])
        elif how == "none":
            outcomes[0] = (outcomes[0][0], [])
        elif how == "vanish":
            del unused[first]
        elif how == "unknown":
            unused["passage-x"] = "fine"
        elif how == "reason":
            unused[first] = "mood"
        elif how == "both":
            row = next(iter(tables["each"]))
            child = next(iter(tables["children"]))
            outcomes[0] = (row.id, [Kept(_child(self, row, child, text="x"))])
        elif how == "port":
            return GatherResult(outcomes, {"children": unused, "each": {first: "fine"}})
        return GatherResult(outcomes, {"children": unused})


class TextsSpec(KindSpec):
    file: str = "items.txt"


class Texts(Exporter):
    """The items, a line each."""

    kind = "t_texts"
    spec_class = TextsSpec

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        path = folder / self.spec.file
        lines = [f"{row.id}\t{row.text}\n" for row in finished.tables[finished.items]]
        path.write_text("".join(lines), encoding="utf-8")
        return [path]


SOURCES = (Lines, WrongLines)
STAGES = (
    Upper, Faces, Words, Short, Unique, Join, Flaky, FlakyGather, Vote, Remember, Unknown,
    Rogue, RogueMany, RogueFilter, RogueGather,
)  # fmt: skip
EXPORTERS = (Texts,)


def built_in() -> dict[str, dict[str, str]]:
    """The kinds of this file as the table of built-in kinds holds them."""
    return {
        slot: {cls.kind: f"engine_kinds:{cls.__name__}" for cls in classes}
        for slot, classes in (("source", SOURCES), ("step", STAGES), ("exporter", EXPORTERS))
    }
