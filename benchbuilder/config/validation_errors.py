"""Explains the validation errors of pydantic in terms of recipes."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.recipe_index import did_you_mean
from benchbuilder.config.spec.model import Sampling
from benchbuilder.config.yaml_source import KeyPath, describe_value, dotted_key
from benchbuilder.core import Problem, head_excerpt

_SHOWN = 200
"""Most characters of a value that a message shows."""
_FEW = 3
"""Most keys that a hint names."""
REFERENCE_MARK = " (from "
"""What stands between a value and the reference that it comes from."""
_TYPE_NAMES = {
    "string": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "tuple": "a list",
    "list": "a list", "set": "a list", "frozen_set": "a list", "dict": "a mapping", "mapping": "a mapping",
    "date": "a date (YYYY-MM-DD)", "none": "null",
}  # fmt: skip
_REFERENCES = {"FileRef": "the path of a file", "PromptRef": "the path of a prompt, for instance xx/name.j2"}
_LIMITS = {
    "greater_than_equal": ("ge", "at least {}"), "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"), "less_than": ("lt", "less than {}"),
    "too_short": ("min_length", "at least {} entries"), "too_long": ("max_length", "at most {} entries"),
    "string_too_short": ("min_length", "at least {} characters"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_pattern_mismatch": ("pattern", "a text that matches {}"), "literal_error": ("expected", "{}"),
    "enum": ("expected", "{}"), "int_parsing_size": ("", "a whole number of at most 15 digits"),
}  # fmt: skip


def known_keys(cls: type[BaseModel]) -> list[str]:
    """The keys that YAML may hold for `cls`, in its order."""
    return [info.alias or name for name, info in cls.model_fields.items()]


def explain_validation(
    error: ValidationError, cls: type[BaseModel], raw: Mapping[str, Any], key: KeyPath, origins: ValueOrigins
) -> list[tuple[KeyPath, Problem]]:
    """One problem for each wrong key; `raw` is the data of `cls` at `key`."""
    grouped: dict[KeyPath, list[Any]] = {}
    for item in error.errors(include_url=False):
        grouped.setdefault(_path(item["loc"], raw), []).append(item)
    found: list[tuple[KeyPath, Problem]] = []
    for path, items in grouped.items():
        full = (*key, *path)
        first = items[0]
        if first["type"] == "extra_forbidden":
            problem = _extra(cls, path, full, origins, first["input"])
        elif first["type"] in ("missing", "missing_argument"):
            where = str(origins.written_origin(full[:-1]))
            problem = Problem("this key is missing", key=dotted_key(full), where=where, allowed=_hint_of(cls, path))
        elif first["type"] in ("value_error", "assertion_error"):
            text = first["msg"].partition(", ")[2] or first["msg"]
            problem = Problem(
                text,
                key=dotted_key(full),
                where=str(origins.origin_of(full)),
                actual=_display_value(first["input"], full, origins),
            )
        else:
            problem = _wrong_value(items, full, origins)
        found.append((full, problem))
    return found


def _path(loc: Sequence[int | str], raw: Any) -> KeyPath:
    """The part of a location that is a path in the data, without names of validators and union members."""
    path: list[int | str] = []
    here = raw
    for index, part in enumerate(loc):
        mapping, sequence = isinstance(here, Mapping), isinstance(here, list | tuple)
        if (mapping and part in here) or (sequence and isinstance(part, int) and part < len(here)):
            here = here[part]
        elif not (mapping and index == len(loc) - 1):
            continue
        path.append(part)
    return tuple(path)


def _members(annotation: Any) -> Iterable[Any]:
    """The members of a union, without Annotated."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _under(annotation: Any, part: int | str) -> Iterable[Any]:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            yield from (f.annotation for name, f in member.model_fields.items() if part in (name, f.alias))
        elif get_origin(member) in (dict, Mapping):
            yield get_args(member)[1]
        elif get_origin(member) in (tuple, list):
            yield get_args(member)[0]


def _models(cls: type[BaseModel], path: KeyPath) -> list[type[BaseModel]]:
    here: list[Any] = [cls]
    for part in path:
        here = [below for annotation in here for below in _under(annotation, part)]
    members = [member for annotation in here for member in _members(annotation)]
    return [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]


def _extra(cls: type[BaseModel], path: KeyPath, full: KeyPath, origins: ValueOrigins, value: Any) -> Problem:
    known = [name for model in _models(cls, path[:-1]) for name in known_keys(model)]
    name = str(full[-1])
    if full == ("recipe",):
        where, hint = str(origins.written_origin(full)), "keys are written without `recipe.`: language=xx, for instance"
        return Problem("`recipe` is the name of the recipe, and has no keys", key=name, where=where, hint=hint)
    if full == ("experiment",):
        where, hint = str(origins.written_origin(full)), "settings that belong together are a variant: variant=NAME"
        return Problem("there are no experiments", key=name, where=where, hint=hint)
    sampling, near, elsewhere = _sampling(full, origins, value), did_you_mean(name, known), _elsewhere(full, origins)
    hints = (
        (_how_many(full, origins, value), elsewhere, sampling, near) if len(full) == 1 else (sampling, near, elsewhere)
    )
    return Problem(
        "there is no such key", key=dotted_key(full), where=str(origins.written_origin(full)), actual=name,
        allowed=", ".join(known), hint=next(filter(None, hints), ""),
    )  # fmt: skip


