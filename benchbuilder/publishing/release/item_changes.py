"""What changed in the public items since the release before, item by item and with its reason."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    escape_cell,
    parse_json,
    printable_text,
    read_given_text,
    unescape_cell,
)
from benchbuilder.exporters import random_order_key
from benchbuilder.publishing.release.items import SharedItem
from benchbuilder.steps import ITEM_FIELDS, Corrections, CorrectSpec, Erratum, ItemTexts, read_errata

CHANGES_FILE, TABLE_FILE, WITHDRAWN_FILE = "CHANGES.md", "items_changes.tsv", "withdrawn.jsonl"
_COLUMNS = ("item", "version", "field", "before", "after", "reason", "erratum", "canary")
_WHOLE = "item"
"""The field of a row about a whole item."""
_OTHER_ID = "the texts are the same; its evidence or its origin changed"
_NOT_BUILT = "not built any more: the recipe or its sources changed"
_NOT_KEPT = "the fixed item was not kept"


@dataclass(frozen=True)
class ChangedField:
    """A row of ``items_changes.tsv``: a field of an item, before and after; `erratum` has the ids of its errata.

    `field` is ``id`` if the item got a new one (`before` is the id that it replaces), and ``item`` if it was added,
    removed or withdrawn as a whole.
    """

    item: str
    version: str
    field: str
    before: str
    after: str
    reason: str
    erratum: str


@dataclass(frozen=True)
class ChangedItems:
    """The changes of one version. `fixed` are pairs of items, before and after; `withdrawn` those with a reason."""

    rows: tuple[ChangedField, ...] = ()
    fixed: tuple[tuple[SharedItem, SharedItem], ...] = ()
    withdrawn: tuple[tuple[SharedItem, ChangedField], ...] = ()
    errata: tuple[Erratum, ...] = ()

    @property
    def same_key(self) -> tuple[tuple[SharedItem, SharedItem], ...]:
        """The fixed items of which only texts changed, not the key."""
        return tuple(pair for pair in self.fixed if texts_of(pair[0]).key == texts_of(pair[1]).key)


def errata_file(loaded: LoadedRecipe) -> Path | None:
    """The log of errata that the steps of a recipe name, if one does; RecipeError if they name several."""
    named = {
        key: spec.errata for key, spec in loaded.whole.steps.items() if isinstance(spec, CorrectSpec) and spec.errata
    }
    if len({ref.file for ref in named.values()}) > 1:
        raise RecipeError([Problem("the steps of this recipe name several logs of errata",
                                   key=f"steps.{list(named)[-1]}.errata", actual=", ".join(
                                       ref.path for ref in named.values()), hint="name one for all")])  # fmt: skip
    return next((ref.file for ref in named.values()), None)


def errata_of(loaded: LoadedRecipe) -> dict[str, Erratum]:
    """The errata of a recipe as they are now, by id; DataError if the log cannot be read."""
    file = errata_file(loaded)
    return {} if file is None else read_errata(file)


def texts_of(item: SharedItem) -> ItemTexts:
    """What the log says of an item."""
    return ItemTexts.of(item)


def replaced_items(
    before: Iterable[SharedItem], items: Iterable[SharedItem], corrections: Corrections
) -> dict[str, str]:
    """The ids in the release before that fixed items replace, by their new ids; those of earlier releases too."""
    known: dict[str, str] = {}
    former: dict[tuple[str, ItemTexts], str] = {}
    for item in before:
        known[item.id] = str(item.columns.get("replaces") or "")
        corrected = corrections.apply(texts_of(item))
        if corrected.errata and corrected.texts is not None:
            former.setdefault((item.task, corrected.texts), item.id)
    found: dict[str, str] = {}
    for item in items if former or any(known.values()) else ():
        replaces = known[item.id] if item.id in known else former.get((item.task, texts_of(item)), "")
        if replaces:
            found[item.id] = replaces
    return found


def find_item_changes(
    before: Iterable[SharedItem], now: Iterable[SharedItem], errata: Mapping[str, Erratum], version: str, seed: int
) -> ChangedItems:
    """Compare the public items of two versions; every one that is gone or new has a row, new ones in random order.

    Both are gone through more than once. Of items that are in both, only the ids are held, and of the others the texts.
    """
    corrections = Corrections(errata.values())
    old_ids, new_ids = {item.id for item in before}, {item.id for item in now}
    gone = [replace(item, columns={}) for item in before if item.id not in new_ids]
    added = [replace(item, columns={}) for item in now if item.id not in old_ids]
    added.sort(key=lambda item: random_order_key(seed, item.id))
    new = {(item.task, texts_of(item)): item for item in added}
    found = {item.id: corrections.apply(texts_of(item)) for item in gone}
    broken = {(item.task, item.family): found[item.id].errata[-1] for item in gone
              if item.family and found[item.id].texts is None}  # fmt: skip
    rows, fixed, withdrawn, used = list[ChangedField](), list[tuple[Any, Any]](), dict[str, ChangedField](), set[str]()
    for item in gone:
        corrected = found[item.id]
        used |= set(corrected.errata)
        reason = "; ".join(errata[name].reason for name in corrected.errata)
        ids = " ".join(corrected.errata)
        after = None if corrected.texts is None else new.pop((item.task, corrected.texts), None)
        if after is not None:
            rows += _field_changes(item, after, version, reason or _OTHER_ID, ids)
            fixed += [(item, after)] if corrected.errata else []
            continue
        erratum = "" if corrected.errata else broken.get((item.task, item.family), "")
        if corrected.texts is None or erratum:
            why = f"family incomplete: {errata[erratum].reason}" if erratum else reason
            change = ChangedField(item.id, version, _WHOLE, "released", "withdrawn", why, erratum or ids)
            withdrawn[item.id] = change
        else:
            why = f"{_NOT_KEPT}: {reason}" if corrected.errata else _NOT_BUILT
            change = ChangedField(item.id, version, _WHOLE, "released", "removed", why, ids)
        rows.append(change)
    rows += [ChangedField(item.id, version, _WHOLE, "", "added", "", "") for item in new.values()]
    whole = tuple((item, withdrawn[item.id]) for item in (before if withdrawn else ()) if item.id in withdrawn)
    return ChangedItems(tuple(rows), tuple(fixed), whole, tuple(one for name, one in errata.items() if name in used))


def _field_changes(
    item: SharedItem, after: SharedItem, version: str, reason: str, errata: str
) -> Iterable[ChangedField]:
    yield ChangedField(after.id, version, "id", item.id, after.id, reason, errata)
    for field in ITEM_FIELDS:
        old, new = getattr(item, field), getattr(after, field)
        if old != new:
            yield ChangedField(after.id, version, field, old, new, reason, errata)


def write_item_changes(folder: Path, before: Path | None, changes: ChangedItems, canary: str) -> None:
    """Write the table of all changes and the withdrawn items, with those of the versions before; none if empty."""
    rows = [] if before is None else read_changes(before)
    rows += [(c.item, c.version, c.field, c.before, c.after, c.reason, c.erratum) for c in changes.rows]
    if rows:
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
        writer.writerow(_COLUMNS)
        writer.writerows([*(escape_cell(printable_text(cell)) for cell in row), canary] for row in rows)
        (folder / TABLE_FILE).write_text(text.getvalue(), encoding="utf-8", newline="\n")
    lines = [*([] if before is None else read_withdrawn(before)), *(
        {**item.columns, "id": item.id, "withdrawn": change.version, "reason": change.reason, "erratum": change.erratum}
        for item, change in changes.withdrawn
    )]  # fmt: skip
    if lines:
        text = "".join(json.dumps({**line, "canary": canary}, ensure_ascii=False) + "\n" for line in lines)
        (folder / WITHDRAWN_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_changes(folder: Path) -> list[tuple[str, ...]]:
    """The rows of the table of changes in a release, without the canary; none if it has no table."""
    path = folder / TABLE_FILE
    if not path.exists():
        return []
    lines = read_given_text(path).split("\n")
    rows = [tuple(map(unescape_cell, line.split("\t"))) for line in lines[1:] if line]
    if lines[0] != "\t".join(_COLUMNS) or any(len(row) != len(_COLUMNS) for row in rows):
        raise _damaged(path, "its rows have other columns than those of a release")
    return [row[:-1] for row in rows]


def read_withdrawn(folder: Path) -> list[dict[str, Any]]:
    """The withdrawn items of a release and of those before it, each with its reason; none if it has no such file."""
    path = folder / WITHDRAWN_FILE
    try:
        return [parse_json(line) for line in read_given_text(path).split("\n") if line]
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{display_path(path)} cannot be read", where=display_path(path), why=why,
                     next="load the release again from where it was published")  # fmt: skip
