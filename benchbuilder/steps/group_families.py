"""The step `group_families`: near duplicates become one family; equal questions are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Candidate,
    Fact,
    GatherPiece,
    GatherStream,
    NumberSets,
    OutcomeBatch,
    RowIndex,
    Table,
    Triple,
    answers_after,
    combined_column,
    constant_column,
    content_keys,
    equality_key,
    first_equal,
    join_numbers,
    joined_sets,
    near_or_equal_sets,
    near_texts,
    paired_sets,
    take_rows,
    trigram_sets,
)
from benchbuilder.steps.base import Gather, Port

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_KEYED = ("type", "expected", "negated", "context", "question", "answer", "answer_wrong", "asked")


@dataclass(frozen=True)
class NamedNumbers:
    """The different texts of a column in their order, and the number of the text of each row."""

    names: Any
    numbers: Numbers

    @classmethod
    def of(cls, column: pa.ChunkedArray[Any]) -> NamedNumbers:
        """The texts of a column without nulls."""
        chunks: list[Any] = column.dictionary_encode().chunks
        names = chunks[0].dictionary if chunks else pa.array([], pa.string())
        order = _compute.sort_indices(names)
        rank = np.empty(len(names), np.int64)
        rank[order.to_numpy()] = np.arange(len(names))
        numbers = [rank[chunk.indices.to_numpy(zero_copy_only=False)] for chunk in chunks]
        return cls(names.take(order), np.concatenate([np.zeros(0, np.int64), *numbers]))

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Groups:
    """Positions of candidates that have something in common: those of group ``i`` begin at ``starts[i]``."""

    starts: Numbers
    places: Numbers

    @classmethod
    def of(cls, labels: Numbers, places: Numbers, least: int = 2) -> Groups:
        """The groups of at least two `places`, which rise, with one label; in the order of labels."""
        order = np.argsort(labels, kind="stable")
        ordered = labels[order]
        edges = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])) if len(order) else _ZERO
        sizes = np.diff(edges)
        large = sizes >= least
        kept = places[order[np.repeat(large, sizes)]]
        return cls(np.concatenate([_ZERO, np.cumsum(sizes[large])]), kept)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Numbers]:
        for start, stop in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield self.places[start:stop]

    def owners(self) -> Numbers:
        """The number of the group of each position."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def neighbours(self, mask: Mask) -> tuple[Numbers, Numbers]:
        """The positions that `mask` has, each with the next one of its group."""
        places, owners = self.places[mask[self.places]], self.owners()[mask[self.places]]
        same = np.flatnonzero(owners[1:] == owners[:-1])
        return places[same], places[same + 1]


_ZERO = np.zeros(1, np.int64)


class KnownCandidates:
    """What is known of all candidates of a table at once.

    `facts` and `former` are their facts and the families that they had, `first_of_fact` the position of the first
    candidate of each fact. `tf` are true/false questions, `yes` those whose statement is true without its negation.
    `questions` are hashes of their questions with the type.
    """

    def __init__(self, table: Table[Candidate]) -> None:
        self.table = table
        facts, families = list[Any](), list[Any]()
        for batch in table.batches(["fact", "family"]):
            fact, family = (combined_column(batch, name) for name in ("fact", "family"))
            facts.append(fact)
            families.append(_compute.if_else(_compute.equal(family, ""), fact, family))
        self.facts, self.former = (
            NamedNumbers.of(pa.chunked_array(column, pa.string())) for column in (facts, families)
        )
        self.first_of_fact = np.unique(self.facts.numbers, return_index=True)[1].astype(np.int64)
        self.tf, self.yes = (np.zeros(len(self), bool) for _ in range(2))
        self.questions, claims = (np.zeros((len(self), 2), np.uint64) for _ in range(2))
        start = 0
        for batch in table.batches(_KEYED):
            here = slice(start, start := start + batch.num_rows)
            self.tf[here] = _compute.equal(combined_column(batch, "type"), "tf").to_numpy(zero_copy_only=False)
            asked_true = _compute.equal(combined_column(batch, "expected"), "yes").to_numpy(zero_copy_only=False)
            self.yes[here] = asked_true != combined_column(batch, "negated").to_numpy(zero_copy_only=False)
            self.questions[here], claims[here] = _keys(batch, self.tf[here], self.yes[here])
        self._claims = claims

    def __len__(self) -> int:
        return len(self.facts.numbers)

    def claimed(self) -> Groups:
        """The true/false questions about one statement, or about one answer to a question that is shown."""
        places = np.flatnonzero(self.tf)
        return Groups.of(first_equal(self._claims[places]), places)

    def records(self) -> Groups:
        """The candidates of one record of a source."""
        files, lines = list[Any](), list[Numbers]()
        for batch in self.table.batches(["origin"]):
            files.append(combined_column(batch, "origin.file"))
            lines.append(combined_column(batch, "origin.line").to_numpy())
        file = NamedNumbers.of(pa.chunked_array(files, pa.string())).numbers
        keys = np.column_stack([file, np.concatenate([np.zeros(0, np.int64), *lines])]).astype(np.uint64)
        return Groups.of(first_equal(keys), np.arange(len(self)))


