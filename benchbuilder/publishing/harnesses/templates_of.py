"""Fills the templates of exported files. Every value goes through the encoder of its target, or no file is made."""

from __future__ import annotations

import json
import re
from functools import cache

import jinja2

from benchbuilder.core import DataError

_PLAIN = re.compile(r"[\w-][\w.-]*")
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~])")
_BREAKS = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff]")


class Encoded(str):
    """A text that its target reads as it was meant."""


def plain(text: str) -> Encoded:
    """A name, for any target; DataError if there is more in it than letters, digits, `-`, `.` and `_`."""
    if not _PLAIN.fullmatch(text):
        raise DataError(
            "this cannot be a name in a program or a file", where=repr(text[:100]),
            why="programs and files of the export carry it", next="rename it where it comes from, and export again",
        )  # fmt: skip
    return Encoded(text)


def python_literal(value: object) -> Encoded:
    """A literal of Python."""
    return Encoded(repr(value))


def yaml_scalar(text: str) -> Encoded:
    """A scalar of YAML: text is quoted, and what YAML takes for a line break is escaped."""
    return Encoded(_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)))


def markdown_text(text: str) -> Encoded:
    """A line of Markdown that shows these characters."""
    return Encoded(_MARKS.sub(r"\\\1", " ".join(text.split())))


def jinja_text(text: str) -> str:
    """A template that gives this text, for harnesses that take a setting as one; it is no encoding yet."""
    return text.replace("{", "{{ '{' }}")


def verbatim(text: str) -> Encoded:
    """Text of our own: a program, or what a template here gave."""
    return Encoded(text)


ENCODERS = {
    "plain": plain, "python": python_literal, "yaml": yaml_scalar, "markdown": markdown_text, "verbatim": verbatim,
}  # fmt: skip


def render(template: str, **values: object) -> Encoded:
    """The text of a template in the folder ``templates``, with `values`; each is needed."""
    return Encoded(_environment().get_template(template).render(**values))


def environment() -> jinja2.Environment:
    """How templates are read: an expression is a number, or ends with one of the encoders."""
    made = jinja2.Environment(  # these files are programs, YAML and Markdown
        loader=jinja2.PackageLoader("benchbuilder.publishing.harnesses"), autoescape=False, finalize=_encoded,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= {**ENCODERS, "jinja": jinja_text}
    return made


_environment = cache(environment)


def _encoded(value: object) -> object:
    if isinstance(value, Encoded | int):
        return value
    raise TypeError(f"a template of an export gives {value!r}, which no encoder has seen")
