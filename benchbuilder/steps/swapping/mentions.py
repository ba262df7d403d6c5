"""Which paragraphs mention which names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from benchbuilder.core import Table, head_excerpt
from benchbuilder.steps.language.columns import Scanner
from benchbuilder.steps.language.known_graph import KnownGraph
from benchbuilder.steps.swapping.names import NameForms

_SHOWN = 120


class Mentions:
    """The paragraphs of a table in which each of some names occurs, as the unit of the language counts it."""

    def __init__(self, passages: Table[Any], keys: Collection[str], graph: KnownGraph, forms: NameForms) -> None:
        self._passages = passages
        names = sorted(keys)
        searched = [forms.text_form(graph.spelled(name)) for name in names]
        scanner = Scanner([form if form.strip() else "" for form in searched])
        found: list[Any] = []
        start = 0
        for batch in passages.batches(["text"]):
            column: list[Any] = batch.column("text").to_pylist()
            texts = list(map(forms.text_form, column))
            paragraphs, numbers = scanner.scan(texts)
            found.append(np.unique(np.stack([numbers, paragraphs + start], axis=1), axis=0))
            start += len(texts)
        pairs = np.unique(np.concatenate([np.zeros((0, 2), np.int64), *found]), axis=0)
        bounds = np.searchsorted(pairs[:, 0], np.arange(len(names) + 1))
        self._paragraphs = {
            name: pairs[bounds[number] : bounds[number + 1], 1]
            for number, name in enumerate(names) if bounds[number] < bounds[number + 1]
        }  # fmt: skip

    def paragraphs_of(self, names: Iterable[str]) -> list[int]:
        """The numbers of the paragraphs that have one of the names, in order."""
        found = [self._paragraphs[name] for name in names if name in self._paragraphs]
        return np.unique(np.concatenate(found)).tolist() if found else []

    def text_of(self, paragraph: int) -> str:
        """A paragraph as details show it: its id and how it begins."""
        row = self._passages.arrow.slice(paragraph, 1).select(["id", "text"]).to_pylist()[0]
        return f"{row['id']}: {head_excerpt(row['text'], _SHOWN)}"
