"""Replaces parts of the texts of columns, counts what each rule changes, and splits cells that hold lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from benchbuilder.core import DataError
from benchbuilder.sources.formats.tables import CleanRule, Column, RawRow


class ColumnCleaner:
    """Applies the rules of `clean` to the values of rows.

    Args:
        rules: The rules by the names of the columns in the recipe.
        named: The columns of the files by these names.
        columns: The columns of each row, in order.
        key: The recipe key of the rules, for messages.
    """

    def __init__(
        self, rules: Mapping[str, Sequence[CleanRule]], named: Mapping[str, Collection[Column]],
        columns: Sequence[Column], key: str,
    ) -> None:  # fmt: skip
        self.key = key
        self._rules: list[tuple[str, list[int], CleanRule]] = []
        for name, sequence in rules.items():
            places = _places(name, named, columns, key)
            for number, rule in enumerate(sequence):
                self._rules.append((f"{key}.{name}[{number}]", places, rule))
        self.changed: dict[str, int] = {}
        """The number of records that each rule changed so far, by its recipe key."""
        self.begin()

    def begin(self) -> None:
        """Count anew."""
        self.changed = {rule[0]: 0 for rule in self._rules}

    def clean(self, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        """The rows with their texts replaced."""
        for row in rows:
            yield row if row.reason else row._replace(values=self._cleaned(list(row.values)))

    def _cleaned(self, values: list[Any]) -> list[Any]:
        for key, places, rule in self._rules:
            changed = False
            for place in places:
                new = _replaced(values[place], rule)
                changed, values[place] = changed or new != values[place], new
            self.changed[key] += changed
        return values

    def check_all_used(self, name: str) -> None:
        """DataError if a rule changed no record of the source `name`, whose files were all read."""
        for key, count in self.changed.items():
            if not count:
                raise DataError(
                    f"{key}: this pattern changed no record", where=key, why=f"no text of {name} there matches it",
                    next="correct the pattern, or remove the rule",
                )  # fmt: skip


class CellSplitter:
    """Makes lists of the cells of columns that hold several values; what it needs is as for `ColumnCleaner`.

    `separators` are what stands between the values, by the names of the columns; an empty one splits nothing.
    """

    def __init__(
        self,
        separators: Mapping[str, str],
        named: Mapping[str, Collection[Column]],
        columns: Sequence[Column],
        key: str,
    ) -> None:
        self._at = {
            place: separator.strip() or separator
            for name, separator in separators.items()
            for place in _places(name, named, columns, key)
            if separator
        }

    def split(self, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        """The rows with lists for the texts of these columns; an empty part is none."""
        for row in rows:
            values = list(row.values)
            for place, separator in self._at.items() if not row.reason else ():
                if isinstance(text := values[place], str):
                    values[place] = [part.strip() for part in text.split(separator) if part.strip()]
            yield row._replace(values=values)


def _places(name: str, named: Mapping[str, Collection[Column]], columns: Sequence[Column], key: str) -> list[int]:
    """The places of a column, by its name in the recipe; DataError if the source has none of this name."""
    if name not in named:
        raise DataError(
            f"{key}.{name}: this source has no such column", where=f"{key}.{name}",
            why=f"its columns are {', '.join(named)}", next="name one of them",
        )  # fmt: skip
    return [place for place, column in enumerate(columns) if column in named[name]]


_LISTS = (";", "|")
_LIST_ROWS = 3
_LONGEST_PART = 80


def list_separator(cells: Sequence[object]) -> str:
    """What stands between the values where most cells hold a list of short ones; empty if they hold none.

    >>> list_separator(["a; b", "c; d; e", "f; g", "h"])
    ';'
    """
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    for separator in _LISTS:
        parts = [list(filter(str.strip, text.split(separator))) for text in texts]
        lists = [found for found in parts if len(found) > 1 and max(map(len, found)) <= _LONGEST_PART]
        if len(lists) >= _LIST_ROWS and 2 * len(lists) > len(texts):
            return separator
    return ""


def _replaced(value: Any, rule: CleanRule) -> Any:
    if isinstance(value, str):
        return rule.cleaned(value)
    if isinstance(value, list):
        return [_replaced(part, rule) for part in value]
    return {name: _replaced(part, rule) for name, part in value.items()} if isinstance(value, dict) else value
