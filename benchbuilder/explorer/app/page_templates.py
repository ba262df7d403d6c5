"""Renders the templates of the explorer; every value is escaped, and characters that hide or turn text are shown."""

from __future__ import annotations

from functools import cache, partial
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from benchbuilder.core import directed_parts, printable_text
from benchbuilder.explorer.app.marking import marked_pieces
from benchbuilder.web import asset_url, layout_loader

_OWN = "benchbuilder.explorer.app"


def path_part(text: object) -> str:
    """`text` as one part of an address.

    >>> path_part("a/b c")
    'a%2Fb%20c'
    """
    return quote(str(text), safe="")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(_OWN, "templates"), layout_loader()]), undefined=StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    filters: dict[str, Any] = environment.filters
    filters.update(part=path_part, printable=printable_text, directed_parts=directed_parts, marked=marked_pieces)
    environment.globals["asset"] = partial(asset_url, _OWN)
    return environment


def render_page(template: str, **context: Any) -> str:
    """The `template` with `context`."""
    return _environment().get_template(template).render(**context)
