"""The data files of a static site: scripts that register data, so that pages opened from a folder can load them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchbuilder.core import escape_invisible, show_invisible
from benchbuilder.explorer.site.content import SiteItem, SiteRelease
from benchbuilder.explorer.site.search_keys import packed, search_index, shard_key, shard_of

LIST_SIZE = 200
"""Items in a shard of the list."""
_ITEMS_EACH = 16
"""Items in a shard of items, on average."""
_KEPT_EACH = 40
"""Items for which there is one shard of the search."""
_KIN = 20
"""Items of the same family that a page names."""
FACETS = ("task", "type", "source", "form", "expected", "split", "reviewed", "tag")


def shard_counts(release: SiteRelease) -> dict[str, int]:
    """How many shards there are of items, of the search, and of former items."""
    count = len(release.items)
    return {"i": _power_of_two(count // _ITEMS_EACH, 4096), "s": _power_of_two(count // _KEPT_EACH, 1024),
            "m": _power_of_two(len(release.former) // 200, 256)}  # fmt: skip


def _power_of_two(least: int, most: int) -> int:
    count = 1
    while count < min(least, most):
        count *= 2
    return count


def data_files(release: SiteRelease) -> Iterator[tuple[str, str]]:
    """Every data file as its name and its text; the names are those that the script of the site asks for."""
    counts = shard_counts(release)
    for start in range(0, len(release.items), LIST_SIZE):
        entries = [_list_entry(item) for item in release.items[start : start + LIST_SIZE]]
        yield _file(f"l/{start // LIST_SIZE}", entries)
    shards: list[dict[str, Any]] = [{} for _ in range(counts["i"])]
    for number, item in enumerate(release.items):
        shards[shard_of(item.id, counts["i"])][item.id] = _item_entry(release, number, item)
    for number, shard in enumerate(shards):
        yield _file(f"i/{number}", shard)
    yield from _search_files(release, counts["s"])
    for facet in FACETS:
        values = facet_values(release, facet)
        if len(values) > 1 or (facet == "tag" and values):
            yield _file(f"f/{facet}", {value: packed(numbers) for value, numbers in values.items()})
    moved: list[dict[str, Any]] = [{} for _ in range(counts["m"])]
    for former in release.former:
        moved[shard_of(former.id, counts["m"])][former.id] = [former.now, former.version, _shown(former.reason)]
    for number, shard in enumerate(moved):
        yield _file(f"m/{number}", shard)


def facet_values(release: SiteRelease, facet: str) -> dict[str, list[int]]:
    """The numbers of the items by each value of a facet."""
    found: dict[str, list[int]] = {}
    for number, item in enumerate(release.items):
        if facet == "tag":
            values: tuple[str, ...] = item.tags
        elif facet == "reviewed":
            values = ("yes" if item.reviewed else "no",)
        else:
            values = (str(getattr(item, facet)),)
        for value in values:
            if value:
                found.setdefault(value, []).append(number)
    return dict(sorted(found.items()))


def _list_entry(item: SiteItem) -> list[str]:
    """An item in the list: its id, what it asks, the other texts that a search looks at, its type and its source."""
    first, *others = item.searched or ("",)
    return [item.id, _shown(first), _shown("\n".join(others)), item.type, item.source]


def _item_entry(release: SiteRelease, number: int, item: SiteItem) -> dict[str, Any]:
    """Everything that the page of an item shows; what is empty is left out."""
    kin = [[other.id, _shown(other.asked)] for other in release.families.get(item.family, ())[: _KIN + 1]
           if other.id != item.id]  # fmt: skip
    entry: dict[str, Any] = {
        "n": number, **public_fields(item), "kin": kin[:_KIN],
        "evidence": [[passage.title or passage.document, passage.base, passage.text] for passage in item.evidence],
    }  # fmt: skip
    return {name: _shown_value(value) for name, value in entry.items() if value not in ("", [], (), {})}


def public_fields(item: SiteItem) -> dict[str, Any]:
    """The fields of an item that the site publishes, without its evidence."""
    return {
        "id": item.id, "task": item.task, "type": item.type, "source": item.source, "form": item.form,
        "language": item.language, "split": item.split, "expected": item.expected, "context": item.context,
        "question": item.question, "answer": item.answer, "answer_wrong": item.answer_wrong,
        "texts": [list(pair) for pair in item.texts], "tags": list(item.tags), "reviewed": item.reviewed,
        "origin": item.origin, "licence": item.licence,
    }  # fmt: skip


def _search_files(release: SiteRelease, count: int) -> Iterator[tuple[str, str]]:
    shards: list[dict[str, str]] = [{} for _ in range(count)]
    index = search_index([[_shown(text) for text in item.searched] for item in release.items])
    for key in sorted(index):
        shards[shard_of(shard_key(key), count)][key] = packed(index[key])
    for number, shard in enumerate(shards):
        yield _file(f"s/{number}", shard)


def _file(name: str, data: Mapping[str, Any] | list[Any]) -> tuple[str, str]:
    return f"data/{name}.js", f"benchbuilderSite({json.dumps(name)},{plain_json(data)});\n"


def plain_json(data: Any) -> str:
    """JSON without spaces, in which every character can be seen."""
    return escape_invisible(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def _shown(text: str) -> str:
    return show_invisible(text)


def _shown_value(value: Any) -> Any:
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, list):
        return [_shown_value(each) for each in value]  # type: ignore[reportUnknownVariableType]
    return value
