"""Reads classes: docstrings, the texts below their fields, and types in plain words."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, StringConstraints
from pydantic_core import PydanticUndefined

from benchbuilder.config.spec.base import DescriptiveField, FileRef, KeyedByStep, PromptRef, RuntimeOption, Slot
from benchbuilder.core.text.patterns import check_regex
from benchbuilder.sources.formats.tables import Column

_SCALARS = {str: "text", int: "integer", float: "number", bool: "true or false"}


def first_paragraph(cls: type[Any]) -> str:
    """The first paragraph of a class's own docstring, on one line."""
    return prose(cls).split("\n\n")[0]


def prose(cls: type[Any]) -> str:
    """A class's docstring as Markdown, its paragraphs on one line each."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return "\n\n".join(markdown(part) for part in text.split("\n\n"))


def markdown(text: str) -> str:
    """Docstring text as one line of Markdown: double backquotes become single ones."""
    return re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split()))


def cell(text: str) -> str:
    """A table cell."""
    return text.replace("|", "\\|")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table, or nothing if it has no rows."""
    names = list(header)
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(names)} |", "|" + " --- |" * len(names), *lines]) if lines else ""


@cache
def field_texts(cls: type[Any]) -> Mapping[str, str]:
    """The docstring of each field, base classes included."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("benchbuilder"):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                texts[field.target.id] = markdown(str(below.value.value))  # pyright: ignore[reportAttributeAccessIssue]
    return texts


def link(cls: type[Any]) -> str:
    """A nested spec, linked to its table."""
    sections = {
        "RunSpec": "run", "ToleranceSpec": "tolerate", "BudgetSpec": "budget", "CardSpec": "card",
        "EvaluationSpec": "evaluation", "AuditSpec": "audit", "ReleaseSpec": "release",
    }  # fmt: skip
    anchor = sections.get(cls.__name__, cls.__name__.lower())
    return f"[{cls.__name__}](#{anchor})"


def type_text(annotation: Any, marks: Iterable[Any] = ()) -> str:
    """A type in plain words."""
    bounds = _bounds(marks)
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return type_text(inner, more)
    if annotation is str and any(getattr(mark, "func", None) is check_regex for mark in marks):
        return "regular expression"
    return _plain(annotation) + (f" ({', '.join(bounds)})" if bounds else "")


def _plain(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if annotation is Any or annotation is None or annotation is type(None):
        return "null" if annotation is not Any else "any"
    if origin is Literal:
        return " or ".join(f"`{value}`" if value != "" else "empty" for value in arguments)
    if annotation == Column:
        return "column"
    if origin in (Union, types.UnionType) and get_args(Column)[0] in arguments:
        rest = [type_text(argument) for argument in arguments if argument not in get_args(Column)]
        return " or ".join(["column", *rest])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(type_text(argument) for argument in arguments))
    if origin is tuple:
        return f"list of {type_text(arguments[0])}"
    if origin in (dict, Mapping):
        return f"mapping of {type_text(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, PromptRef):
        return "prompt"
    if isinstance(annotation, type) and issubclass(annotation, FileRef):
        return "file"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return link(annotation)
    return str(annotation)


def _bounds(marks: Iterable[Any]) -> list[str]:
    limits: list[str] = []
    for mark in marks:
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if getattr(mark, name, None) is not None:
                limits.append(f"{sign} {getattr(mark, name)}")
        if isinstance(mark, StringConstraints):
            continue
        if getattr(mark, "min_length", None):
            limits.append("not empty" if mark.min_length == 1 else f"at least {mark.min_length}")
        if getattr(mark, "max_length", None) == 0:
            limits.append("empty")
        for inner in getattr(mark, "metadata", ()) or ():
            limits += _bounds([inner])
        if getattr(mark, "pattern", None):
            limits.append(f"matches `{mark.pattern}`")
    return list(dict.fromkeys(limits))


def spec_rows(cls: type[BaseModel], skip: Iterable[str] = ()) -> list[tuple[str, str, str, str]]:
    """Key, type, default and meaning of each field of a spec."""
    texts = field_texts(cls)
    rows: list[tuple[str, str, str, str]] = []
    for name, info in cls.model_fields.items():
        if name in skip:
            continue
        slot = next((mark for mark in info.metadata if isinstance(mark, Slot)), None)
        kind = _slot_text(slot, info.annotation) if slot else type_text(info.annotation, info.metadata)
        meaning = texts.get(name, "")
        if any(isinstance(mark, KeyedByStep) for mark in info.metadata):
            pass  # its own text says what counts
        elif any(isinstance(mark, DescriptiveField) for mark in info.metadata):
            meaning = f"{meaning} Describes only: not part of any key.".strip()
        elif any(isinstance(mark, RuntimeOption) for mark in info.metadata):
            meaning = f"{meaning} A runtime option: it changes nothing that is written.".strip()
        rows.append((f"`{info.alias or name}`", kind, _default(info), meaning))
    return rows


def _slot_text(slot: Slot, annotation: Any) -> str:
    article = {"annotation": "an annotation backend", "source": "a source", "step": "a step", "exporter": "an output"}
    one = article.get(slot.slot, f"a {slot.slot}")
    if get_origin(annotation) is dict:
        return f"mapping of names; each is {one}"
    return f"{one}, or null: the recipe's `{slot.inherit}`" if slot.inherit else one


def _default(info: Any) -> str:
    if info.is_required() or info.default is PydanticUndefined:
        return "*required*"
    value = info.default
    if isinstance(value, BaseModel):
        return "its own defaults"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return f"`{value}`" if value or value == 0 else "empty"


def nested(classes: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Every spec that is nested in another, in order of first use."""
    found: dict[type[BaseModel], None] = {}

    def look(annotation: Any) -> None:
        for argument in get_args(annotation):
            look(argument)
        is_spec = isinstance(annotation, type) and issubclass(annotation, BaseModel)
        if is_spec and not issubclass(annotation, FileRef) and annotation not in found:
            found[annotation] = None
            walk(annotation)

    def walk(cls: type[BaseModel]) -> None:
        for info in cls.model_fields.values():
            if not any(isinstance(mark, Slot) for mark in info.metadata):
                look(info.annotation)

    for cls in classes:
        walk(cls)
    return list(found)
