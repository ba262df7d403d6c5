"""Writes a static site of a release: pages, data files and the items as JSON lines."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from benchbuilder.config import display_path
from benchbuilder.core import DataError, PageTexts, make_folder_beside, move_into_place, show_invisible
from benchbuilder.explorer.site.content import SiteRelease
from benchbuilder.explorer.site.data_files import (
    FACETS,
    LIST_SIZE,
    data_files,
    facet_values,
    plain_json,
    public_fields,
    shard_counts,
)
from benchbuilder.explorer.site.report_address import report_target
from benchbuilder.explorer.site.search_keys import SIGNS
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
