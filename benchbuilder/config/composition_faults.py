"""What can stop a composition, as facts; `benchbuilder.config.compose_errors` puts them into words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.yaml_source import KeyPath

_FUNCTION = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:")
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\"")
_BRACKET = re.compile(r"[][{}]")
_DEEPEST = 20
"""Lists within lists of an override: far more than any key takes."""

FaultKind = Literal[
    "split", "unreadable", "empty", "chosen_twice", "several_values", "forbidden", "not_a_name", "no_recipe",
    "foreign_variant", "missing_file", "hydra_message", "no_such_group", "nothing_to_delete", "unmergeable", "cycle",
    "endless", "not_text", "no_key", "too_deep",
]  # fmt: skip


@dataclass(frozen=True)
class CompositionFault:
    """One thing that stopped a composition.

    `override` is the text of the command line that is to blame, `key` its key or group. `names` are the chosen names.
    `detail` is what the kind of fault needs: a joined override, another override, a file, a recipe, or Hydra's message.
    """

    kind: FaultKind
    override: str = ""
    key: str = ""
    names: tuple[str, ...] = ()
    detail: str = ""


class CompositionError(Exception):
    """A recipe cannot be composed; `faults` says why, `index` holds the files that were opened until then."""

    def __init__(self, faults: Sequence[CompositionFault], index: RecipeIndex) -> None:
        super().__init__(", ".join(fault.kind for fault in faults))
        self.faults, self.index = tuple(faults), index


@dataclass(frozen=True)
class UnresolvedValue:
    """A value of a composed recipe that is missing or refers to nothing: its `key`, and the name of the exception."""

    key: KeyPath
    error: str


def repeated_choices(choices: Iterable[tuple[str, str | None, str]]) -> Iterator[CompositionFault]:
    """A fault for each choice that is made again; of keys that are set again, the last one wins.

    A choice is its group, its package and the text of its override.
    """
    first: dict[tuple[str, str | None], str] = {}
    for group, package, text in choices:
        if (group, package) in first:
            yield CompositionFault("chosen_twice", text, group, detail=first[group, package])
        first.setdefault((group, package), text)


def text_faults(texts: Sequence[str]) -> list[CompositionFault]:
    """A fault for each override that is not valid text, has no key, or is nested too deeply for its parser."""
    faults: list[CompositionFault] = []
    for place, text in enumerate(texts):
        if (shown := text.encode(errors="backslashreplace").decode()) != text:
            faults.append(CompositionFault("not_text", shown))
        elif text.startswith("=") and (place == 0 or "=" in texts[place - 1]):  # else the shell split `key =value`
            faults.append(CompositionFault("no_key", text))
        elif _depth_of_lists(text) > _DEEPEST:
            faults.append(CompositionFault("too_deep", text))
    return faults


def _depth_of_lists(text: str) -> int:
    """How deeply lists and mappings outside quotes are nested."""
    brackets = _BRACKET.findall(_QUOTED.sub("", text))
    return max(accumulate((1 if bracket in "[{" else -1 for bracket in brackets), initial=0))


def join_split_override(texts: Sequence[str]) -> tuple[int, str]:
    """How many of the first texts the shell made of one override, and that override.

    The shell splits ``key = value``, and a list with spaces: ``key=[a, b]``.
    """
    count, joined = _join_around_sign(texts)
    if "=[" in joined and "]" not in joined:
        for text in texts[count:]:
            if "=" in text:
                break
            count, joined = count + 1, f"{joined}{',' * (joined[-1] not in ',[' and text[:1] not in ',]')}{text}"
            if "]" in text:
                break
    return (1, texts[0]) if joined.count("[") != joined.count("]") else (count, joined)


def _join_around_sign(texts: Sequence[str]) -> tuple[int, str]:
    first, second, third = (*texts[:3], "", "")[:3]
    if "=" not in first and second == "=" and third:
        return 3, first + second + third
    ends_with_sign = first.endswith("=") and first.count("=") == 1 and len(first) > 1
    if ("=" not in first and second.startswith("=") and second != "=") or (
        ends_with_sign and second and "=" not in second and second[0] != "~"
    ):
        return 2, first + second
    return 1, first


def is_forbidden_override(text: str, key: str, names: Sequence[str]) -> bool:
    """Whether an override configures Hydra, calls a function, or leads out of the recipes."""
    return bool(re.match(r"hydra\b", key)) or called_function(text) != "" or outward_name(names) != ""


def called_function(text: str) -> str:
    """The function that an override calls in ``${...}``; empty if none, or only ``oc.select``."""
    match = _FUNCTION.search(text)
    return match.group(1) if match and match.group(1) != "oc.select" else ""


def outward_name(names: Sequence[str]) -> str:
    """The first of `names` that would lead out of the folders of recipes."""
    return next((name for name in names if ".." in name or name.startswith(("/", "~")) or "\\" in name), "")
