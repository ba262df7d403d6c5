"""Sentence templates: text with placeholders in braces, filled by known names only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from benchbuilder.core.records.row import Span

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def placeholders(template: str) -> list[str]:
    """The names in braces, in order.

    >>> placeholders("{head} causes {tail}")
    ['head', 'tail']
    """
    return _PLACEHOLDER.findall(template)


_QUOTES = {"“": "”‘’", "«": "»“”", "„": "“‚‘", "»": "«›‹", "「": "」『』"}


def inner_quotes(text: str, template: str) -> str:
    """`text` with the inner quotation marks of its language where `template` puts outer ones around its first place.

    >>> inner_quotes("“蜘蛛痣”见于", "缺什么？“{left}……”"), inner_quotes("Das „Auge“", "Stimmt „{claim}“?")
    ('‘蜘蛛痣’见于', 'Das ‚Auge‘')
    """
    first = _PLACEHOLDER.search(template)
    opening = template[first.start() - 1] if first and first.start() else ""
    if opening not in _QUOTES:
        return text
    closing, *inner = _QUOTES[opening]
    return text.translate(str.maketrans({opening: inner[0], closing: inner[1]}))


def template_faults(template: str, allowed: Collection[str]) -> list[str]:
    """The faults of `template`: unknown names, stray braces.

    >>> template_faults("{head} is {x}", ["head"])
    ['unknown placeholder {x}']
    """
    faults = [f"unknown placeholder {{{name}}}" for name in placeholders(template) if name not in allowed]
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        faults.append("a brace that belongs to no placeholder")
    return faults


def fill_template(template: str, values: Mapping[str, str]) -> tuple[str, dict[str, Span]]:
    """`template` with each ``{name}`` replaced, and the first place of each value.

    Braces in values have no meaning. A name without a value raises KeyError.

    >>> fill_template("{a} is {b}.", {"a": "{b}", "b": "1"})
    ('{b} is 1.', {'a': Span(start=0, end=3), 'b': Span(start=7, end=8)})
    """
    text, spans, at = "", dict[str, Span](), 0
    for match in _PLACEHOLDER.finditer(template):
        name = match.group(1)
        text += template[at : match.start()]
        spans.setdefault(name, Span(start=len(text), end=len(text) + len(values[name])))
        text += values[name]
        at = match.end()
    return text + template[at:], spans
