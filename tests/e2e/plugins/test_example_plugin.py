"""The example plugin works where only its wheel is, and the page that explains it shows what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from installed_plugins import ROOT, Environment

PAGE = ROOT / "docs" / "how-to" / "extend" / "write-a-plugin.md"
_FILE = re.compile(r"^cat > (?P<name>\S+) <<'(?P<end>[A-Z]+)'\n(?P<text>.*?)^(?P=end)$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(install_plugin: Callable[[str], tuple[Path, Environment]]) -> tuple[Path, Environment]:
    return install_plugin("benchbuilder-example")


def test_both_come_from_their_wheels(installed: tuple[Path, Environment]) -> None:
    _, environment = installed
    code = "import benchbuilder, benchbuilder_example; print(benchbuilder.__file__, benchbuilder_example.__file__)"
    done = environment.run("-c", code)
    assert done.returncode == 0, done.stderr
    site = environment.python.parents[1] / "lib"
    assert all(Path(file).is_relative_to(site) for file in done.stdout.split()), done.stdout


def test_the_contract_suite_needs_no_more_than_the_program(installed: tuple[Path, Environment]) -> None:
    """Authors import it without any extra, and without pytest."""
    _, environment = installed
    extras = [
        "pytest",
        "torch",
        "transformers",
        "sqlalchemy",
        "openai",
        "aiohttp",
        "sklearn",
        "scipy",
        "datasets",
        "pyoxigraph",
    ]
    code = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); import benchbuilder.testing"
    done = environment.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_its_tests_pass(installed: tuple[Path, Environment]) -> None:
    plugin, environment = installed
    done = environment.test(plugin)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert " passed" in done.stdout


def test_the_program_lists_its_kinds(installed: tuple[Path, Environment]) -> None:
    _, environment = installed
    done = environment.benchbuild("ls", "--kinds")
    assert done.returncode == 0, done.stderr
    for kind in ("faq", "syllables", "keyword_coverage"):
        assert kind in done.stdout


@pytest.mark.push
def test_the_page_shows_the_files_of_the_plugin() -> None:
    plugin = ROOT / "plugins" / "benchbuilder-example"
    shown = {match["name"]: match["text"] for match in _FILE.finditer(PAGE.read_text(encoding="utf-8"))}
    files = {
        path.relative_to(plugin).as_posix(): path.read_text(encoding="utf-8")
        for path in plugin.rglob("*")
        if path.suffix in (".py", ".toml", ".yaml") and "__pycache__" not in path.parts
    }
    assert {name for name in files if name.startswith("benchbuilder_example/")} <= set(shown)
    for name, text in shown.items():
        if name in files:
            assert text == files[name], name
