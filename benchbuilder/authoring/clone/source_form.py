"""The requested sources and options of a copy: a form for each source, and warnings about what may not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from benchbuilder.authoring.clone.parts import RecipeParts
from benchbuilder.authoring.clone.text_lines import read_text_lines
from benchbuilder.config import OPEN_PLACE, LoadedRecipe
from benchbuilder.core import (
    InstallationError,
    Problem,
    RecipeError,
    ScriptCounts,
    find_kind,
    kinds_of_slot,
    payload_kind,
)
from benchbuilder.pipeline import source_references
from benchbuilder.sources import Source

_CARD_FIELDS = ("title", "licence")
"""Fields of a source that every card needs and nobody can guess."""
_SCRIPT_PROPORTION = 0.05
"""The proportion of another script in an option that matters: some of the text is names of settings."""


def source_template(source_argument: str, folder: str) -> tuple[str, str]:
    """The name of the source ``NAME:KIND``, and a form for it in YAML; its file may be in `folder`.

    RecipeError for arguments of another form; InstallationError for an unknown kind.
    """
    name, colon, kind = source_argument.partition(":")
    if not (colon and kind and name.isidentifier() and name.islower()):
        hint = "for instance `--source questions:multiple_choice`"
        where = f"--source {source_argument}"
        raise RecipeError([Problem("a source is a name and a kind", where=where, allowed="NAME:KIND", hint=hint)])
    if "=" in kind:
        kind, _, path = kind.partition("=")
        hint = f"give `--source {name}:{kind}`, put {path} beside the recipe and name it there; or leave --from out"
        problem = Problem(
            "a file is copied only into a new recipe, not with --from", where=f"--source {source_argument}", hint=hint
        )
        raise RecipeError([problem])
    source: Any = find_kind("source", kind).load()
    spec: type[BaseModel] = source.spec_class
    file = f"{name}.txt, a paragraph a line, or {name}.csv"
    file = file if getattr(source, "default_format", None) == "text" else f"{name}.csv"
    lines = [f"  {name}:", f"    kind: {kind}"]
    fields = {info.alias or field: info for field, info in spec.model_fields.items() if field != "kind"}
    chosen = [names[0] for names in getattr(spec, "either", ())]
    needed = {field: info for field, info in fields.items() if info.is_required() or field in {*_CARD_FIELDS, *chosen}}
    needed = dict(sorted(needed.items(), key=lambda pair: pair[0] in _CARD_FIELDS))
    for field, info in needed.items():
        hint = f" # a file beside the recipe, for instance {folder}/{file}" if field == "path" else _example(info)
        lines += _field(field, info, "    ", hint)
    lines.append("    # other settings of this kind, with their defaults:")
    lines += [f"    # {_default(field, info)}" for field, info in fields.items() if field not in needed]
    return name, "\n".join(lines)


def _example(info: FieldInfo) -> str:
    return f" # for instance {info.examples[0]}" if info.examples else ""


def _field(name: str, info: FieldInfo, indent: str, hint: str = "") -> Iterator[str]:
    parts = [part for part in get_args(info.annotation) if part is not NoneType]
    inner: Any = parts[0] if len(parts) == 1 else info.annotation
    if not (isinstance(inner, type) and issubclass(inner, BaseModel)) or name == "path":
        choices = parts if get_origin(info.annotation) is Literal else get_args(inner)
        yield f"{indent}{name}: {OPEN_PLACE}{hint or _one_of(choices)}"
        return
    yield f"{indent}{name}:"
    either: dict[str, tuple[str, ...]] = {names[0]: names[1:] for names in getattr(inner, "either", ())}
    for field, below in inner.model_fields.items():
        child = below.alias or field
        if below.is_required() or child in either:
            others = "".join(f" # or {other}:" for other in either.get(child, ()))
            yield from _field(child, below, f"{indent}  ", others)
        else:
            yield f"{indent}  # {_default(child, below)}"


def _one_of(choices: Sequence[Any]) -> str:
    """The values that a key may have, as a comment; empty if it may have any."""
    named = choices and all(isinstance(choice, str) for choice in choices)
    return f" # {', '.join(choices[:-1])} or {choices[-1]}" if named else ""


def _default(name: str, info: FieldInfo) -> str:
    value: Any = info.get_default(call_default_factory=True)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return f"{name}:"
    plain = list(value) if isinstance(value, tuple | frozenset) else value  # pyright: ignore[reportUnknownArgumentType]
    return yaml.safe_dump({name: plain}, default_flow_style=True, allow_unicode=True, width=1000).strip()[1:-1]


def unread_sources(source_arguments: Sequence[str], loaded: LoadedRecipe) -> Iterator[Problem]:
    """Warnings about requested sources (``NAME:KIND``) whose rows no step of the original reads."""
    refs = source_references(loaded.recipe)
    for argument in source_arguments:
        name, _, kind = argument.partition(":")
        if f"sources.{name}" in refs or _fits(kind, refs):
            continue
        yield Problem(
            f"no step of {loaded.recipe.name} reads a source of this kind",
            where=f"--source {argument}",
            actual=f"the steps read {', '.join(refs)}",
            allowed=", ".join(name for name in kinds_of_slot("source") if _fits(name, refs, unsure=False)),
            hint="take one of these kinds, copy another recipe, or change `from` of the steps",
        )


def _fits(kind: str, refs: Sequence[str], *, unsure: bool = True) -> bool:
    """Whether steps read rows of the kind; `unsure` if the recipe defines its rows, or it cannot be loaded."""
    try:
        source: type[Source] = find_kind("source", kind).load()
    except InstallationError:
        return unsure
    row = getattr(source, "output", None)
    if row is None or source.row_class.__func__ is not Source.row_class.__func__:
        return unsure
    return not {f"sources.{row.name}", f"sources.{payload_kind(row)}"}.isdisjoint(refs)


def options_in_other_script(options: Sequence[str], parts: RecipeParts, terms: Iterable[str]) -> Iterator[Problem]:
    """Warnings about requested options in another script than the word lists of the original."""
    expected = ScriptCounts(terms).main_script
    for option in options:
        script = _dominant_script(parts.files[option].path)
        if expected and script and script != expected:
            group, _, name = option.partition("/")
            others = (other for other in parts.library.option_names(group) if other.startswith(f"{name}_"))
            yield Problem(
                f"this option is in another script than the word list of {parts.recipe.removeprefix('recipe/')}",
                where=f"--also {option}", actual=script.lower(), allowed=expected.lower(),
                hint=" or ".join(f"--also {group}/{other}" for other in others),
            )  # fmt: skip


def _dominant_script(file: Path) -> str:
    """The main script beyond plain ASCII in a file of words and settings; empty if there is hardly any."""
    lines = read_text_lines(file)
    script = ScriptCounts("".join(c for c in text if not c.isascii()) for _, text in lines).main_script
    return script if ScriptCounts(text for _, text in lines).proportion(script) >= _SCRIPT_PROPORTION else ""
