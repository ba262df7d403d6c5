"""The page about faults: what was tried on every command, and what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from reference_pages.reading import table

MATRIX = Path(__file__).parents[2] / "tests" / "e2e" / "faults" / "matrix.yaml"
_HEADER = ("what was tried", "when", "what happened")
_INTRODUCTION = """# Faults that were tried

Every line is tried by a test of the commands themselves, in `tests/e2e/faults`, `tests/e2e/review_app` and
`tests/explorer`, or by the test that is named. Those that need a model ask a service that counts its replies. The
project is small: eleven questions, a corpus, and three invented models.

After each fault, the same command runs again, undisturbed. *The same result* means that its files are byte for byte
those of a run that nothing disturbed. It also means that no reply was bought twice, except replies that were on their
way when the process stopped. Such replies count as *unanswered* where the costs are shown.
"""


def faults() -> str:
    """What was tried, and what must come of it, by command."""
    matrix: dict[str, Any] = yaml.safe_load(MATRIX.read_text(encoding="utf-8"))
    parts = [_INTRODUCTION.rstrip()]
    for command in matrix["moments"]:
        lines = [line for line in matrix["tried"] if line["command"] == command]
        rows = [row for line in lines for row in _rows(line, matrix)]
        damaged = [line for line in matrix["damaged"] if line["command"] == command]
        rows += [row for line in damaged for row in _damage_rows(line, matrix)]
        parts += [f"## `benchbuild {command}`", table(_HEADER, rows)]
    parts += ["## Further commands", _WRITES, table(_HEADER, _write_rows(matrix["every_write"]))]
    parts += [_SURROUNDINGS, table(_HEADER, _surrounding_rows(matrix["surroundings"]))]
    parts += ["## `benchbuild review`", _REVIEW, table(_HEADER, map(partial(_review_row, matrix), matrix["reviewed"]))]
    parts += ["## `benchbuild view`", _SAVED, table(_HEADER, map(partial(_saved_row, matrix), matrix["saved_rules"]))]
    brought = ((line["tried"], line["happened"], f"`{line['test']}`") for line in matrix["brought"])
    parts += ["## What others bring", _BROUGHT, table(("what was tried", "what happened", "the test"), brought)]
    return "\n\n".join(parts)


_BROUGHT = "The program does not trust what others made: somebody may have made it to do harm."
_WRITES = (
    "These commands are disturbed at their first write, their second, their fourth, and so on to their last, each in a "
    "folder of its own. *The same result* leaves out days, times and what the killed process was writing: its name "
    "ends in `.tmp`, and is removed a day later."
)


_SURROUNDINGS = "These and the commands that only read run in odd surroundings too."


def _surrounding_rows(odd: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    every = ", ".join(f"`{name}`" for name in odd["commands"])
    for title, shell in odd["shells"].items():
        full = ", or with exit code 3 if it prints" if "/dev/full" in shell else ""
        yield title, f"all along, in {every}", f"it ends with exit code 0{full}, and without a trace of Python"
    free = ", ".join(f"{count:,}" for count in odd["free_bytes"])
    yield (
        f"the disk has {free} bytes left", "in each of them that writes",
        "it ends with exit code 3 and names the disk; with more room, the same command ends",
    )  # fmt: skip


def _write_rows(every: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, command in every["commands"].items():
        faults = ", ".join(every["faults"]).replace("_", " ")
        said = f", or says *{command['again']}*" if "again" in command else ""
        yield faults, f"at each of these writes of `{name}`", f"the same command again makes the same result{said}"


def _rows(line: Mapping[str, Any], matrix: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for moment in line["moments"]:
        yield matrix["faults"][line["fault"]], matrix["moments"][line["command"]][moment]["title"], _happened(line)


def _happened(line: Mapping[str, Any]) -> str:
    """How the command ended, and how it went on."""
    if line["fault"] == "two_at_once" and line["code"] == 0:
        return "both end with the same result"
    if line["fault"] == "two_at_once":
        return f"the second ends with exit code {line['code']} (*{line['says']}*), the first with the same result"
    if line["code"] == 0:
        return "it ends with the same result"
    said = f" (*{line['says']}*)" if "says" in line else ""
    ends = f"it ends with exit code {line['code']}{said}" if line["code"] > 0 else "the process is gone"
    return f"{ends}; the same command again makes the same result"


_THEN = {"backup": "with the file from a backup", "build": "after a build with the same arguments"}
_HOW = {"flipped": "one byte is another", "cut": "its second half is missing", "gone": "it is gone"}


def _damage_rows(line: Mapping[str, Any], matrix: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    said = f" (*{line['says']}*)" if "says" in line else ""
    for how in line["hows"]:
        ends = f"it ends with the same result{said}"
        if line["code"]:
            ends = f"it ends with exit code {line['code']}{said}; {_THEN[line['then']]} it makes the same result"
        yield f"damage to {matrix['files'][line['file']]['title']}: {_HOW[how]}", "before the command", ends


_REVIEW = (
    "Three people vote, and the fault comes while the app serves them. Afterwards the app is started anew, and they go "
    "on. Every vote that was acknowledged is there, once."
)
_BROWSERS = {
    "gone": "the browsers find no app; no acknowledged vote is lost",
    "refused": "the app answers with an error and does not acknowledge; no acknowledged vote is lost",
    "served": "the app goes on; no acknowledged vote is lost",
}


def _review_row(matrix: Mapping[str, Any], line: Mapping[str, Any]) -> tuple[str, str, str]:
    return matrix["faults"][line["fault"]], "while votes are sent", _BROWSERS[line["browsers"]]


_SAVED = "An author saves rules at the workbench. Afterwards the server is started anew, and the author goes on."


def _saved_row(matrix: Mapping[str, Any], line: Mapping[str, Any]) -> tuple[str, str, str]:
    left = f"the file is whole, and the {line['left']} one; the draft is there when the author comes back"
    return matrix["faults"]["kill"], f"while rules are saved: {line['title']}", left
