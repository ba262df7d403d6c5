"""What the words of a list hit in the rows of a recipe, found just as its `topic` steps find them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.authoring.wordlists.plan import TopicStep
from benchbuilder.core import Passage, Row, StepContext, Table, fold_text, normalise_space
from benchbuilder.pipeline import Plan, Store
from benchbuilder.steps import Topic, TopicSpec

SAMPLES = 10
"""Rows that are shown of what a word hits."""
_AT_ONCE = 50_000
_BEFORE, _SHOWN = 40, 160


@dataclass(frozen=True)
class MatchSample:
    """A row that a word hits: its text around the word, where it comes from, and whether the word alone brings it."""

    text: str
    source: str
    is_only_match: bool


@dataclass
class MatchCounts:
    """What `words` hit: in how many rows each stands by partition, how many rows on topic it `alone` brings, and
    sample rows of those that it brings. `rows` counts all that were searched, `rows_on_topic` those that are on topic.
    """

    words: tuple[str, ...]
    counts: dict[str, Any] = field(default_factory=dict[str, Any])
    only_match_counts: Any = None
    samples: list[list[MatchSample]] = field(default_factory=list[list[MatchSample]])
    rows: int = 0
    rows_on_topic: int = 0

    def totals(self) -> Any:
        """How many rows each word hits."""
        return sum(self.counts.values(), np.zeros(len(self.words), dtype=np.int64))


def count_matches(
    words: Sequence[str], topic_steps: Iterable[TopicStep], plan: Plan, store: Store, seed: int
) -> MatchCounts:
    """What `words` hit in the built rows that enter the steps `searched`."""
    search = _MatchSearch(tuple(words), seed)
    for one in topic_steps if words else ():
        for node in one.nodes:
            manifest = store.manifest(node, plan.nodes[node].key)
            if manifest is None:
                continue
            table = store.rows(manifest)
            for start in range(0, len(table), _AT_ONCE):
                search.search_table(one, Table(table.arrow.slice(start, _AT_ONCE), table.row))
    return search.result()


class _MatchSearch:
    """Goes through tables, and keeps of each word the samples whose places, drawn by the seed, come first."""

    def __init__(self, words: tuple[str, ...], seed: int) -> None:
        self.hits = MatchCounts(words, only_match_counts=np.zeros(len(words), dtype=np.int64))
        self.seed = seed
        self.places = np.array([_draw_rank(f"{seed}:{word}") for word in words], dtype=np.uint64)
        self.best: list[list[tuple[bool, int, str, MatchSample]]] = [[] for _ in words]
        self.seen: dict[str, str] = {}

    def search_table(self, topic_step: TopicStep, table: Table[Any]) -> None:
        """Look for the words in the rows of `table`."""
        size = len(self.hits.words)
        topic = Topic(topic_step.spec, StepContext(self.seed, "", topic_step.step, cache=Path(), workplace=Path()))
        topic.set_words(self.hits.words)
        groups = [_row_word_pairs(fields, size) for fields in topic.find_matches(table).values()]
        kept = np.ones(len(table), dtype=bool)
        for pairs in groups:
            there = np.zeros(len(table), dtype=bool)
            there[pairs // size] = True
            kept &= there
        pairs = np.unique(np.concatenate(groups))
        self._count(topic_step.step, table, pairs)
        pairs = pairs[kept[pairs // size]]
        alone = np.isin(pairs, np.concatenate([_single_match_pairs(group, len(table), size) for group in groups]))
        self.hits.rows += len(table)
        self.hits.rows_on_topic += int(kept.sum())
        np.add.at(self.hits.only_match_counts, pairs[alone] % size, 1)
        self._sample(topic_step.spec, table, pairs, alone)

    def _count(self, step: str, table: Table[Any], pairs: Any) -> None:
        partition = table.arrow.column("partition").combine_chunks().dictionary_encode()
        codes = partition.indices.to_numpy(zero_copy_only=False)
        size = len(self.hits.words)
        for code, name in enumerate(partition.dictionary.to_pylist()):
            first = self.seen.setdefault(str(name), step)
            column = str(name) if first == step else f"{name} ({step})"
            counts = self.hits.counts.setdefault(column, np.zeros(size, dtype=np.int64))
            np.add.at(counts, pairs[codes[pairs // size] == code] % size, 1)

    def _sample(self, spec: TopicSpec, table: Table[Any], pairs: Any, alone: Any) -> None:
        """The samples of each word so far: those first that it alone brings, in the order that was drawn."""
        size = len(self.hits.words)
        rows, words = pairs // size, pairs % size
        ids = table.ids()
        drawn = np.zeros(len(table), dtype=np.uint64)
        for row in np.unique(rows).tolist():
            drawn[row] = _draw_rank(f"{self.seed}:{ids[row]}")
        places = (drawn[rows] ^ self.places[words]) * np.uint64(0x9E3779B97F4A7C15)
        order = np.lexsort((rows, places, ~alone, words))
        firsts = np.searchsorted(words[order], words[order], side="left")
        chosen = order[np.arange(len(order)) - firsts < SAMPLES]
        wanted = _rows_by_position(table, np.unique(rows[chosen]))
        for at in chosen.tolist():
            word, item = int(words[at]), wanted[int(rows[at])]
            shown = MatchSample(
                _text_around(self.hits.words[word], item, spec),
                f"{item.origin.file}:{item.origin.line}",
                bool(alone[at]),
            )
            self.best[word].append((not shown.is_only_match, int(places[at]), item.id, shown))
        for word in np.unique(words[chosen]).tolist():
            self.best[word] = sorted(self.best[word], key=itemgetter(0, 1, 2))[:SAMPLES]

    def result(self) -> MatchCounts:
        """What was found."""
        self.hits.samples = [[sample for *_, sample in best] for best in self.best]
        return self.hits


def _row_word_pairs(fields: Iterable[Any], size: int) -> Any:
    """Row and word of each hit as one number, each once."""
    return np.unique(np.concatenate([at.astype(np.int64) * size + word for at, word in fields]))


def _single_match_pairs(pairs: Any, rows: int, size: int) -> Any:
    """The pairs of rows that one word alone hits."""
    at = pairs // size
    return pairs[np.bincount(at, minlength=rows)[at] == 1]


def _draw_rank(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _rows_by_position(table: Table[Any], positions: Any) -> dict[int, Row]:
    """The rows at the places `positions`, by place."""
    return dict(zip(positions.tolist(), Table(table.arrow.take(positions), table.row), strict=True))


def _text_around(word: str, row: Any, spec: TopicSpec) -> str:
    """The text of the fields that are searched, around the first place of the word."""
    texts = {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
    fields = dict.fromkeys(name for names in spec.groups.values() for name in names)
    parts = [part for name in fields for part in texts.get(name, ()) if part]
    text = normalise_space(" | ".join(dict.fromkeys(parts)))
    at = max(fold_text(text, spec.fold).find(fold_text(word, spec.fold)), 0)
    start = max(0, at - _BEFORE) if len(text) > _SHOWN else 0
    cut = text[start : start + _SHOWN]
    return ("…" if start else "") + cut + ("…" if start + _SHOWN < len(text) else "")
