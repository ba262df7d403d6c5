"""The key of a step: a hash of everything that shapes its rows, as parts with readable names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchbuilder.config import FileRef, KindSpec, RuntimeOption, Slot
from benchbuilder.core import find_kind, parse_json

FileHasher = Callable[[Path], str]


def spec_key_inputs(spec: BaseModel, sha256_of: FileHasher, prefix: str = "") -> dict[str, str]:
    """The fields of a spec as flat text, without runtime options; a file counts by its content.

    Args:
        spec: The spec.
        sha256_of: Gives the checksum of a file or folder.
        prefix: What the names of the parts begin with.
    """
    parts: dict[str, str] = {}
    for name, info in type(spec).model_fields.items():
        if name == "from_" or any(isinstance(mark, RuntimeOption) for mark in info.metadata):
            continue
        # an inherited kind is named as users know it: `annotation.min_evidence`
        inherited = next((mark.inherit for mark in info.metadata if isinstance(mark, Slot)), "")
        parts.update(_parts(getattr(spec, name), sha256_of, f"{prefix}{inherited or info.alias or name}"))
    return parts


def _parts(value: Any, sha256_of: FileHasher, name: str) -> dict[str, str]:
    if isinstance(value, FileRef):
        return {f"file {name} ({value.path})": sha256_of(value.file)}
    if isinstance(value, BaseModel):
        return spec_key_inputs(value, sha256_of, f"{name}.")
    if isinstance(value, Mapping):
        items = [(str(key), inner) for key, inner in value.items()]
        parts = {f"{name} (order)": json.dumps([key for key, _ in items], ensure_ascii=False)}
        for key, inner in items:
            parts.update(_parts(inner, sha256_of, f"{name}.{key}"))
        return parts
    if isinstance(value, list | tuple) and any(isinstance(inner, BaseModel) for inner in value):
        parts = {f"{name} (length)": str(len(value))}
        for index, inner in enumerate(value):
            parts.update(_parts(inner, sha256_of, f"{name}[{index}]"))
        return parts
    return {name: json.dumps(value, ensure_ascii=False)}


def kind_key_inputs(slot: str, spec: KindSpec) -> dict[str, str]:
    """The version of a kind, of the kinds within its spec, and of its distribution if that is a plugin."""
    kind = find_kind(slot, spec.kind)
    parts = {f"{slot} kind": spec.kind, "kind version": str(getattr(kind.load(), "version", 1))}
    if kind.distribution != "benchbuilder":
        parts[f"distribution {kind.distribution}"] = kind.version
    for name, info in type(spec).model_fields.items():
        for mark in info.metadata:
            nested = getattr(spec, name)
            if isinstance(mark, Slot) and isinstance(nested, KindSpec):
                parts |= {f"{name}: {key}": value for key, value in kind_key_inputs(mark.slot, nested).items()}
    return parts


def cache_key_of(key_inputs: Mapping[str, str]) -> str:
    """SHA-256 of the parts of a key."""
    return hashlib.sha256(json.dumps(key_inputs, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _replaced_kinds(previous: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """The kinds within a spec (a model, a retriever) that were replaced by another kind."""
    kinds = [name.removesuffix(".kind") for name in current if name.endswith(".kind") and name in previous]
    return [slot for slot in kinds if previous[f"{slot}.kind"] != current[f"{slot}.kind"]]


def _slot_prefixes(slot: str) -> tuple[str, ...]:
    """How the names of the parts begin that belong to a kind within a spec."""
    return f"{slot}.", f"{slot}: ", f"file {slot}.", f"version of {slot} "


def without_kind(key_inputs: Mapping[str, str], slot: str) -> dict[str, str]:
    """The parts of a key without those of the kind in `slot` (a model, a retriever)."""
    return {name: part for name, part in key_inputs.items() if not name.startswith(_slot_prefixes(slot))}


def _kind_label(parts: Mapping[str, str], slot: str) -> str:
    """The name and kind of a kind within a spec."""
    kind, name = (parse_json(parts.get(f"{slot}.{part}", "null")) for part in ("kind", "name"))
    return f"{name} ({kind})" if name else str(kind)


def describe_key_changes(previous: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """What differs between two keys, in words: the step's own parts first, then its inputs."""
    changes: list[str] = []
    replaced = _replaced_kinds(previous, current)
    for name in sorted(set(previous) | set(current), key=lambda part: (part.startswith("input "), part)):
        if previous.get(name) == current.get(name):
            continue
        if own := next((slot for slot in replaced if name.startswith(_slot_prefixes(slot))), None):
            if name == f"{own}.kind":
                changes.append(f"{own}: {_kind_label(previous, own)} -> {_kind_label(current, own)}")
            continue
        if name.startswith("input "):
            changes.append(f"{name.removeprefix('input ')} changed")
        elif name not in previous:
            changes.append(f"{name} is new")
        elif name not in current:
            changes.append(f"{name} is gone")
        elif name.startswith("file ") or len(previous[name]) + len(current[name]) > 60:
            changes.append(f"{name} changed")
        else:
            changes.append(f"{name}: {previous[name]} -> {current[name]}")
    return changes
