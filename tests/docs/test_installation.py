"""The page on the installation names every extra, and the base install stays lean."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_page_names_every_extra_once():
    page = (ROOT / "docs" / "reference" / "installation.md").read_text("utf-8")
    table = page.partition("## Extras")[2].partition("\n## ")[0]
    named = re.findall(r"`([a-z0-9-]+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_extras_that_messages_name_exist():
    named = {
        extra
        for path in [*(ROOT / "benchbuilder").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
        for names in re.findall(r"benchbuilder\[([a-z0-9,-]+)\]'", path.read_text("utf-8"))
        for extra in names.split(",")
    }
    assert {"review"} <= named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("name", ["openpyxl", "sacrebleu", "lxml", "pandas", "scipy", "torch"])
def test_what_a_build_of_the_sample_does_not_need_is_optional(name):
    assert not any(line.startswith(name) for line in PROJECT["dependencies"])


def test_jieba_is_installed_where_jieba_next_has_no_wheels_and_only_there():
    """The two markers are complements."""
    from packaging.requirements import Requirement

    requirements = {r.name: r for r in map(Requirement, PROJECT["dependencies"]) if r.name.startswith("jieba")}
    assert set(requirements) == {"jieba", "jieba-next"}
    for implementation in ("CPython", "PyPy"):
        for version in ("3.11", "3.14", "3.15"):
            for machine in ("x86_64", "AMD64", "aarch64", "arm64", "ppc64le", "riscv64"):
                place = {"platform_python_implementation": implementation, "python_version": version,
                         "platform_machine": machine}  # fmt: skip
                chosen = {name: r.marker.evaluate(place) for name, r in requirements.items()}
                assert chosen["jieba"] != chosen["jieba-next"], place
