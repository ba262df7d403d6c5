"""What a build will read with the settings that ``new`` wrote: three rows of each source, for its author to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.config import OPEN_PLACE, read_kind_spec
from benchbuilder.core import BenchbuilderError, Kept, Row, SourceUnit, create_from_spec, read_given_text
from benchbuilder.pipeline import shown_rows

_READINGS = ("index", "index_from_1")
_ROWS = 200


def read_back(recipe: Path, names: Sequence[str]) -> Iterator[str]:
    """Lines about the sources `names` of a recipe: rows as a build reads them, or why it does not.

    Where a number in `answer_key` may count from 0 or from 1, the rows are shown in both ways.
    """
    content: Mapping[str, Any] = yaml.safe_load(read_given_text(recipe))
    for name in names:
        data: dict[str, Any] = content["sources"][name]
        open_places = {key for key, value in data.items() if OPEN_PLACE in str(value)}
        if {"columns", "path"} & open_places:
            continue
        for reading in _READINGS if "key_as" in open_places else ("",):
            given = {**data, "key_as": reading} if reading else data
            label = f"{name} with key_as: {reading}" if reading else name
            try:
                rows = first_rows(name, given, recipe.parent / data["path"], content["language"], _ROWS)
            except (BenchbuilderError, ValueError) as error:
                yield f"warning: {label} cannot be read so: {error}"
                continue
            yield from shown_rows(label, rows, 0)
            if not rows:
                yield f"warning: {label}: no row of the file can be used as the recipe says"


def first_rows(name: str, data: Mapping[str, Any], path: Path, language: str, count: int) -> list[Row]:
    """At most `count` rows of a source with the settings `data`, open ones left out, and the file at `path`.

    Raises:
        BenchbuilderError: The file cannot be read so.
        ValueError: The settings do not fit the kind.
    """
    plain = {key: value for key, value in data.items() if OPEN_PLACE not in str(value)}
    plain |= {"licence": "not stated", "title": name}
    plain["path"] = {"path": data["path"], "resolved_path": str(path)}
    source: Any = create_from_spec("source", read_kind_spec("source", plain), name, language)
    source.check()
    if rows := source.first_rows(count):
        return rows
    outcomes = (unit.outcome for unit in islice(source.read(), count) if isinstance(unit, SourceUnit))
    return [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
