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
_HALF = 32


class Mentions:
    """The paragraphs of a table in which each of some names occurs, as the unit of the language counts it."""

    def __init__(self, passages: Table[Any], keys: Collection[str], graph: KnownGraph, forms: NameForms) -> None:
        self._passages = passages
        self._numbers = {name: number for number, name in enumerate(sorted(keys))}
        searched = (forms.text_form(graph.spelled(name)) for name in self._numbers)
        scanner = Scanner([form if form.strip() else "" for form in searched])
        found = [np.zeros(0, np.int64)]  # the name in the upper half of a number, the paragraph in the lower one
        start = 0
        for batch in passages.batches(["text"]):
            column: Any = batch.column("text").to_pylist()
            paragraphs, numbers = scanner.scan(list(map(forms.text_form, column)))
            found.append(np.unique(numbers << _HALF | paragraphs + start))
            start += len(column)
        pairs = np.concatenate(found)
        del scanner, found
        pairs.sort()
        self._bounds = np.searchsorted(pairs, np.arange(len(self._numbers) + 1) << _HALF)
        self._paragraphs = pairs.astype(np.uint32)

    def paragraphs_of(self, names: Iterable[str]) -> list[int]:
        """The numbers of the paragraphs that have one of the names, in order."""
        numbers = [self._numbers[name] for name in names if name in self._numbers]
        found = [self._paragraphs[self._bounds[number] : self._bounds[number + 1]] for number in numbers]
        return found[0].tolist() if len(found) == 1 else sorted({number for some in found for number in some.tolist()})

    def text_of(self, paragraph: int) -> str:
        """A paragraph as details show it: its id and how it begins."""
        row = self._passages.arrow.slice(paragraph, 1).select(["id", "text"]).to_pylist()[0]
        return f"{row['id']}: {head_excerpt(row['text'], _SHOWN)}"
