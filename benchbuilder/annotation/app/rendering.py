"""Renders Jinja templates and Markdown; every value is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from benchbuilder.annotation.database.sanitise import value_as_typed
from benchbuilder.core import directed_parts
from benchbuilder.web import asset_url, layout_loader


@lru_cache(maxsize=64)
def render_markdown(text: str) -> Markup:
    """`text` as HTML without raw HTML and images; links open in a new tab.

    >>> render_markdown("**a** <b>")
    Markup('<p><strong>a</strong> &lt;b&gt;</p>\\n')
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.add_render_rule("link_open", _link)
    return Markup(parser.render(text))


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer")
    return self.renderToken(tokens, index, options, env)


def html_timestamp(moment: datetime) -> str:
    """A time in UTC for HTML attributes and scripts."""
    return _utc(moment).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def display_time(moment: datetime) -> str:
    """A time in UTC for people; scripts convert it to local time."""
    return _utc(moment).strftime("%Y-%m-%d %H:%M UTC")


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("benchbuilder.annotation.app", "templates"), layout_loader()]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Any] = environment.filters
    filters.update(
        markdown=render_markdown,
        value=value_as_typed,
        stamp=html_timestamp,
        clock=display_time,
        directed_parts=directed_parts,
    )
    environment.globals["asset"] = partial(asset_url, "benchbuilder.annotation.app")
    return environment


def render_template(template: str, **context: Any) -> str:
    """The `template` with `context`."""
    return _environment().get_template(template).render(**context)
