"""Tables with a row for each entity and a column for each property, as triples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

from benchbuilder.authoring.starter.cells import IDENTIFIER, QUESTION, RIGHT, WRONG
from benchbuilder.authoring.starter.sample import UnclearLayoutError, label_words
from benchbuilder.core import count_phrase, normalise_space, parse_json, read_given_file

_FEWEST, _FULL, _DISTINCT = 4, 0.9, 0.98
"""So many rows make a table of entities; of which so many are named, and differently."""
_NAME_LENGTH, _VALUE_LENGTH = 40, 80
"""Names, and what is said of them, have so many characters at most (the median)."""
_LINK = re.compile(r"(?:https?://|www\.|urn:)\S+\Z")
_NUMBER = re.compile(r"[\s\d.,:%/+-]*\Z")
_SEVERAL = re.compile(r"\s*(?:[;|\n\u3001\uff1b])\s*")
_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f", "\u061f", "\u0964")
_CLAIM = re.compile(
    r"(?i)claim|label|verdict|veracity|gold|truth|\bkey\b|option|choice|explan|prompt|myth|schl\u00fcssel|\u9009\u9879|\u89e3\u6790"
)
_OF_QUERY = re.compile(r"(?<=\w)Label\Z")
"""What Wikidata's queries add to the name of a column of names."""
_Records = Sequence[Mapping[str | int, Any]]


def triples_of_entities(records: _Records, head: str = "") -> tuple[list[dict[str | int, Any]], str, str] | None:
    """The triples of a table, a note, and the column of names; ``None`` if it is no table of entities.

    The names of entities are the column `head`, or else the first column of text, if its cells are short, differ and
    are no sentences, and no other column looks like one of questions, keys or labels. The name of each other column of
    short cells is a relation. Cells that list several ends, by a semicolon or the like, make several triples; links and
    numbers of rows make none.

    Raises:
        UnclearLayoutError: `head` does not name entities.
    """
    names = [name for name in dict.fromkeys(name for row in records for name in row) if isinstance(name, str)]
    cells = {name: [normalise_space(_text(row.get(name))) for row in records] for name in names}
    used = [name for name in names if _says_something(name, cells[name])]
    texts = [name for name in used if not all(map(_NUMBER.match, cells[name]))]
    first = head or next(iter(texts), "")
    if first not in cells or not _names_entities(cells[first]):
        if head:
            why = f"{head} does not name entities: its cells are not short, or not different" if head in cells else ""
            raise UnclearLayoutError(
                why or f"there is no column {head}", sure=True, hint="name the column of the names"
            )
        return None
    if not head and any(_is_of_an_examination(name, cells[name]) for name in used):
        return None
    if len(records) < _FEWEST or not (properties := [name for name in used if name != first]):
        return None
    found: list[dict[str | int, Any]] = [
        {"head": cells[first][at], "relation": _relation(name), "tail": part}
        for at in range(len(records))
        if cells[first][at]
        for name in properties
        for part in map(normalise_space, _SEVERAL.split(_text(records[at].get(name))))
        if part
    ]
    rest = [name for name in names if name not in (first, *properties)]
    note = f"{count_phrase(len(found), 'triple')} of {len(records)} rows, each about one {first}, written as JSON Lines"
    return found, f"{note}; not used: {', '.join(rest)}" if rest else note, first


def records_by_key(path: Path) -> _Records:
    """The records of an object in JSON whose keys name them, each with its key as *name*; none of another file."""
    if path.suffix.lower() != ".json":
        return ()
    try:
        found: Any = parse_json(read_given_file(path).decode("utf-8-sig"))
    except ValueError:
        return ()
    rows = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return (
        [{"name": key, **row} for key, row in rows.items()]
        if all(isinstance(row, dict) for row in rows.values())
        else ()
    )


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def _says_something(name: str, cells: Sequence[str]) -> bool:
    """Whether a column has short cells that are no links, and not the numbers of its rows."""
    filled = [cell for cell in cells if cell]
    if not filled or IDENTIFIER.search(name) or any(map(_LINK.match, filled)):
        return False
    counted = filled[0].isdecimal() and filled == [str(int(filled[0]) + at) for at in range(len(filled))]
    return not (counted and len(filled) > 1) and median(map(len, filled)) <= _VALUE_LENGTH


def _names_entities(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return (
        len(filled) >= max(_FULL * len(cells), 1)
        and len(set(map(str.casefold, filled))) >= _DISTINCT * len(filled)
        and median(map(len, filled)) <= _NAME_LENGTH
        and not any(cell.endswith(_ENDS) for cell in filled)
        and not all(map(_NUMBER.match, filled))
    )


def _is_of_an_examination(name: str, cells: Sequence[str]) -> bool:
    """Whether a column may hold questions, claims, answers, keys or labels: what is not said of them is not guessed."""
    filled = {cell.casefold() for cell in cells if cell}
    if any(pattern.search(_OF_QUERY.sub("", name)) for pattern in (QUESTION, RIGHT, WRONG, _CLAIM)):
        return True
    marks = all(cell in label_words() or re.fullmatch(r"\(?[a-j]\)?|[01]", cell) for cell in filled)
    return marks or sum(cell.endswith(_ENDS) for cell in filled) > len(filled) / 2


def _relation(column: str) -> str:
    return normalise_space(_OF_QUERY.sub("", column).replace("_", " "))
