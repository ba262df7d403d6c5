"""Renders the Jinja templates of exporters, with values escaped for HTML or Markdown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from benchbuilder.core import DEFAULT_LANGUAGE, PageTexts, directed_parts, page_texts, replace_steering_characters
from benchbuilder.exporters.render.compiled_templates import CompiledTemplates
from benchbuilder.web import layout_loader

_KEPT_CONTROLS = frozenset("\n\t\r")
_WEB = re.compile(r"https?://[^\s<>()\"'\\]+\Z")


def is_web_address(text: str) -> bool:
    """Whether `text` is an http or https address without characters that end a link.

    >>> is_web_address("https://example.org/a"), is_web_address("javascript:alert(1)")
    (True, False)
    """
    return _WEB.match(text) is not None


def markdown_text(value: object) -> str:
    r"""`value` as plain text within one line of Markdown: no markup, no HTML, no table cell ends.

    >>> markdown_text("a | <b> *c*")
    'a \\| &lt;b&gt; \\*c\\*'
    """
    if isinstance(value, Markup):
        return str(value)
    text = " ".join(str(value).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", text)
    return re.sub(r"\A(\d+)([.)]) |\A([-+=])", lambda m: f"{m[1]}\\{m[2]} " if m[1] else f"\\{m[3]}", text)


def visible_text(text: str) -> str:
    r"""`text` with U+FFFD for what steers a page instead of being read: controls, and marks that turn its
    direction; joiners and other parts of the spelling stay.

    >>> visible_text("a\x1b[2J\u202eb")
    'a\ufffd[2J\ufffdb'
    """
    return replace_steering_characters(text, _KEPT_CONTROLS)


def directed_text(text: str) -> Markup:
    """`text` as HTML in which marks of options, options and fields keep their own direction, if one runs right to left.

    >>> directed_text("\u0628 | A. <5")
    Markup('<span class="own">\u0628</span> | <span class="own">A.</span> <span class="own">&lt;5</span>')
    """
    forms = {True: Markup('<span class="own">{}</span>'), False: Markup("{}")}
    return Markup("").join(forms[own].format(part) for part, own in directed_parts(text))


def code_spans(text: str) -> Markup:
    """`text` as HTML with what stands between backticks as code.

    >>> code_spans("`a` < b")
    Markup('<code>a</code> &lt; b')
    """
    parts = text.split("`")
    spans = (Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts))
    return Markup("").join(spans)


def markdown_link(title: str, url: str) -> Markup:
    """A Markdown link, or plain text if `url` is no web address."""
    if is_web_address(url):
        return Markup(f"[{markdown_text(title)}]({url})")
    return Markup(markdown_text(f"{title} ({url})" if url else title))


def code_block(text: str) -> Markup:
    """`text` as a code block whose fence does not occur in it."""
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * max(3, *(length + 1 for length in runs), 3)
    return Markup(f"{fence}text\n{text.strip()}\n{fence}")


def render_html(template: str, packages: Sequence[str] = (), **context: Any) -> str:
    """The HTML `template` with `context`; every value is escaped unless it is Markup.

    `packages` are searched for templates before those of the report.
    """
    environment = _environment(packages, context, autoescape=True)
    return environment.get_template(template).render(**{"languages": (), **context})


def render_markdown(template: str, packages: Sequence[str] = (), **context: Any) -> str:
    """The Markdown `template` with `context`; every value is made plain text unless it is Markup.

    `packages` are searched for templates before those of the report.
    """
    environment = _environment(packages, context, autoescape=False, finalize=markdown_text)
    return environment.get_template(template).render(**context)


@lru_cache(maxsize=16)
def _digest(t: PageTexts) -> str:
    return hashlib.sha256(repr(sorted(t.starting("").items())).encode()).hexdigest()


def _environment(packages: Sequence[str], context: Mapping[str, Any], **options: Any) -> Environment:
    """The environment of a page; numbers are written as in the language of its texts."""
    t = next((value for value in context.values() if isinstance(value, PageTexts)), page_texts(DEFAULT_LANGUAGE))
    compiled_by = repr((t.language, _digest(t), options.get("autoescape"), "finalize" in options))
    environment = Environment(
        bytecode_cache=CompiledTemplates(compiled_by),
        loader=ChoiceLoader([*map(PackageLoader, (*packages, "benchbuilder.exporters.report")), layout_loader()]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
    filters: dict[str, Any] = environment.filters
    filters.update(
        n=t.number,
        pct=t.percent,
        usd=t.dollars,
        date=t.date,
        link=markdown_link,
        fenced=code_block,
        code_spans=code_spans,
        seen=visible_text,
        directed=directed_text,
    )
    tests: dict[str, Any] = environment.tests
    tests["web_address"] = is_web_address
    return environment
