"""The columns of the first records of a file, and which of them hold texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

from benchbuilder.authoring.starter.sample import UnclearLayoutError
from benchbuilder.sources import cell_text, option_lists

Cells = Mapping[str | int, Sequence[Any]]
"""The values of each column, or path into records; ``None`` where a record has none."""

QUESTION = re.compile(
    r"(?i)question(?!.*(id|concept|number|type)$)|^q$|^stem$|qtext|query(?!_?id)|^statement$|frage|pregunta|pergunta|enunciado|"
    r"aufgabe|quest\u00e3o|\u95ee\u9898|\u9898\u76ee|\u9898\u5e72|\u554f\u984c"
)
RIGHT = re.compile(
    r"(?i)(?<!in)correct|right|best.?answer(?!.*incorrect)|ground.?truth|gold.?answer|^answers?\b|^a$|richtig|antwort|"
    r"respuesta|resposta|r\u00e9ponse|\u7b54\u6848"
)
WRONG = re.compile(r"(?i)wrong|incorrect|distract|hallucinat|falsch")
GOLD = re.compile(r"(?i)(label|verdict|veracity|rating|gold|class)")
IDENTIFIER = re.compile(r"(?i)(^|_)(id|aid|nr)$|^#")
_NOTHING: tuple[Any, ...] = (None, "", [])
_IS_NO_TEXT = re.compile(r"\s*(\(?[A-Ja-j][).]?|[\d.,]+|https?://\S+)?\s*\Z")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a source by their roles, and other settings; `OPEN_PLACE` begins what the author must decide."""

    columns: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def columns_of(records: Sequence[Mapping[str | int, Any]]) -> Cells:
    """The columns of the records that hold anything, those inside mappings by their paths."""
    records = [record for record in records if any(value not in _NOTHING for value in record.values())]
    cells: dict[str | int, list[Any]] = {}
    for at, record in enumerate(records):
        for path, part in chain.from_iterable(_parts(name, value) for name, value in record.items()):
            cells.setdefault(path, [None] * len(records))[at] = part
    return cells


def _parts(path: str | int, value: Any) -> Iterator[tuple[str | int, Any]]:
    """A value and what is inside it, with their paths."""
    yield path, value
    only: Any = value[0] if isinstance(value, list) and len(cast("list[Any]", value)) == 1 else None
    if isinstance(only, dict) and any(isinstance(part, dict) or option_lists(part) for part in only.values()):
        yield from _parts(f"{path}[0]", only)  # as in exports of programs for annotation
    inside = cast("dict[str, Any]", value) if isinstance(value, dict) else option_lists(value)
    for name, part in inside.items():
        yield from _parts(f"{path}.{name}" if isinstance(value, dict) else f"{path}[].{name}", part)


def _asks(value: Any) -> bool:
    return str(value or "").rstrip().endswith(("?", "\uff1f", ":", "\uff1a", "\u2026", "..."))


def label_of(value: Any) -> str:
    """A label as a text; a list of one is that one, and there may be none."""
    parts = cast("list[Any]", value) if isinstance(value, list) else [value]
    one = parts[0] if len(parts) == 1 else value
    return str(one).lower() if isinstance(one, bool) else cell_text(one) or ""


def is_full(values: Sequence[Any], share: float = 1.0) -> bool:
    """Whether so many records have a value."""
    return sum(value not in _NOTHING for value in values) >= share * len(values)


def text_columns(cells: Cells) -> dict[str | int, Sequence[str]]:
    """The columns of texts that differ from record to record, without names and keys."""
    return {
        name: values
        for name, values in cells.items()
        if all(isinstance(value, str) for value in values)
        and len(set(values)) > len(values) / 2
        and not IDENTIFIER.search(str(name))
        and not all(map(_IS_NO_TEXT.match, values))
    }


def columns_before(cells: Cells, names: Sequence[str | int]) -> Cells:
    """The columns before the first of `names`: a question that stands behind its answers may be another one."""
    first = next((place for place, name in enumerate(cells) if name in names), len(cells))
    return dict(list(cells.items())[:first])


def only_column(
    names: Sequence[str | int], pattern: re.Pattern[str], what: str, asking: Cells | None = None
) -> str | int:
    """The only one of `names` that fits the pattern, or the only one at all; or the only one of `asking` that asks."""
    found = [name for name in names if pattern.search(str(name))] or list(names)
    if len(found) > 1 and asking is not None:
        near = [name for name in found if name in asking]
        asks = [name for name in near if sum(map(_asks, asking[name])) > len(asking[name]) / 2]
        found = asks if len(asks) == 1 else found
    if len(found) != 1:
        raise UnclearLayoutError(f"{what}: {' or '.join(map(str, found)) or 'no column fits'}")
    return found[0]
