"""The rows of a recipe that the words of a list match, by the rules of its `topic` steps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.authoring.wordlists.plan import TopicStep
from benchbuilder.core import Passage, StepContext, Table, fold_text, normalise_space
from benchbuilder.pipeline import Plan, Store, stored_table
from benchbuilder.steps import Topic, TopicSpec

SAMPLES = 10
"""The number of sample rows for each word."""
_AT_ONCE = 50_000
_BEFORE, _SHOWN = 40, 160


@dataclass(frozen=True)
class MatchSample:
    """A row that a word matches: its text around the word, its source, and whether no other word matches it."""

    text: str
    source: str
    is_only_match: bool


@dataclass
class MatchCounts:
    """The matches of `words`.

    Attributes:
        counts: For each partition, the number of rows that each word matches.
        only_match_counts: For each word, the number of rows on topic that no other word matches.
        samples: For each word, sample rows on topic.
        rows: The number of searched rows.
        rows_on_topic: The number of rows on topic.
    """

    words: tuple[str, ...]
    counts: dict[str, Any] = field(default_factory=dict[str, Any])
    only_match_counts: Any = None
    samples: list[list[MatchSample]] = field(default_factory=list[list[MatchSample]])
    rows: int = 0
    rows_on_topic: int = 0

    def totals(self) -> Any:
        """The number of rows that each word matches."""
        return sum(self.counts.values(), np.zeros(len(self.words), dtype=np.int64))


def count_matches(
    words: Sequence[str], topic_steps: Iterable[TopicStep], plan: Plan, store: Store, seed: int
) -> MatchCounts:
    """Search the built input rows of `topic_steps` for `words`; `seed` draws the samples."""
    search = _MatchSearch(tuple(words), seed)
    for topic_step in topic_steps if words else ():
        for node in topic_step.nodes:
            manifest = store.manifest(node, plan.nodes[node].key)
            if manifest is None:
                continue
            for _, rows in stored_table(store, manifest).windows(_AT_ONCE):
                search.search_table(topic_step, rows)
    search.matches.samples = [[sample for *_, sample in best] for best in search.best]
    return search.matches


class _MatchSearch:
    """Searches tables, and keeps for each word the samples with the first ranks, drawn by the seed."""

    def __init__(self, words: tuple[str, ...], seed: int) -> None:
        self.matches = MatchCounts(words, only_match_counts=np.zeros(len(words), dtype=np.int64))
        self.seed = seed
        self.word_ranks = np.array([_draw_rank(f"{seed}:{word}") for word in words], dtype=np.uint64)
        self.best: list[list[tuple[bool, int, str, MatchSample]]] = [[] for _ in words]
        self.step_of_partition: dict[str, str] = {}

    def search_table(self, topic_step: TopicStep, table: Table[Any]) -> None:
        """Look for the words in the rows of `table`."""
        size = len(self.matches.words)
        topic = Topic(topic_step.spec, StepContext(self.seed, "", topic_step.step, cache=Path(), workplace=Path()))
        topic.set_words(self.matches.words)
        groups = [_row_word_pairs(fields, size) for fields in topic.find_matches(table).values()]
        kept = np.ones(len(table), dtype=bool)
        for pairs in groups:
            kept &= np.isin(np.arange(len(table)), pairs // size)
        pairs = np.unique(np.concatenate(groups))
        self._count(topic_step.step, table, pairs)
        pairs = pairs[kept[pairs // size]]
        alone = np.isin(pairs, np.concatenate([_single_match_pairs(group, len(table), size) for group in groups]))
        self.matches.rows += len(table)
        self.matches.rows_on_topic += int(kept.sum())
        np.add.at(self.matches.only_match_counts, pairs[alone] % size, 1)
        self._sample(topic_step.spec, table, pairs, alone)

    def _count(self, step: str, table: Table[Any], pairs: Any) -> None:
        partition = table.arrow.column("partition").combine_chunks().dictionary_encode()
        codes = partition.indices.to_numpy(zero_copy_only=False)
        size = len(self.matches.words)
        for code, name in enumerate(partition.dictionary.to_pylist()):
            first = self.step_of_partition.setdefault(str(name), step)
            column = str(name) if first == step else f"{name} ({step})"
            counts = self.matches.counts.setdefault(column, np.zeros(size, dtype=np.int64))
            np.add.at(counts, pairs[codes[pairs // size] == code] % size, 1)

    def _sample(self, spec: TopicSpec, table: Table[Any], pairs: Any, alone: Any) -> None:
        """Update the samples of each word: first rows that only it matches, in the drawn order."""
        size = len(self.matches.words)
        rows, words = pairs // size, pairs % size
        ids = table.ids()
        drawn = np.zeros(len(table), dtype=np.uint64)
        for row in np.unique(rows).tolist():
            drawn[row] = _draw_rank(f"{self.seed}:{ids[row]}")
        ranks = (drawn[rows] ^ self.word_ranks[words]) * np.uint64(0x9E3779B97F4A7C15)
        order = np.lexsort((rows, ranks, ~alone, words))
        firsts = np.searchsorted(words[order], words[order], side="left")
        chosen = order[np.arange(len(order)) - firsts < SAMPLES]
        positions = np.unique(rows[chosen])
        row_table = Table(table.arrow.take(positions), table.row)
        rows_by_position = dict(zip(positions.tolist(), row_table, strict=True))
        for n in chosen.tolist():
            word, item = int(words[n]), rows_by_position[int(rows[n])]
            text = _text_around(self.matches.words[word], item, spec)
            shown = MatchSample(text, f"{item.origin.file}:{item.origin.line}", bool(alone[n]))
            self.best[word].append((not shown.is_only_match, int(ranks[n]), item.id, shown))
        for word in np.unique(words[chosen]).tolist():
            self.best[word] = sorted(self.best[word], key=itemgetter(0, 1, 2))[:SAMPLES]


def _row_word_pairs(fields: Iterable[Any], size: int) -> Any:
    """Row and word of each match as one number, each once."""
    return np.unique(np.concatenate([rows.astype(np.int64) * size + word for rows, word in fields]))


def _single_match_pairs(pairs: Any, rows: int, size: int) -> Any:
    """The pairs of rows that only one word matches."""
    positions = pairs // size
    return pairs[np.bincount(positions, minlength=rows)[positions] == 1]


def _draw_rank(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _text_around(word: str, row: Any, spec: TopicSpec) -> str:
    """The text of the searched fields around the first match of the word."""
    texts = {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
    fields = dict.fromkeys(name for names in spec.groups.values() for name in names)
    parts = [part for name in fields for part in texts.get(name, ()) if part]
    text = normalise_space(" | ".join(dict.fromkeys(parts)))
    match = max(fold_text(text, spec.fold).find(fold_text(word, spec.fold)), 0)
    start = max(0, match - _BEFORE) if len(text) > _SHOWN else 0
    cut = text[start : start + _SHOWN]
    return ("…" if start else "") + cut + ("…" if start + _SHOWN < len(text) else "")
