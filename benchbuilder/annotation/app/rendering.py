"""Jinja templates of the pages, and guidelines from Markdown; every value is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from benchbuilder.annotation.database.sanitise import as_typed


@lru_cache(maxsize=64)
def markdown(text: str) -> Markup:
    """`text` as HTML: no raw HTML, no pictures, links open beside the work.

    >>> markdown("**a** <b>")
    Markup('<p><strong>a</strong> &lt;b&gt;</p>\\n')
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.add_render_rule("link_open", _link)
    return Markup(parser.render(text))


def _link(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    tokens[at].attrSet("target", "_blank")
    tokens[at].attrSet("rel", "noopener noreferrer")
    return self.renderToken(tokens, at, options, env)


def stamp(at: datetime) -> str:
    """A time in UTC as HTML and scripts read it."""
    return _utc(at).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def clock(at: datetime) -> str:
    """A time in UTC for people; scripts replace it by the time where they are."""
    return _utc(at).strftime("%Y-%m-%d %H:%M UTC")


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


@cache
def asset(name: str) -> str:
    """The address of a static file, with a hash of its content so that browsers may keep it."""
    content = files("benchbuilder.annotation.app").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.blake2b(content, digest_size=6).hexdigest()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("benchbuilder.annotation.app", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Any] = environment.filters
    filters.update(markdown=markdown, value=as_typed, stamp=stamp, clock=clock)
    environment.globals["asset"] = asset
    return environment


def render(template: str, **context: Any) -> str:
    """The `template` with `context`."""
    return _environment().get_template(template).render(**context)
