"""Replaces parts of the texts of columns, and counts the records that each rule changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from benchbuilder.core import DataError, replace_all
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
            if name not in named:
                raise DataError(
                    f"{key}.{name}: this source has no such column", where=f"{key}.{name}",
                    why=f"its columns are {', '.join(named)}", next="name one of them",
                )  # fmt: skip
            places = [place for place, column in enumerate(columns) if column in named[name]]
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


def _replaced(value: Any, rule: CleanRule) -> Any:
    if isinstance(value, str):
        return replace_all(rule.find, rule.put, value)
    if isinstance(value, list):
        return [_replaced(part, rule) for part in value]
    return {name: _replaced(part, rule) for name, part in value.items()} if isinstance(value, dict) else value
