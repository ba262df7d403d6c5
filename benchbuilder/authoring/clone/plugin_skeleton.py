"""``new --plugin``: a distribution with a kind for each slot that is asked for, and tests that pass as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from benchbuilder import __version__
from benchbuilder.config import did_you_mean, display_path
from benchbuilder.core import Problem, RecipeError, kinds_of_slot

SKELETON_SLOTS = (
    "source", "payload", "step", "tokenizer", "retriever", "baseline", "solver", "scorer", "metric", "judge",
    "exporter",
)  # fmt: skip
"""The slots that a plugin can begin with."""
_ITEMS = ("baseline", "scorer", "metric", "exporter")
"""Slots whose tests need items."""
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def distribution_name(name: str) -> str:
    """The name of the distribution.

    >>> distribution_name("my_plugin")
    'benchbuilder-my-plugin'
    """
    return f"benchbuilder-{name.replace('_', '-')}"


def plugin_skeleton_files(name: str, slots: Sequence[str]) -> dict[str, str]:
    """The files of a plugin `name` with a kind of each of `slots`; RecipeError if it cannot be called so."""
    _check_name(name, slots)
    package = f"benchbuilder_{name}"
    wanted = [slot for slot in SKELETON_SLOTS if slot in slots]
    values = {
        "name": name,
        "cls": "".join(part.capitalize() for part in name.split("_")),
        "package": package,
        "distribution": distribution_name(name),
        "version": __version__,
        "about": f"Kinds for benchbuilder: {', '.join(wanted)}.",
        "slots": "(\n" + "".join(f'    "{slot}",\n' for slot in wanted) + ")",
        "entries": "".join(_entry(slot, name, package) for slot in wanted),
        "table": "\n".join(f"| {slot} | `{name}` | `{package}/{slot}.py` |" for slot in wanted),
    }
    templates = ["plugin", *wanted, *(["items"] if any(slot in _ITEMS for slot in wanted) else [])]
    return {file: text for template in templates for file, text in _filled(template, values)}


def write_plugin_skeleton(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the files below `folder`; RecipeError, and nothing written, if it is there already."""
    if folder.exists():
        problem = Problem(
            "this folder is there already", actual=display_path(folder), hint="choose another name, or move it"
        )
        raise RecipeError([problem])
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def _check_name(name: str, slots: Sequence[str]) -> None:
    problems: list[Problem] = []
    if not _NAME.match(name):
        allowed = "a-z, 0-9 and _, beginning with a letter"
        problems.append(Problem("this is no name for a plugin", where=f"--plugin {name}", allowed=allowed))
    for slot in slots:
        if slot in SKELETON_SLOTS and (taken := kinds_of_slot(slot).get(name)) is not None:
            told = f"{taken.distribution} has a {slot} kind of this name"
            problems.append(Problem(told, where=f"--plugin {name}", hint="choose another name"))
        if slot not in SKELETON_SLOTS:
            problems.append(
                Problem(
                    "there is no skeleton of this kind",
                    where=f"--kind {','.join(slots)}",
                    actual=slot,
                    allowed=", ".join(SKELETON_SLOTS),
                    hint=did_you_mean(slot, SKELETON_SLOTS),
                )
            )
    if not slots:
        problems.append(Problem("a plugin brings at least one kind", where="--kind", allowed=", ".join(SKELETON_SLOTS)))
    if problems:
        raise RecipeError(problems)


def _entry(slot: str, name: str, package: str) -> str:
    cls = "".join(part.capitalize() for part in name.split("_"))
    return f'[project.entry-points."benchbuilder.{slot}"]\n{name} = "{package}.{slot}:{cls}{slot.capitalize()}"\n\n'


def _filled(template: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of a template, each with its text. A line `=== FILE` begins a file."""
    path = resources.files("benchbuilder.authoring.clone").joinpath("skeleton_files", f"{template}.txt")
    for part in Template(f"\n{path.read_text('utf-8')}").substitute(values).split("\n=== ")[1:]:
        file, _, text = part.partition("\n")
        yield file, f"{text.rstrip()}\n" if text else ""
