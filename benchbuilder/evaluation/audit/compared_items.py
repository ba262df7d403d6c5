"""The items of a benchmark as columns, to be compared: their texts, and hashes that tell which texts are equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import (
    STATEMENT_FORM,
    Candidate,
    Claim,
    Item,
    LazyTexts,
    Row,
    cells_of,
    content_keys,
    equality_key,
)
from benchbuilder.evaluation.audit.subjects import family_of, shown_text

_READ = 4096
"""So many items are read at once."""
_LEAST_STATEMENT = 6
"""Characters that a right and a wrong answer share if both are statements."""
_STATED_FORMS = (STATEMENT_FORM, "claim")
"""The forms of items whose answers are whole statements."""


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """An item: its id, family, type, question and answers."""

    id: str
    family: str
    type: str
    context: str
    question: str
    expected: str
    right: str
    wrong: str

    @property
    def says(self) -> str:
        """What equal questions must agree in, for people."""
        return self.expected or self.right


class ComparedItems:
    """All items of a benchmark; each is made when it is asked for.

    `families` and `types` are numbers. `keys` has a hash of the type and question, of the right and of the wrong answer
    of each item, all in the form in which texts count as equal. `states` says whether the answers are whole statements.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        rest, names = iter(rows), [field.name for field in fields(ComparedItem)]
        pieces = [pa.schema([(name, pa.string()) for name in names]).empty_table()]
        keys: list[NDArray[np.uint64]] = [np.zeros((0, 3, 2), np.uint64)]
        states: list[NDArray[np.bool_]] = [np.zeros(0, bool)]
        for some in iter(lambda: list(islice(rest, _READ)), []):
            items = list(map(_item, some))
            columns = [pa.array([getattr(item, name) for item in items], pa.string()) for name in names]
            pieces.append(pa.table(columns, names))
            found = list(map(_keys, some, items))
            keys.append(content_keys(key for own, _ in found for key in own).reshape(-1, 3, 2))
            states.append(np.array([stated for _, stated in found], bool))
        table = pa.concat_tables(pieces)
        self._columns = {name: LazyTexts(table.column(name)) for name in names}
        self.families, self.types = (_numbers(table.column(name)) for name in ("family", "type"))
        self.keys, self.states = np.concatenate(keys), np.concatenate(states)

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, place: int) -> ComparedItem:
        return ComparedItem(**{name: column[place] for name, column in self._columns.items()})

    @property
    def questions(self) -> LazyTexts:
        """The question of each item."""
        return self._columns["question"]


def distinct_part(right: str, wrong: str) -> str:
    """The part of a right answer that the wrong one lacks: without their common beginning and end.

    >>> distinct_part("the drug is aspirin.", "the drug is insulin.")
    'aspir'
    """
    start = next((n for n, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), min(len(right), len(wrong)))
    rest, other = right[start:][::-1], wrong[start:][::-1]
    end = next((n for n, (a, b) in enumerate(zip(rest, other, strict=False)) if a != b), min(len(rest), len(other)))
    return rest[end:][::-1]


def _item(row: Row) -> ComparedItem:
    cells = cells_of(row)
    question = shown_text(row) or cells.get("full-question") or cells.get("question") or next(iter(cells.values()), "")
    context = str(getattr(getattr(row, "payload", row), "context", ""))
    return ComparedItem(
        row.id, family_of(row), cells.get("q-type", "").lower(), context, question, cells.get("expected", ""),
        cells.get("answer", ""), cells.get("answer-wrong", ""),
    )  # fmt: skip


def _keys(row: Row, item: ComparedItem) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """What is hashed of an item, and whether its answers are whole statements."""
    right, wrong = equality_key(item.right), equality_key(item.wrong)
    shared = len(right) - len(distinct_part(right, wrong))
    states = bool(wrong) and shared >= _LEAST_STATEMENT and _has_statements(row)
    if item.context:
        right, wrong = equality_key(item.context + item.right), equality_key(item.context + item.wrong)
    return ((item.type, equality_key(item.question)), (right,), (wrong,)), states


def _has_statements(row: Row) -> bool:
    """Whether the answers of an item are whole statements.

    Those of a benchmark from elsewhere need not be, and where a question is shown, its answer is none.
    """
    if getattr(row, "form", STATEMENT_FORM) not in _STATED_FORMS:
        return False
    if isinstance(row, Item):
        return isinstance(row.payload, Claim) and bool(row.candidate)
    return isinstance(row, Candidate)


def _numbers(column: pa.ChunkedArray[Any]) -> NDArray[np.int32]:
    """For each text of a column a number; equal texts have equal ones."""
    encoded: Any = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy()
