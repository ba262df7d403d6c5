"""Writes a static site of a release: pages, data files and the items as JSON lines."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from benchbuilder.config import display_path
from benchbuilder.core import (
    DataError,
    PageTexts,
    escape_invisible,
    make_folder_beside,
    move_into_place,
    show_invisible,
)
from benchbuilder.explorer.site.content import SiteItem, SiteRelease
from benchbuilder.explorer.site.search_keys import SIGNS, packed, search_index, shard_key, shard_of
from benchbuilder.web import layout_loader

_MARK = "site.json"
"""The file by which a later export knows that the folder is one of its own."""
_STYLES = ("tokens.css", "base.css")
_TEXTS = "site.script."
"""How the keys of the texts begin that the script needs."""


@dataclass(frozen=True)
class WrittenSite:
    """A site that was written: its folder, and how many files and bytes it has."""

    folder: Path
    files: int
    bytes: int


def write_site(release: SiteRelease, folder: Path, t: PageTexts) -> WrittenSite:
    """Write the site of a release into `folder`, in place of an earlier site.

    Raises:
        DataError: There is something else in the folder, or it is a link or a file.
    """
    if folder.is_symlink() or folder.is_file():
        raise DataError(
            f"{display_path(folder)} is a {'link' if folder.is_symlink() else 'file'}",
            where="command line: --export",
            why="the pages take the place of the folder, with all that is in it",
            next="name a new folder",
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise DataError(
            f"{display_path(folder)} holds other files than a site", where="command line: --export",
            why=f"there is no {_MARK} in it, which every site has", next="name a new folder",
        )  # fmt: skip
    working = make_folder_beside(folder)
    try:
        for name, text in _files(release, t):
            path = working / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        shutil.rmtree(folder, ignore_errors=True)
        move_into_place(working, folder)
    finally:
        shutil.rmtree(working, ignore_errors=True)
    written = [path for path in folder.rglob("*") if path.is_file()]
    return WrittenSite(folder, len(written), sum(path.stat().st_size for path in written))


def _files(release: SiteRelease, t: PageTexts) -> list[tuple[str, str]]:
    """Every file of the site as its name and its text."""
    pages = [release.items[start : start + LIST_SIZE] for start in range(0, len(release.items), LIST_SIZE)]
    shared: dict[str, Any] = {"t": t, "release": release, "pages": pages}
    found = [
        (_MARK, plain_json({"name": release.name, "version": release.version, "items": len(release.items)}) + "\n"),
        ("site.css", "".join(_asset(name) for name in (*_STYLES, "site.css"))),
        ("site.js", _asset("site.js").replace("SIGNS_OF_SCRIPTS", SIGNS.replace("\\", "\\\\"))),
        ("data/meta.js", f'benchbuilderSite("meta",{plain_json(_meta(release, t))});\n'),
        ("index.html", _render("index.j2", here="items", up="", **shared)),
        ("card.html", _render("card.j2", here="card", up="", card=_card(release.card), **shared)),
        ("items.jsonl", "".join(f"{plain_json(public_fields(item))}\n" for item in release.items)),
    ]
    for number, items in enumerate(pages, start=1):
        page = _render("list.j2", here="list", up="../", items=items, number=number, **shared)
        found.append((f"list/{number}.html", page))
    return [*found, *data_files(release)]


def _meta(release: SiteRelease, t: PageTexts) -> dict[str, Any]:
    """What the script must know before it loads anything else."""
    facets: list[dict[str, Any]] = []
    for facet in FACETS:
        values = facet_values(release, facet)
        if len(values) > 1 or (facet == "tag" and values):
            listed = [[value, value_label(t, facet, value), len(numbers)] for value, numbers in values.items()]
            facets.append({"name": facet, "label": t(f"site.facet.{facet}"), "values": listed})
    labels = {facet: {value: value_label(t, facet, value) for value in facet_values(release, facet)}
              for facet in ("type", "form", "expected", "reviewed")}  # fmt: skip
    return {
        "items": len(release.items), "list": LIST_SIZE, "shards": shard_counts(release), "facets": facets,
        "labels": labels, "version": release.version, "name": release.name, "title": release.title,
        "language": t.language, "kinds": {kind: t.get(f"site.kind.{kind}", kind) for kind in release.kinds},
        "report": report_target(release.contact), "texts": t.starting(_TEXTS),
    }  # fmt: skip


def value_label(t: PageTexts, facet: str, value: str) -> str:
    """What the pages call a value of a facet."""
    return show_invisible(t.get(f"site.value.{facet}.{value}", value))


def _card(markdown: str) -> Markup:
    """The card as HTML without raw HTML, pictures and styles."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(show_invisible(markdown))
    for token in tokens:
        if token.attrs.pop("style", "") == "text-align:right":
            token.attrSet("class", "number")
    html = parser.renderer.render(tokens, parser.options, {})
    for name in ("pre", "table"):  # what scrolls sideways can be reached by keyboard
        html = html.replace(f"<{name}>", f'<{name} tabindex="0">')
    return Markup(html)


def _asset(name: str) -> str:
    package = "benchbuilder.web" if name in _STYLES else "benchbuilder.explorer.site"
    return files(package).joinpath("static", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("benchbuilder.explorer.site", "templates"), layout_loader()]),
        undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    filters: dict[str, Any] = environment.filters
    filters.update(shown=show_invisible)
    names: dict[str, Any] = environment.globals
    names["label"] = value_label
    return environment


def _render(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(**context)


_GITHUB = re.compile(r"(https://github\.com/[\w.-]+/[\w.-]+?)(?:\.git|/issues(?:/new)?)?/?\Z")
_HUB = re.compile(r"(https://huggingface\.co/datasets/[\w.-]+/[\w.-]+)/discussions/?\Z")
_GITLAB = re.compile(r"(https://gitlab\.[\w.-]+/[\w./-]+?)(?:\.git|/-/issues(?:/new)?)?/?\Z")


def report_target(contact: str) -> dict[str, str]:
    """How the script makes an address for a report: `kind`, the `address`, and the names of title and text in it.

    >>> report_target("https://github.com/me/bench/issues")["address"]
    'https://github.com/me/bench/issues/new'
    >>> report_target("bench@example.org")["kind"], report_target("https://example.org/x")["kind"]
    ('mail', 'page')
    >>> report_target("")
    {'kind': 'none', 'address': ''}
    """
    if match := _GITHUB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/issues/new", "title": "title", "text": "body"}
    if match := _GITLAB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/-/issues/new", "title": "issue[title]",
                "text": "issue[description]"}  # fmt: skip
    if match := _HUB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/discussions/new", "title": "title", "text": "description"}
    if contact.startswith(("https://", "http://")):
        return {"kind": "page", "address": contact}
    return {"kind": "mail", "address": contact} if contact else {"kind": "none", "address": ""}


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
