"""A JSON Schema of recipe files, for editors."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from benchbuilder.config.spec.base import FileRef, Slot
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core import SLOTS, InstallationError, kinds_of_slot

JsonSchema = dict[str, Any]

_REFERENCE: JsonSchema = {"type": "string", "pattern": r"\$\{.+\}|^\?\?\?$"}
_PORT_REFS: JsonSchema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def recipe_schema() -> JsonSchema:
    """The schema. A recipe file is partial, so nothing is required; every value may be ``${...}`` or ``???``.

    A node that names its `kind` is checked against the keys of that kind; a kind that cannot be imported (an extra
    is missing) is named and its keys are left open.
    """
    definitions: JsonSchema = {slot: _nodes(slot) for slot in SLOTS if slot != "payload"}
    for slot in tuple(definitions):
        for name, kind in kinds_of_slot(slot).items():
            try:
                cls = kind.load().spec_class
            except InstallationError:
                definitions[f"{slot}.{name}"] = {"type": "object", "$comment": f"{kind.distribution}: not importable"}
                continue
            definitions[f"{slot}.{name}"] = _object(cls, definitions)
    top = _object(Recipe, definitions)
    top["properties"]["defaults"] = {
        "type": "array",
        "description": "What this file starts from; later entries win.",
        "items": {"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1}]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "benchbuilder recipe",
        **top,
        "$defs": definitions,
    }


def _nodes(slot: str) -> JsonSchema:
    """A node of any kind of `slot`, told apart by its `kind`."""
    names = list(kinds_of_slot(slot))
    cases = [
        {
            "if": {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": {"$ref": f"#/$defs/{slot}.{name}"},
        }
        for name in names
    ]
    return {"type": ["object", "null", "string"], "properties": {"kind": {"enum": names}}, "allOf": cases}


def _object(cls: type[BaseModel], definitions: JsonSchema) -> JsonSchema:
    """The keys of a spec, none required."""
    properties: JsonSchema = {}
    for name, info in cls.model_fields.items():
        slot = next((mark.slot for mark in info.metadata if isinstance(mark, Slot)), "")
        if name == "kind":
            schema: JsonSchema = {"type": "string"}
        elif name == "from_":
            schema = {"anyOf": [*_PORT_REFS["anyOf"], {"type": "object", "additionalProperties": _PORT_REFS}]}
        elif slot:
            schema = {"$ref": f"#/$defs/{slot}"}
            if get_origin(info.annotation) is dict:
                schema = {"type": "object", "additionalProperties": schema}
        else:
            schema = _value(info.annotation, definitions)
        if info.description:
            schema = {**schema, "description": info.description}
        properties[info.alias or name] = schema
    described = {"description": (cls.__doc__ or "").strip().split("\n\n")[0]}
    return {"type": "object", **described, "properties": properties, "additionalProperties": False}


def _value(annotation: Any, definitions: JsonSchema) -> JsonSchema:
    """What may stand for a value of this type."""
    if get_origin(annotation) is Annotated:
        return _value(get_args(annotation)[0], definitions)
    if get_origin(annotation) in (Union, types.UnionType):
        return {"anyOf": [_value(member, definitions) for member in get_args(annotation)]}
    if annotation is Any:
        return {}
    if annotation is type(None):
        return {"type": "null"}
    if isinstance(annotation, type) and issubclass(annotation, FileRef):
        return {"type": "string"}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _definition_ref(annotation, definitions)
    if get_origin(annotation) in (dict, Mapping):
        return {"type": "object", "additionalProperties": _value(get_args(annotation)[1], definitions)}
    if get_origin(annotation) in (tuple, list, frozenset):
        return {"anyOf": [{"type": "array", "items": _value(get_args(annotation)[0], definitions)}, _REFERENCE]}
    return {"anyOf": [_scalar(annotation), _REFERENCE]}


def _definition_ref(cls: type[BaseModel], definitions: JsonSchema) -> JsonSchema:
    """A reference to the schema of a nested spec; texts are let through, for specs that may be written short."""
    name = cls.__name__
    if name not in definitions:
        definitions[name] = {}
        definitions[name] = {**_object(cls, definitions), "type": ["object", "string"]}
    return {"$ref": f"#/$defs/{name}"}


def _scalar(annotation: Any) -> JsonSchema:
    from pydantic import TypeAdapter

    return TypeAdapter(annotation).json_schema(schema_generator=GenerateJsonSchema)
