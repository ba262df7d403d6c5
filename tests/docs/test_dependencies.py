"""The page on what is pinned, the requirements of the project, and the versions of the tests agree."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from doc_blocks import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PINNED_HERE = ("dev", "full", "docs", "lint")
"""The extras that no user installs."""
PAGE = (ROOT / "docs" / "reference" / "dependencies.md").read_text("utf-8")
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)


def requirements(*extras: str) -> Iterator[Requirement]:
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]:
        wanted = Requirement(line)
        if wanted.name == PROJECT["name"]:
            yield from requirements(*wanted.extras)
        else:
            yield wanted


def in_words(wanted: Requirement) -> str:
    """A range as the page says it: `from 1.3.4, below 1.4`, or the one major version that it allows."""
    floor, ceiling = "", ""
    for part in wanted.specifier:
        floor = part.version if part.operator == ">=" else floor
        ceiling = part.version if part.operator == "<" else ceiling
    if floor.isdigit() and ceiling.isdigit() and int(ceiling) == int(floor) + 1:
        return floor
    return f"from {floor}" + (f", below {ceiling}" if ceiling else "")


@pytest.mark.parametrize(("name", "said"), _ROW.findall(PAGE))
def test_the_page_gives_the_range_of_each_requirement(name: str, said: str) -> None:
    found = {in_words(wanted) for wanted in requirements(*EXTRAS) if wanted.name == name}
    assert said.partition(";")[0].strip() in found


def test_the_page_names_what_is_not_released_or_has_one_version() -> None:
    named = {name for name, _ in _ROW.findall(PAGE)}
    narrow = {
        wanted.name for wanted in requirements(*EXTRAS) if wanted.specifier.prereleases or "==" in str(wanted.specifier)
    }
    assert {"jieba-next", "torch"} <= narrow <= named


def test_no_extra_of_users_has_one_version() -> None:
    users = [extra for extra in EXTRAS if extra not in PINNED_HERE]
    assert [str(wanted) for wanted in requirements(*users) if "==" in str(wanted.specifier)] == []


def test_the_versions_of_the_tests_are_allowed() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pairs}
    wrong = [
        str(wanted)
        for wanted in requirements(*PINNED_HERE)
        if (wanted.marker is None or wanted.marker.evaluate({"python_version": "3.11"}))
        and not wanted.specifier.contains(versions.get(canonicalize_name(wanted.name), "0"), prereleases=True)
    ]
    assert wrong == []