def _keys(batch: pa.Table, tf: Mask, yes: Mask) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of what each candidate asks, and of what each true/false question claims."""
    names = ("type", "context", "question", "answer", "answer_wrong", "asked")
    columns: list[list[Any]] = [combined_column(batch, name).to_pylist() for name in names]
    asked, claimed = list[tuple[str, str]](), list[tuple[str, str]]()
    for sort, context, question, answer, wrong, shown, is_tf, is_true in zip(*columns, tf, yes, strict=True):
        asked.append((sort, equality_key(context + question)))
        statement = answer if is_true else wrong
        claimed.append((equality_key(shown), equality_key(context + statement)) if is_tf else ("", ""))
    return content_keys(asked), content_keys(claimed)


_compute: Any = pc
_LISTED = 20
"""How many of the largest families the notes name."""


class GroupFamiliesSpec(StepSpec):
    """What is a near duplicate, and what happens to contradictions.

    Facts whose texts share more than `near` of their character trigrams (Jaccard) become one family; ``null`` joins
    none. Two open questions are the same if they are equal, or if they share more than `same` of their trigrams.
    `contradictions` of the same question are dropped, or kept for the experts. With `by_record`, all facts of one
    record of a source are one family, such as those of one procedure.
    """

    near: Annotated[float | None, Field(gt=0, le=1)] = 0.7
    same: Annotated[float, Field(gt=0, le=1)] = 1.0
    contradictions: Literal["drop", "keep"] = "drop"
    by_record: bool = False


class GroupFamilies(Gather):
    """Joins families of near-duplicate facts, and drops equal questions.

    The texts of a fact are its right and its wrong answers and its open questions, with their contexts. Facts in the
    table of the port `triples` are compared by their two ends alone, each of which must be near: sentences about
    triples share their frame, facts about one concept share its name, and a question may have several answers. Where a
    question is shown with an answer, facts are compared by the question alone.
    Families are joined transitively, and the smallest name is kept.

    Open questions with different right answers contradict each other. So do true/false questions about one statement,
    in whatever form, if it is true for one and false for another. All of them are dropped. Of equal questions with
    equal answers, the first is kept. If a true/false question is dropped, the other true/false questions of its former
    family are dropped too: a family that lost a part may give its verdicts away. Kept rows keep their ids.
    """

    kind: ClassVar[str] = "group_families"
    spec_class: ClassVar[type[StepSpec]] = GroupFamiliesSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Candidate),
        "triples": Port(Fact[Triple], mode="lookup", optional=True),
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "contradiction": "An equal question has another right answer.",
        "duplicate": "An equal question with the same answer is kept.",
        "family_incomplete": "Another true/false question of its family is dropped.",
    }

    spec: GroupFamiliesSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every candidate, kept with its family or dropped, in the order of the input."""
        known = KnownCandidates(tables["each"])
        same, claimed = self._same_questions(known), known.claimed()
        facts = NearFacts(known, tables.get("triples"))
        pairs = self._pairs(known, facts, (same, claimed))
        names = np.array(join_numbers(len(known.former), pairs), np.int64)[known.former.numbers]
        drops = FamilyDrops(known, same, (same, claimed))
        notes = _notes(known, names) | {"contradictions": drops.count_contradictions()}
        if self.spec.contradictions == "drop":
            drops.drop_contradictions()
        drops.drop_duplicates()
        return GatherStream(_pieces(known, names, drops), notes=notes)

    def _same_questions(self, known: KnownCandidates) -> Groups:
        """The candidates with the same question."""
        places = np.arange(len(known))
        labels = first_equal(known.questions)
        if self.spec.same < 1.0:
            first = np.flatnonzero(~known.tf & (labels == places))
            smallest = np.array(
                join_numbers(len(first), near_texts(_questions(known, first), self.spec.same)), np.int64
            )
            joined = places.copy()
            joined[first] = first[smallest]
            labels = joined[labels]
        return Groups.of(labels, places)

    def _pairs(self, known: KnownCandidates, facts: NearFacts, alike: Iterable[Groups]) -> Iterator[tuple[int, int]]:
        """The former families that are joined, in pairs."""
        former = known.former.numbers
        places = [groups.neighbours(~facts.stated[known.facts.numbers]) for groups in alike]
        if self.spec.by_record:
            places.append(known.records().neighbours(np.ones(len(known), bool)))
        firsts = known.first_of_fact
        near = facts.pairs(self.spec.near) if self.spec.near is not None else ()
        for left, right in chain(places, ((firsts[one], firsts[other]) for one, other in near)):
            joined = former[left] != former[right]
            yield from zip(former[left[joined]].tolist(), former[right[joined]].tolist(), strict=True)