def _how_many(full: KeyPath, origins: ValueOrigins, value: Any) -> str:
    """How to build so many items, where somebody gives a number under a name that others have for that."""
    counts = [("items",), ("max_items",), ("num_items",), ("limit",), ("n",), ("size",), ("count",), ("samples",)]
    if full not in counts or not isinstance(value, int) or ("steps", "items") not in origins.entries:
        return ""
    return f"steps.items.sample={value} takes {value} candidates, drawn at random"


def _elsewhere(full: KeyPath, origins: ValueOrigins) -> str:
    """The keys of the recipe that are named as a key that is none; those that the command line wrote do not count."""
    same = [
        key for key, origin in origins.entries.items() if key[-1] == full[-1] and key != full and not origin.override
    ]
    same.sort(key=len)
    return f"did you mean {' or '.join(map(dotted_key, same[:_FEW]))}?" if same else ""


def _sampling(full: KeyPath, origins: ValueOrigins, value: Any) -> str:
    """Where a sampling setting belongs that was written alone or below a model; empty if the key is none."""
    name, below = str(full[-1]), full[:-1]
    if name == "sampling" and isinstance(value, Mapping) and value:
        name, value = next(iter(value.items()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    close = get_close_matches(name, Sampling.model_fields, n=1, cutoff=0.6 if below else 1.0)
    if (below and below[-1] != "model") or not close:
        return ""
    steps = (str(key[1]) for key in origins.entries if key[:1] == ("steps",) and key[2:3] == ("sampling",))
    step = str(full[1]) if full[0] == "steps" else next(steps, "STEP")
    setting = f"sampling.{close[0]}={_display_value(value, full, origins)}"
    answers = "" if full[0] == "steps" else f"evaluation.{setting} is for answers to the questions, "
    return f"{answers}steps.{step}.{setting} is for a step of the build"


def _hint_of(cls: type[BaseModel], path: KeyPath) -> str:
    models = _models(cls, path[:-1])
    infos = [info for model in models for name, info in model.model_fields.items() if path[-1] in (name, info.alias)]
    for info in infos:
        for member in _members(info.annotation):
            if get_origin(member) is Literal:
                return ", ".join(map(str, get_args(member)))
            if isinstance(member, type):
                name = member.__name__
                return _REFERENCES.get(name) or _TYPE_NAMES.get({"str": "string"}.get(name, name), "")
            if get_origin(member) in (tuple, list, dict):
                return _TYPE_NAMES[get_origin(member).__name__]  # pyright: ignore[reportOptionalMemberAccess]
    return ""


def _wrong_value(items: Sequence[Any], full: KeyPath, origins: ValueOrigins) -> Problem:
    limits = [_limit(item) for item in items if item["type"] in _LIMITS]
    wants = list(dict.fromkeys(want for item in items if (want := _expected_value(item))))
    quoted = "a text" in wants or any("'" in limit for limit in limits)
    text = f"expected {' or '.join(wants)}"
    if not wants:
        text = "this value is not allowed" if limits else str(items[0]["msg"])
    value = items[0]["input"]
    return Problem(
        text, key=dotted_key(full), where=str(origins.origin_of(full)), actual=_display_value(value, full, origins),
        allowed=" or ".join(limits), hint=_how_many(full, origins, value) or _yaml_hint(value, full, origins, quoted),
    )  # fmt: skip


def _limit(item: Any) -> str:
    name, text = _LIMITS[item["type"]]
    return text.format(item.get("ctx", {}).get(name, ""))


def _expected_value(item: Any) -> str:
    kind = str(item["type"])
    if kind in _LIMITS:
        return ""
    if kind in ("model_type", "model_attributes_type", "dataclass_type"):
        return _REFERENCES.get(item.get("ctx", {}).get("class_name", ""), "a mapping")
    for suffix in ("_type", "_parsing", "_from_float", "_required"):
        if kind.endswith(suffix):
            return _TYPE_NAMES.get(kind.removesuffix(suffix), "")
    return ""


def _display_value(value: Any, key: KeyPath, origins: ValueOrigins) -> str:
    origin, written = origins.origin_of(key), origins.written_origin(key)
    if isinstance(value, Mapping | list | tuple):
        return describe_value(value)
    plain = (
        {None: "null", True: "true", False: "false"}.get(value) if value is None or isinstance(value, bool) else None
    )
    text = origin.text if origins.entries.get(key) is origin and origin.text else plain or str(value)
    text = head_excerpt(text, _SHOWN)
    return f"{text}{REFERENCE_MARK}{written.text})" if key in origins.links and written.text else text


def _yaml_hint(value: Any, key: KeyPath, origins: ValueOrigins, text_wanted: bool) -> str:
    origin = origins.origin_of(key)
    if value is None and key in origins.links:
        return f"give {dotted_key(origins.links[key][0])} a value"
    if not text_wanted or isinstance(value, str | list | tuple | Mapping) or not origin.is_plain or value is None:
        return ""
    read = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, bool) and origin.text.lower() not in ("true", "false"):
        return f'YAML reads {origin.text} as {read}: write "{origin.text}" in quotes'
    if read != origin.text:
        return f'YAML reads {origin.text} as the number {read}: write "{origin.text}" in quotes'
    return f'write "{origin.text}" in quotes'
