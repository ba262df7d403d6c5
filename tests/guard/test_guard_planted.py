"""Whoever changes one thing of a copy of the program or its recipes, on purpose or not, hears from the guard what."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchbuilder.steps.screen_shown import ScreenShown

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(old) == 1
        return text.replace(old, new)

    return change


def without_last_line(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


@dataclass(frozen=True)
class Planted:
    """A change of a file, and what the guard says of it among other things."""

    name: str
    group: str
    file: str
    change: Callable[[str], str]
    says: str


PLANTED = (
    Planted("a word of a sentence frame", "claims_en", "recipes/forms/en.yaml",
            replaced("“{claim}” Is this true?", "“{claim}” Is that true?"),
            "claims_en-unreviewed: items: 40 of 48 changed: payload.question"),
    Planted("an order of sources", "claims_en", "recipes/recipe/claims_en.yaml",
            replaced("[facts_en, yes_no_en,", "[yes_no_en, facts_en,"),
            "claims_en-unreviewed: order of items changed: "),
    Planted("an expected verdict", "reading_en", "benchbuilder/steps/ask_verify.py",
            replaced('expected="yes" if statement.polarity == "true" else "no"',
                     'expected="no" if statement.polarity == "true" else "yes"'),
            "reading_en: items: 26 of 52 changed: payload.expected"),
    Planted("a score", "exam_any", "benchbuilder/evaluation/scorers/verdict.py",
            replaced("right = read.verdict == expected", "right = read.verdict != expected"),
            "exam_any evaluated: scores verdict.always_agree verdict: 20 of 20 changed"),
    Planted("a reason of the ledger", "reading_en", "benchbuilder/steps/wrong/allotment.py",
            replaced('Dropped("none_left"', 'Dropped("no_type"'),
            "reading_en: ledger: 10 rows more dropped by wrong_answers: no_type (1 -> 11)"),
    Planted("a dropped row", "exam_any", "recipes/recipe/exam_any/sample/yo.csv", without_last_line,
            "exam_any: items: 2 of 39 gone (yo.csv:21)"),
    Planted("a word of a prompt", "reading_en", "prompts/en/wrong.j2",
            replaced("Each is certainly wrong", "Each is surely wrong"),
            "reading_en: requests wrong_answers: messages changed"),
    Planted("the rank of a paragraph", "claims_en", "benchbuilder/steps/retrieve.py",
            replaced('"rank": pa.array(ranks,', '"rank": pa.array([rank + 1 for rank in ranks],'),
            "claims_en-unreviewed: items: 48 of 48 changed: payload.evidence.rank"),
    Planted("the verdict of an answer", "reading_en", "recipes/evaluation/forms.yaml",
            replaced('always_agree: {kind: constant, texts: {tf: "${forms.says_yes}"',
                     'always_agree: {kind: constant, texts: {tf: "${forms.says_no}"'),
            "reading_en evaluated: scores verdict.always_agree verdict: 26 of 26 changed"),
    Planted("a word for yes that is not known any more", "claims_en", "recipes/verdicts/en.yaml",
            replaced("(?:yes|yep|yeah|yup|aye|affirmative)", "(?:yep|yeah|yup|aye|affirmative)"),
            "claims_en evaluated: stopped DataError: is new, the verdict table does not read its own examples"),
    Planted("the version of a step", "exam_any", "benchbuilder/steps/screen_shown.py",
            replaced(f"version = {ScreenShown.version}", "version = 99"),
            f"exam_any: key of step facts_choice: version {ScreenShown.version} -> 99"),
)  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the guard runs."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("benchbuilder", "recipes", "prompts", "tests/guard"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def guard(copy: Path, group: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """The outcome of the script over the copy."""
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BENCHBUILDER_CACHE": str(cache),
    }
    command = [sys.executable, "tests/guard/renew.py", "--check", group]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_change_is_found_and_named(planted: Planted, copy: Path, tmp_path: Path) -> None:
    file = copy / planted.file
    before = file.read_text("utf-8")
    file.write_text(planted.change(before), "utf-8")
    try:
        done = guard(copy, planted.group, tmp_path)
    finally:
        file.write_text(before, "utf-8")
    assert done.returncode == 1, done.stderr
    assert any(text.startswith(planted.says) for text in done.stdout.splitlines()), done.stdout + done.stderr


def test_a_copy_without_a_change_is_as_recorded(copy: Path, tmp_path: Path) -> None:
    done = guard(copy, "claims_en", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("nothing changed")