def _questions(known: KnownCandidates, places: Numbers) -> Iterator[str]:
    """The questions at these positions, which rise, with their contexts."""
    start = 0
    for batch in known.table.batches(["context", "question"]):
        low, high = np.searchsorted(places, [start, start + batch.num_rows])
        some: Any = batch.take(pa.array(places[low:high] - start, pa.int64()))
        texts = _compute.binary_join_element_wise(*(combined_column(some, name) for name in some.column_names), "")
        yield from texts.to_pylist()
        start += batch.num_rows


def _pieces(known: KnownCandidates, names: Numbers, drops: FamilyDrops) -> Iterator[GatherPiece]:
    """The candidates with what became of them."""
    for first, window in known.table.windows():
        places = np.arange(first, first + len(window))
        dropped = drops.dropped(places)
        numbers: Any = pa.array(names[places[~dropped]])
        place = window.arrow.schema.get_field_index("family")
        rows = window.arrow.filter(pa.array(~dropped))
        rows = rows.set_column(place, window.arrow.schema.field(place), known.former.names.take(numbers))
        details, empty = constant_column("", len(places)), constant_column("", len(places))
        if dropped.any():
            texts: Any = pa.array(drops.details(places[dropped]), pa.string())
            details = _compute.replace_with_mask(details, pa.array(dropped), texts)
        branches = OutcomeBatch(
            pa.array(np.arange(len(places))), empty, pa.array(np.where(dropped, "dropped", "kept"), pa.string()),
            pa.array(np.array(REASONS)[drops.reasons[places]], pa.string()), details, Table(rows, window.row),
        )  # fmt: skip
        yield GatherPiece(places, window, branches)


def _notes(known: KnownCandidates, names: Numbers) -> dict[str, Any]:
    """How many families there are and how large they are, in facts."""
    members = np.unique(names * max(1, len(known.facts)) + known.facts.numbers)
    families, sizes = np.unique(members // max(1, len(known.facts)), return_counts=True)
    largest = np.lexsort((families, -sizes))[:_LISTED]
    largest = largest[sizes[largest] > 1]
    listed: Any = pa.array(families[largest])
    return {
        "families": {
            "before": len(known.former),
            "after": len(families),
            "sizes": {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)},
            "largest": dict(zip(known.former.names.take(listed).to_pylist(), sizes[largest].tolist(), strict=True)),
        }
    }


REASONS = ("", "contradiction", "duplicate", "family_incomplete")
_KEPT, _CONTRADICTION, _DUPLICATE, _INCOMPLETE = range(4)
_WINDOW = 16_384


