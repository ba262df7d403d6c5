"""What differs between two records of a group, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from record import Fields, Record, base_of

_NOUNS = {"key": "key of step", "file": "file", "step": "rows of step"}
_ENDS = {"waits", "stopped"}
"""Things that end a build or an evaluation; what is gone then is not listed."""
_SUMS = {"order", "ids", "whole", "keys"}
"""Digests that change with others, and are named where no other does."""
_PLACES = 3
"""How many places of changed items are named."""


def differences(before: Mapping[str, Record], after: Mapping[str, Record]) -> list[str]:
    """Each difference as a sentence. What the base of a record says, it does not repeat."""
    said: list[str] = []
    told: dict[str, set[str]] = {}
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            said.append(f"{name}: {'is not recorded any more' if name in before else 'is recorded for the first time'}")
            continue
        words = list(_of_record(before[name], after[name]))
        base = base_of(name, told)
        told[name] = set(words)
        said += [f"{name}: {text}" for text in words if base is None or text not in told[base]]
    return said


def _of_record(before: Record, after: Record) -> Iterator[str]:
    """The items first, then what each step says, in the order of the flow, then the results."""
    for name in dict.fromkeys([*before.items, *after.items]):
        if name in before.items and name in after.items:
            yield from _of_items(name, _Items.of(before, name), _Items.of(after, name))
    ended = {kind for kind, _ in after.things} & _ENDS
    for kind, name in dict.fromkeys([*before.things, *after.things]):
        old, new = before.things.get((kind, name)), after.things.get((kind, name))
        if new is None and ended:
            continue
        if kind == "lost":
            yield from _of_lost(name, old or {}, new or {})
        elif old is None or new is None:
            why = f", {new['why']}" if new is not None and kind in _ENDS else ""
            yield f"{_NOUNS.get(kind, kind)} {name}: {'is gone' if new is None else 'is new'}{why}"
        elif kind != "items" and (words := _of_fields(old, new)):
            yield f"{_NOUNS.get(kind, kind)} {name}: {'; '.join(words)}"


def _of_lost(name: str, old: Fields, new: Fields) -> Iterator[str]:
    """The rows that a step lost for a reason."""
    if old == new:
        return
    how = (new or old)["how"].replace("_", " ")
    former, now = int(old.get("n", 0)), int(new.get("n", 0))
    if former == now:
        yield f"ledger: {now} rows as before are {how} by {name}, but others or otherwise"
    else:
        more = f"{now - former} rows more" if now > former else f"{former - now} rows fewer"
        yield f"ledger: {more} {how} by {name} ({former} -> {now})"


def _of_fields(old: Fields, new: Fields) -> list[str]:
    """What differs in the fields of one thing. Digests are only said to differ; everything else is quoted."""
    said: list[str] = []
    changed = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
    digests = [key for key in changed if new.get(key, old.get(key, "")).startswith("~")]
    for key in changed:
        former, now = old.get(key, "none"), new.get(key, "none")
        if former.startswith("*") and now.startswith("*"):
            said += _of_each(former, now)
        elif key not in digests:
            said.append(f"{key} {former} -> {now}")
    if "order" in digests and all(old.get(key) == new.get(key) for key in ("ids", "lines")):
        said.append("order changed")
    if "n" not in changed and (columns := [key for key in digests if key not in _SUMS]):
        said.append(f"{', '.join(columns)} changed")
    return said or ([f"{', '.join(digests)} changed"] if digests else [])


def _of_each(former: str, now: str) -> Iterator[str]:
    """How many of the digests of single values differ, if there are as many as before."""
    width = int(now[1 : now.index(":")])
    old, new = former[3:], now[3:]
    count = sum(old[at : at + width] != new[at : at + width] for at in range(0, len(new), width))
    if len(old) == len(new) and count:
        yield f"{count} of {len(new) // width} changed"


# --- items


@dataclass(frozen=True)
class _Items:
    """The items of a build in order: the id of each, the digest of each of its columns, and its source."""

    ids: tuple[str, ...]
    cells: tuple[dict[str, str], ...]
    places: tuple[str, ...]

    @classmethod
    def of(cls, record: Record, name: str) -> _Items:
        told = record.things["items", name]
        same = dict(pair.rsplit(":", 1) for pair in told["same"].split())
        columns, rows = told["columns"].split(), [text.split(" ", 3)[1:] for text in record.items[name]]
        cells = [
            same | {column: digests[2 * at : 2 * at + 2] for at, column in enumerate(columns)} for _, digests, _ in rows
        ]
        return cls(tuple(row[0] for row in rows), tuple(cells), tuple(row[2] for row in rows))


def _of_items(name: str, old: _Items, new: _Items) -> Iterator[str]:
    """Items that are new, gone, changed or elsewhere. Ids are made of contents: changed items are found by place."""
    here = {identity: at for at, identity in enumerate(new.ids)}
    pairs = [(at, here[identity]) for at, identity in enumerate(old.ids) if identity in here]
    gone = defaultdict[str, list[int]](list)
    known = set(old.ids)
    for at, identity in enumerate(old.ids):
        if identity not in here:
            gone[old.places[at]].append(at)
    added: list[int] = []
    for at, identity in enumerate(new.ids):
        if identity not in known:
            if former := gone[new.places[at]]:
                pairs.append((_nearest(old, former, new.cells[at]), at))
            else:
                added.append(at)
    yield from _of_pairs(name, old, new, pairs)
    lost = sorted(at for places in gone.values() for at in places)
    if lost:
        yield f"{name}: {len(lost)} of {len(old.ids)} gone {_where(old, lost)}"
    if added:
        yield f"{name}: {len(added)} new, now {len(new.ids)} {_where(new, added)}"
    pairs.sort()
    order = [at for _, at in pairs]
    if order != sorted(order):
        moved = len(order) - sum(
            block.size for block in SequenceMatcher(None, order, sorted(order), False).get_matching_blocks()
        )
        yield f"order of {name} changed: {moved} of {len(order)} moved"


def _nearest(old: _Items, former: list[int], cells: Mapping[str, str]) -> int:
    """Of the items that are gone, the one that shares the most columns; it is taken out."""
    best = max(former, key=lambda at: (sum(cells.get(key) == one for key, one in old.cells[at].items()), -at))
    former.remove(best)
    return best


def _of_pairs(name: str, old: _Items, new: _Items, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The columns in which items differ that are in both."""
    changed, counts = list[int](), Counter[str]()
    for former, now in pairs:
        here, there = old.cells[former], new.cells[now]
        keys = [key for key in dict.fromkeys([*here, *there]) if here.get(key) != there.get(key)]
        if keys or old.ids[former] != new.ids[now]:
            changed.append(former)
            counts.update(keys or ["id"])
    if changed:
        names = [key for key in dict.fromkeys([*old.cells[0], *new.cells[0], "id"]) if counts[key]]
        columns = ", ".join(key if counts[key] == len(changed) else f"{key} ({counts[key]})" for key in names)
        yield f"{name}: {len(changed)} of {len(old.ids)} changed: {columns} {_where(old, changed)}"


def _where(items: _Items, found: Sequence[int]) -> str:
    places = list(dict.fromkeys(items.places[at] for at in found))
    return f"({', '.join(places[:_PLACES])}{', ...' if len(places) > _PLACES else ''})"
