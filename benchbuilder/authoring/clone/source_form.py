"""What a recipe writes of a source of some kind, as a form to fill in: made from the kind's own spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from benchbuilder.authoring.clone.edit_yaml import OPEN_PLACE
from benchbuilder.core import Problem, RecipeError, find_kind

_CARD_FIELDS = ("title", "licence")
"""What the card says of every source, and nobody can guess."""


def source_template(source_argument: str, folder: str) -> tuple[str, str]:
    """Name and YAML lines of the source that ``NAME:KIND`` asks for; `folder` is where its file may lie.

    RecipeError if the word has another shape; InstallationError if there is no such kind.
    """
    name, colon, kind = source_argument.partition(":")
    if not (colon and kind and name.isidentifier() and name.islower()):
        hint = "for instance `--source questions:multiple_choice`"
        problem = Problem(
            "a source is a name and a kind", where=f"--source {source_argument}", allowed="NAME:KIND", hint=hint
        )
        raise RecipeError([problem])
    source: Any = find_kind("source", kind).load()
    spec: type[BaseModel] = source.spec_class
    file = f"{name}.txt, a paragraph a line, or {name}.csv"
    file = file if getattr(source, "default_format", None) == "text" else f"{name}.csv"
    lines = [f"  {name}:", f"    kind: {kind}"]
    fields = {field: info for field, info in spec.model_fields.items() if field != "kind"}
    needed = {field: info for field, info in fields.items() if info.is_required() or field in _CARD_FIELDS}
    needed = dict(sorted(needed.items(), key=lambda pair: pair[0] in _CARD_FIELDS))
    for field, info in needed.items():
        hint = f" # a file beside the recipe, for instance {folder}/{file}" if field == "path" else ""
        lines += _field(field, info, "    ", hint)
    lines.append("    # what else a source of this kind may say, with what holds where it says nothing:")
    lines += [f"    # {_default(field, info)}" for field, info in fields.items() if field not in needed]
    return name, "\n".join(lines)


def _field(name: str, info: FieldInfo, indent: str, hint: str = "") -> Iterator[str]:
    inner: Any = info.annotation
    if not (isinstance(inner, type) and issubclass(inner, BaseModel)) or name == "path":
        yield f"{indent}{name}: {OPEN_PLACE}{hint}"
        return
    yield f"{indent}{name}:"
    either: dict[str, tuple[str, ...]] = {names[0]: names[1:] for names in getattr(inner, "either", ())}
    for child, below in inner.model_fields.items():
        if below.is_required() or child in either:
            others = "".join(f" # or {other}:" for other in either.get(child, ()))
            yield from _field(child, below, f"{indent}  ", others)
        else:
            yield f"{indent}  # {_default(child, below)}"


def _default(name: str, info: FieldInfo) -> str:
    value: Any = info.get_default(call_default_factory=True)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return f"{name}:"
    plain = list(value) if isinstance(value, tuple | frozenset) else value  # pyright: ignore[reportUnknownArgumentType]
    return yaml.safe_dump({name: plain}, default_flow_style=True, allow_unicode=True, width=1000).strip()[1:-1]
