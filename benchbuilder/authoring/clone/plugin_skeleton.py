"""``new --plugin``: a distribution with a kind for each requested slot, and passing tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path, PurePosixPath
from string import Template

from benchbuilder import __version__
from benchbuilder.config import did_you_mean, display_path
from benchbuilder.core import Problem, RecipeError, kinds_of_slot, write_atomically

SKELETON_SLOTS = (
    "source", "payload", "step", "tokenizer", "retriever", "baseline", "solver", "scorer", "metric", "judge", "view",
    "exporter",
)  # fmt: skip
"""The slots that a plugin can begin with."""
_ITEMS = frozenset({"baseline", "scorer", "metric", "exporter"})
"""Slots whose tests need items."""
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def distribution_name(name: str) -> str:
    """The name of the distribution.

    >>> distribution_name("my_plugin")
    'benchbuilder-my-plugin'
    """
    return f"benchbuilder-{name.replace('_', '-')}"


def plugin_skeleton_files(name: str, slots: Sequence[str]) -> dict[str, str]:
    """The text of each file of a plugin `name` with a kind for each of `slots`; RecipeError for an invalid name."""
    _check_name(name, slots)
    package = f"benchbuilder_{name}"
    cls = "".join(part.capitalize() for part in name.split("_"))
    wanted = [slot for slot in SKELETON_SLOTS if slot in slots]
    entry = '[project.entry-points."benchbuilder.{0}"]\n{1} = "{2}.{0}:{3}{4}"\n\n'
    values = {
        "name": name,
        "cls": cls,
        "package": package,
        "distribution": distribution_name(name),
        "version": __version__,
        "about": f"Kinds for benchbuilder: {', '.join(wanted)}.",
        "slots": "(\n" + "".join(f'    "{slot}",\n' for slot in wanted) + ")",
        "entries": "".join(entry.format(slot, name, package, cls, slot.capitalize()) for slot in wanted),
        "table": "\n".join(f"| {slot} | `{name}` | `{package}/{slot}.py` |" for slot in wanted),
    }
    unwanted = set(SKELETON_SLOTS).difference(wanted) | (set() if _ITEMS.intersection(wanted) else {"example_items"})
    return {file: text for file, text in _filled_templates(values) if _stem(file) not in unwanted}


def write_plugin_skeleton(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the files below `folder`; RecipeError, with nothing written, if the folder exists."""
    if folder.exists():
        hint = "choose another name, or move the folder"
        raise RecipeError([Problem("this folder exists already", actual=display_path(folder), hint=hint)])
    for name, text in files.items():
        write_atomically(folder / name, text)
    return [folder / name for name in files]


def _check_name(name: str, slots: Sequence[str]) -> None:
    problems: list[Problem] = []
    if not _NAME.match(name):
        allowed = "a-z, 0-9 and _, beginning with a letter"
        problems.append(Problem("this is not a valid name for a plugin", where=f"--plugin {name}", allowed=allowed))
    for slot in slots:
        if slot in SKELETON_SLOTS and (taken := kinds_of_slot(slot).get(name)) is not None:
            message = f"{taken.distribution} has a {slot} kind of this name"
            problems.append(Problem(message, where=f"--plugin {name}", hint="choose another name"))
        if slot not in SKELETON_SLOTS:
            where, hint = f"--kind {','.join(slots)}", did_you_mean(slot, SKELETON_SLOTS)
            problems.append(
                Problem("there is no skeleton of this kind", "", where, slot, ", ".join(SKELETON_SLOTS), hint)
            )
    if not slots:
        problems.append(Problem("a plugin has at least one kind", where="--kind", allowed=", ".join(SKELETON_SLOTS)))
    if problems:
        raise RecipeError(problems)


def _stem(file: str) -> str:
    """The slot that a file of the skeleton is for, or what else it is."""
    return PurePosixPath(file).stem.removeprefix("test_")


def _filled_templates(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every file of the skeletons with its text. In the templates, the line `=== FILE` begins a file."""
    folder = resources.files("benchbuilder.authoring.clone") / "skeleton_files"
    for template in ("plugin", "build", "retrieval", "evaluation"):
        text = f"\n{(folder / f'{template}.txt').read_text('utf-8')}"
        for part in Template(text).substitute(values).split("\n=== ")[1:]:
            file, _, content = part.partition("\n")
            yield file, f"{content.rstrip()}\n" if content else ""
