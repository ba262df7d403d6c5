"""What a build knows besides its items: the triples near the audited texts, as a graph of numbers, and paragraphs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import Table, combined_column
from benchbuilder.exporters import FinishedBuild

MOST_CHARACTERS = 4_000_000
"""The paragraphs of larger knowledge bases are not read: only those of the items are."""
_NEIGHBOURS = 200
"""So many other concepts with the same answer are compared; more say little more."""
_TOGETHER = 500_000
"""So many triples are looked through at once, since each look makes a table of what is wanted."""
_SCHEMA = pa.schema({"head": pa.string(), "relation": pa.string(), "tail": pa.string()})
_compute: Any = pc

Places = NDArray[np.int64]


class AuditKnowledge:
    """What the build knows besides its items: triples, and paragraphs.

    The triples are those that have an end of an audited text, or a concept that is compared with one. Views look up no
    others. There are no `paragraphs` where the knowledge bases are large.
    """

    def __init__(self, triples: Collection[tuple[str, str, str]] = (), paragraphs: Sequence[str] = ()) -> None:
        columns = zip(*triples, strict=True) if triples else ((), (), ())
        self._graph = _Graph(pa.table([pa.array(column, pa.string()) for column in columns], schema=_SCHEMA))
        self.paragraphs = paragraphs

    @classmethod
    def of_build(cls, finished: FinishedBuild, answers: Collection[str], concepts: Collection[str]) -> AuditKnowledge:
        """What a build knows of the ends of audited texts: the answers, and the concepts at their other ends."""
        found = cls(paragraphs=_paragraphs(finished))
        ends = {*answers, *concepts} - {""}
        first = _triples_with(finished, ends)
        compared = set(_Graph(first).first_neighbours(set(answers) - {""})) - ends
        found._graph = _Graph(pa.concat_tables([first, _triples_with(finished, compared)]))
        return found

    @property
    def has_triples(self) -> bool:
        """Whether any triples are known."""
        return len(self._graph.names) > 0

    def degrees(self, concepts: Sequence[str]) -> list[int]:
        """For each concept, how many triples have it at one of their ends."""
        places = self._graph.places(concepts)
        return [int(self._graph.degrees[place]) if place >= 0 else 0 for place in places.tolist()]

    def relatedness(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each answer and concept, how much that concept has in common with others that share a triple with the
        answer: the sum of the cosines of their neighbours, without the triple of the two.
        """
        answers, concepts = (self._graph.places(side) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
        found: dict[tuple[int, int], float] = {}
        order = np.lexsort((answers, concepts)).tolist()
        known, common = -1, _Counts(np.zeros(0, np.int64))
        for place in order:
            answer, concept = int(answers[place]), int(concepts[place])
            if answer < 0 or concept < 0 or (answer, concept) in found:
                continue
            if concept != known:
                known, common = concept, _Counts(self._graph.two_steps(concept))
            found[answer, concept] = self._graph.relatedness(answer, concept, common)
        return [found.get(pair, 0.0) for pair in zip(answers.tolist(), concepts.tolist(), strict=True)]


class _Counts:
    """How often each place occurs."""

    def __init__(self, places: Places) -> None:
        self._places, self._counts = np.unique(places, return_counts=True)

    def of(self, places: Places) -> Places:
        """The count of each of some places."""
        found = np.searchsorted(self._places, places)
        found[found == len(self._places)] = 0
        return np.where(self._places[found] == places, self._counts[found], 0) if len(self._places) else 0 * places


class _Graph:
    """Triples as numbers. A concept is a place in `names`, which are in alphabetical order."""

    def __init__(self, triples: pa.Table) -> None:
        heads, relations, tails = (combined_column(triples, name) for name in _SCHEMA.names)
        names: Any = _compute.unique(pa.chunked_array([heads, tails], pa.string()))
        self.names = names.take(_compute.sort_indices(names))
        count = max(len(self.names), 1)
        first, second = self.places(heads), self.places(tails)
        kinds: Any = relations.dictionary_encode()
        pairs, pair = np.unique(first * count + second, return_inverse=True)
        many = max(len(kinds.dictionary), 1)
        each = np.unique(pair * many + kinds.indices.to_numpy(zero_copy_only=False)) // many  # every triple once
        first, second = np.divmod(pairs, count)
        self.degrees: Places = np.bincount(first[each], minlength=count)
        self.degrees += np.bincount(second[each[first[each] != second[each]]], minlength=count)
        owners, self._others = np.divmod(np.unique(np.concatenate([pairs, second * count + first])), count)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])

    def places(self, names: Any) -> Places:
        """The place of each name, -1 if it is unknown."""
        wanted = names if isinstance(names, pa.Array) else pa.array(list(names), pa.string())
        found: Any = _compute.fill_null(_compute.index_in(wanted, value_set=self.names), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)

    def neighbours(self, place: int) -> Places:
        """Every concept that shares a triple with one."""
        return self._others[self._starts[place] : self._starts[place + 1]]

    def first_neighbours(self, answers: Collection[str]) -> Iterator[str]:
        """The neighbours of answers with which any concept is compared."""
        places = [place for place in self.places(sorted(answers)).tolist() if place >= 0]
        found = [self.neighbours(place)[: _NEIGHBOURS + 1] for place in places]
        wanted = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
        yield from self.names.take(pa.array(wanted)).to_pylist()

    def two_steps(self, place: int) -> Places:
        """The neighbours of each neighbour: a concept is among them as often as it shares one."""
        found = [self.neighbours(near) for near in self.neighbours(place).tolist()]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def relatedness(self, answer: int, concept: int, common: _Counts) -> float:
        """See `AuditKnowledge.relatedness`; `common` counts what others share with the concept."""
        others = self.neighbours(answer)
        others = others[others != concept][:_NEIGHBOURS]
        own = self.neighbours(concept)
        linked = bool((own == answer).any())
        size = len(own) - linked
        if not size or not len(others):
            return 0.0
        shared = common.of(others) - linked  # all of them have the answer
        theirs = self._starts[others + 1] - self._starts[others]
        return float(np.cumsum(shared / np.sqrt(size * theirs))[-1])  # one after the other, in the order of the names


