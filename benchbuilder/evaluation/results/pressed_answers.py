"""The answers of one model under pressure, read from the tables of an evaluation, and how their figures are grouped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, RowIndex, Table, combined_column
from benchbuilder.evaluation.results.columns import AskedItems
from benchbuilder.evaluation.results.gather import first_known
from benchbuilder.evaluation.stats.statistic import Bools, Statistic, statistic_of_sums
from benchbuilder.evaluation.steps.press import PRESSED
from benchbuilder.evaluation.steps.push import TURNS

STATES = ("right", "wrong", "neither")
"""What an answer does: it supports the right answer, the wrong one, or neither (invalid, refused, empty)."""
States = NDArray[np.int8]
"""The state of each item by its place in `STATES`; -1 without an answer."""
RIGHT, WRONG, NEITHER = range(3)
FIRST_READ = f"{PRESSED}_by_first"
"""What the names of the steps begin with that read the first answers to open questions."""
OF_THE_QUESTION = {True: ("explicit", "restated"), False: ("term", "closeness")}
"""By what replies are read that say something of the question themselves: true/false questions, and open ones."""
_TURN = ["item", "slot", "scorer", "label", "detail"]
Key = Literal["", "yes", "no"]
"""The right verdict of true/false questions; empty for the mean over both, and for open questions."""


@dataclass(frozen=True)
class PressedAnswers:
    """The states of one model's answers: of the first ones, and of the later ones by condition."""

    model: str
    first: States
    later: Mapping[str, States]
    explicit: Mapping[str, States] = field(default_factory=dict[str, States])
    """The same after pushes, where only what replies say of the question counts."""
    lines: Sequence[tuple[int, str, str, str, str]] = ()
    """Item, condition, scorer, label and detail of each later answer."""


def pressed_answers(
    tables: Mapping[str, Table[Any]],
    items: AskedItems,
    scorer: str,
    model: str,
    asked: RowIndex,
    slots: NDArray[np.object_],
) -> PressedAnswers | None:
    """The states of one model's answers; ``None`` if it was told nothing.

    Args:
        tables: The tables of the steps, by name.
        items: The items as they were built.
        scorer: The scorer that reads verdicts.
        model: The model.
        asked: The questions with a context, by id.
        slots: The condition of each.
    """
    index, first = items.index(), np.full(len(items), -1, np.int8)
    for name in (f"{scorer}.{model}", f"{FIRST_READ}.{model}"):
        for batch in tables[name].batches(["item", "label"]) if name in tables else ():
            _note(first, index.positions(combined_column(batch, "item")), batch)
    later: dict[str, States] = {}
    lines: list[tuple[int, str, str, str, str]] = []
    for name in (f"{PRESSED}_by_verdict.{model}", f"{PRESSED}_by_support.{model}"):
        columns = ["item", "parents", "scorer", "label", "detail"]
        for batch in tables[name].batches(columns) if name in tables else ():
            places = index.positions(combined_column(batch, "item"))
            own = slots[first_known(combined_column(batch, "parents"), asked)]
            for slot in dict.fromkeys(own.tolist()):
                states = later.setdefault(slot, np.full(len(items), -1, np.int8))
                _note(states, np.where(own == slot, places, -1), batch)
            texts = (_repeated(batch, column) for column in ("scorer", "label", "detail"))
            lines += zip(places.tolist(), own.tolist(), *texts, strict=True)
    explicit: dict[str, States] = {}
    for batch in tables[f"{TURNS}.{model}"].batches(_TURN) if f"{TURNS}.{model}" in tables else ():
        places = index.positions(combined_column(batch, "item"))
        own, *texts = (_repeated(batch, name) for name in _TURN[1:])
        for slot in dict.fromkeys(own):
            here = np.where(np.array(own, np.object_) == slot, places, -1)
            states, plain = (found.setdefault(slot, np.full(len(items), -1, np.int8)) for found in (later, explicit))
            _note(states, here, batch)
            _note(plain, here, batch)
        lines += zip(places.tolist(), own, *texts, strict=True)
        for place, slot, detail in zip(places.tolist(), own, texts[-1], strict=True):
            if detail.partition(":")[0] not in OF_THE_QUESTION[items.expected[place] != ""]:
                explicit[slot][place] = NEITHER
    return PressedAnswers(model, first, later, explicit, sorted(lines)) if later else None


def _repeated(batch: Any, column: str) -> list[str]:
    """The texts of a column whose texts repeat: each is held once."""
    return [sys.intern(str(text)) for text in combined_column(batch, column).to_pylist()]


def _note(states: States, places: NDArray[np.int64], batch: Any) -> None:
    """Note the states of the answers at `places`; of a missing answer, none."""
    labels = combined_column(batch, "label").to_pylist()
    codes = [-1 if label == "missing" else STATES.index(label) if label in STATES else NEITHER for label in labels]
    states[places[places >= 0]] = np.array(codes, np.int8)[places >= 0]


def item_groups(items: AskedItems, asked: Bools) -> Iterator[tuple[tuple[str, str], dict[Key, list[Bools]]]]:
    """The items that are asked, by type and form (empty if there is one); true/false questions in groups by key."""
    codes = set[int](items.forms.codes[asked].tolist())
    forms = [name for code, name in enumerate(items.forms.names) if code in codes] if len(codes) > 1 else [""]
    for kind, form in product(items.types.names, forms):
        own = asked & items.types.among([kind]) & items.forms.among([form] if form else items.forms.names)
        yes, no = (own & items.expected.among([key]) for key in ("yes", "no"))
        by_key: dict[Key, list[Bools]] = {"": [yes, no], "yes": [yes], "no": [no]} if (yes | no).any() else {"": [own]}
        kept: dict[Key, list[Bools]] = {key: [one for one in parts if one.any()] for key, parts in by_key.items()}
        yield (kind, form), {key: parts for key, parts in kept.items() if parts}


def mean_ratio(
    ratio: Callable[[Sequence[Floats]], Floats], marks: Sequence[NDArray[Any]], groups: Sequence[Bools], why: str
) -> Statistic:
    """The mean over `groups` of rows of a `ratio` of how many rows of a group have each of `marks`."""
    present, width = np.logical_or.reduce(groups), len(marks)
    columns = [(mark * group)[present].astype(np.float64) for group in groups for mark in marks]

    def of(sums: Floats) -> Floats:
        return np.mean([ratio(list(sums[:, at : at + width].T)) for at in range(0, sums.shape[1], width)], axis=0)

    return statistic_of_sums(columns, of, present, why)