class FamilyDrops:
    """For each candidate the number of the reason why it is dropped (0: it is not), and the other that it names."""

    def __init__(self, known: KnownCandidates, same: Groups, alike: Iterable[Groups]) -> None:
        self.reasons = np.zeros(len(known), np.int8)
        self.others = np.full(len(known), -1, np.int64)
        self._known, self._same, self._alike = known, same, alike
        self._answers = known.yes.astype(np.int64)
        for places in self._open_groups():
            self._compare_answers(places)

    def drop_contradictions(self) -> None:
        """Drop all candidates of which an equal one has another answer."""
        for places, others in map(self._contradicting, self._alike):
            new = self.reasons[places] == _KEPT
            self.reasons[places[new]] = _CONTRADICTION
            self.others[places[new]] = others[new]

    def count_contradictions(self) -> int:
        """How many candidates contradict another one."""
        found = np.zeros(len(self.reasons), bool)
        for groups in self._alike:
            found[self._contradicting(groups)[0]] = True
        return int(found.sum())

    def drop_duplicates(self) -> None:
        """Keep the first of equal questions; true/false questions are kept or dropped by family, in their order."""
        keys = np.full(len(self.reasons), -1, np.int64)
        keys[self._same.places] = self._same.owners()
        keys[self._same.places] = keys[self._same.places] * (len(keys) + 2) + self._answers[self._same.places]
        self._drop_equal_open(keys)
        kept: dict[int, int] = {}
        for places in self._touched_families(keys):
            self._keep_first(places.tolist(), keys[places].tolist(), kept)

    def _open_groups(self) -> Iterator[list[Numbers]]:
        """The groups of open questions, some at a time."""
        some, size = list[Numbers](), 0
        for places in self._same:
            if not self._known.tf[places[0]]:
                some.append(places)
                size += len(places)
            if size >= _WINDOW:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _compare_answers(self, groups: list[Numbers]) -> None:
        """The number, within its group, of what each open question must agree in."""
        places = np.concatenate(groups)
        rows = take_rows(self._known.table.arrow.select(["context", "question", "answer"]), places)
        self._known.table.release()
        columns = (combined_column(rows, name).to_pylist() for name in ("context", "question", "answer"))
        texts: dict[int, tuple[str, str, str]] = dict(zip(places.tolist(), zip(*columns, strict=True), strict=True))
        for group in groups:
            numbers: dict[str, int] = {}
            by_question: dict[bytes, list[int]] = {}
            for place in group.tolist():
                by_question.setdefault(self._known.questions[place].tobytes(), []).append(place)
            for equal in by_question.values():
                context, question, _ = texts[equal[0]]
                statements = [texts[place][0] + texts[place][2] for place in equal]
                for place, answer in zip(equal, answers_after(context + question, statements), strict=True):
                    self._answers[place] = numbers.setdefault(answer, len(numbers))

    def _contradicting(self, groups: Groups) -> tuple[Numbers, Numbers]:
        """The positions of contradictions, each with the first of its group that has another answer."""
        places, owners, answers = groups.places, groups.owners(), self._answers[groups.places]
        first = groups.starts[:-1]
        differs = answers != answers[first][owners]
        found, at = np.unique(owners[differs], return_index=True)
        rival = np.full(len(groups), -1, np.int64)
        rival[found] = places[differs][at]
        others = np.where(differs, places[first][owners], rival[owners])
        return places[others >= 0], others[others >= 0]

    def _drop_equal_open(self, keys: Numbers) -> None:
        """Drop open questions that are equal to an earlier one."""
        places = np.flatnonzero((keys >= 0) & ~self._known.tf & (self.reasons == _KEPT))
        _, first, back = np.unique(keys[places], return_index=True, return_inverse=True)
        earlier = places[first[back.reshape(-1)]]
        again = earlier != places
        self.reasons[places[again]] = _DUPLICATE
        self.others[places[again]] = earlier[again]

    def _touched_families(self, keys: Numbers) -> Iterator[Numbers]:
        """The true/false questions of each former family that may lose one; families in the order of their first."""
        former, tf = self._known.former.numbers, self._known.tf
        touched = np.zeros(len(self._known.former), bool)
        touched[former[tf & ((keys >= 0) | (self.reasons != _KEPT))]] = True
        places = np.flatnonzero(tf & touched[former])
        _, first, back = np.unique(former[places], return_index=True, return_inverse=True)
        yield from Groups.of(first[back.reshape(-1)], places, least=1)

    def _keep_first(self, places: list[int], keys: list[int], kept: dict[int, int]) -> None:
        """Drop what a family has that an earlier one has too, and then the rest of it."""
        lost = next((place for place in places if self.reasons[place]), None)
        own: dict[int, int] = {}
        for place, key in zip(places, keys, strict=True):
            if key < 0 or self.reasons[place]:
                continue
            if key in kept:
                self._drop(place, _DUPLICATE, kept[key])
                lost = place if lost is None else lost
            elif own.setdefault(key, place) != place:
                self._drop(place, _DUPLICATE, own[key])
        if lost is None:
            kept |= own
            return
        for place in places:
            self._drop(place, _INCOMPLETE, lost)

    def _drop(self, place: int, reason: int, other: int) -> None:
        """Drop a candidate, unless it is dropped already."""
        if not self.reasons[place]:
            self.reasons[place], self.others[place] = reason, other

    def details(self, places: Numbers) -> list[str]:
        """What each of these dropped candidates names."""
        names = ["id", "expected", "answer"]
        arrow = self._known.table.arrow.select(names)
        sides = [take_rows(arrow, side).to_pylist() for side in (places, self.others[places])]
        return [
            f"{_right(own)} / {_right(other)} ({other['id']})" if contradicts else str(other["id"])
            for own, other, contradicts in zip(*sides, self.reasons[places] == _CONTRADICTION, strict=True)
        ]

    def dropped(self, places: Numbers) -> Mask:
        """Which of these candidates are dropped."""
        return self.reasons[places] != _KEPT