def _paragraphs(finished: FinishedBuild) -> list[str]:
    """The paragraphs of the knowledge bases, as they were cut; none if they are large."""
    passages = [counts for counts in finished.step_counts if counts.role == "passage"]
    cut = [counts for counts in passages if counts.inputs]
    tables = [finished.tables[counts.step] for counts in cut or passages if counts.step in finished.tables]
    characters = 0
    for table in tables:
        for batch in table.batches(["text"]):
            characters += _compute.sum(_compute.utf8_length(batch.column("text"))).as_py() or 0
        if characters > MOST_CHARACTERS:
            return []
    return [text for table in tables for text in table.column("text")]


def _triples_with(finished: FinishedBuild, ends: Collection[str]) -> pa.Table:
    """The triples of the sources, and those that steps changed, with one of `ends` at either end."""
    wanted = pc.SetLookupOptions(pa.array(sorted(ends), pa.string()))
    found = [_SCHEMA.empty_table()]
    for triples in _pieces(finished) if ends else ():
        masks: list[Any] = [pc.call_function("is_in", [triples.column(end)], wanted) for end in ("head", "tail")]
        found.append(triples.filter(_compute.or_(*masks)))
    return pa.concat_tables(found)


def _pieces(finished: FinishedBuild) -> Iterator[pa.Table]:
    """All triples, many at a time."""
    held, count = list[pa.Table](), 0
    for counts in finished.step_counts:
        table = finished.tables.get(counts.step) if counts.role == "fact" else None
        if table is None or getattr(table.row.model_fields["payload"].annotation, "kind", "") != "triple":
            continue
        for batch in _triples(table, only_changed=bool(counts.inputs)):
            held, count = [*held, batch], count + batch.num_rows
            if count >= _TOGETHER:
                yield pa.concat_tables(held).combine_chunks()
                held, count = [], 0
    yield pa.concat_tables([_SCHEMA.empty_table(), *held]).combine_chunks()


def _triples(table: Table[Any], *, only_changed: bool) -> Iterator[pa.Table]:
    """The triples of a step. A row without a parent is as its source made it, so it is among the rows of the source."""
    names = [f"payload.{name}" for name in _SCHEMA.names]
    for batch in table.batches([*(["of"] if only_changed else []), *names]):
        columns = pa.table([combined_column(batch, name) for name in names], schema=_SCHEMA)
        yield columns.filter(_compute.not_equal(batch.column("of"), "")) if only_changed else columns