def _right(row: dict[str, Any]) -> str:
    return f"{row['expected']}: {row['answer']}" if row["expected"] else row["answer"]


_TEXTS = ("type", "context", "question", "answer", "answer_wrong", "asked")
_Pairs = tuple[Numbers, Numbers]


class NearFacts:
    """Compares the facts of candidates. `stated` says which facts are in the table of triples, by their numbers."""

    def __init__(self, known: KnownCandidates, triples: Table[Any] | None) -> None:
        self._known = known
        self._triples = triples
        self._index = RowIndex([known.facts.names] if triples is not None else [])
        self.stated = np.zeros(len(known.facts), bool)
        for batch in () if triples is None else triples.batches(["id"]):
            places = self._index.positions(combined_column(batch, "id"))
            self.stated[places[places >= 0]] = True

    def pairs(self, near: float) -> Iterator[_Pairs]:
        """The numbers of facts that are near duplicates, in pairs that connect all of them."""
        if not self.stated.all():
            yield from self._by_texts(near)
        if self.stated.any() and self._triples is not None:
            yield from self._by_ends(self._triples, near)

    def _by_texts(self, near: float) -> Iterator[_Pairs]:
        owners, parts, start = list[Numbers](), list[NumberSets](), 0
        for batch in self._known.table.batches(_TEXTS):
            facts = self._known.facts.numbers[start : start + batch.num_rows]
            start += batch.num_rows
            rows, texts = _compared_texts(batch, ~self.stated[facts])
            sets, facts = trigram_sets(texts), facts[rows]
            filled = np.flatnonzero(sets.sizes() > 0)
            first = filled[first_equal(sets.digests()[filled])]
            yield facts[first], facts[filled]
            kept = filled[first == filled]
            owners.append(facts[kept])
            parts.append(sets.take(kept))
        sets, facts = joined_sets(parts), np.concatenate(owners)
        del parts, owners
        for left, right in near_or_equal_sets(sets, near, np.arange(len(sets))):
            yield facts[left], facts[right]

    def _by_ends(self, triples: Table[Any], near: float) -> Iterator[_Pairs]:
        owners, parts = list[Numbers](), list[tuple[NumberSets, NumberSets]]()
        for batch in triples.batches(["id", "payload.head", "payload.tail"]):
            facts = self._index.positions(combined_column(batch, "id"))
            mask: Any = facts >= 0
            names: list[list[Any]] = [
                combined_column(batch, f"payload.{end}").filter(mask).to_pylist() for end in ("head", "tail")
            ]
            heads, tails = map(trigram_sets, names)
            owners.append(facts[mask])
            parts.append((heads, tails))
        facts = np.concatenate(owners)
        ends = [joined_sets([part[side] for part in parts]) for side in (0, 1)]
        del parts
        # two ends that are near make a whole that is near
        for left, right in near_or_equal_sets(paired_sets(*ends), near, np.arange(len(facts))):
            both = np.logical_and.reduce([_are_near(sets, left, right, near) for sets in ends])
            yield facts[left[both]], facts[right[both]]


def _compared_texts(batch: Any, wanted: Mask) -> tuple[Numbers, list[str]]:
    """The texts by which facts are compared: statements, and questions without a statement; and the row of each."""
    columns: list[list[Any]] = [combined_column(batch, name).to_pylist() for name in _TEXTS]
    rows, texts = list[int](), list[str]()
    for place, (sort, context, question, answer, wrong, asked) in enumerate(zip(*columns, strict=True)):
        if not wanted[place]:
            continue
        own = (asked,) if asked else (answer, wrong) if sort == "tf" else (answer, wrong, question)
        texts += [context + text for text in own]
        rows += [place] * len(own)
    return np.array(rows, np.int64), texts


def _are_near(sets: NumberSets, left: Numbers, right: Numbers, near: float) -> Mask:
    """Whether the two sets of each pair are equal, or near."""
    common, sizes = sets.common(left, right), sets.sizes()
    one, other = sizes[left], sizes[right]
    return ((common == one) & (common == other)) | (common / np.maximum(one + other - common, 1) > near)
