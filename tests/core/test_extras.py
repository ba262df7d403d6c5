"""Extras: their table is that of pyproject.toml and of the code, and one error names what to install."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import bare
import pytest
from packaging.requirements import Requirement

from benchbuilder.cli.dispatch import main
from benchbuilder.core.errors import InstallationError
from benchbuilder.core.extras import EXTRAS, explain_import_error, extra_advice, imports_of, is_installed, require_extra
from benchbuilder.core.registry import Kind

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEVELOPERS = {"bench", "dev", "full", "docs", "lint"}
NAMES = {"hydra-core": "hydra", "markdown-it-py": "markdown_it", "pyyaml": "yaml", "scikit-learn": "sklearn"}
BROUGHT = {"pydantic_core"}
"""Modules that a library of the base install brings."""
OF_THE_USER = {"IPython", "pandas", "polars"}
"""Libraries that nothing needs, and that a user may have."""
IMPORT = re.compile(
    r"^ *(?:from ([a-zA-Z]\w*)[\w.]* import |import ([a-zA-Z]\w*)[\w.]*(?: as \w+)? *(?:#.*)?$)", re.MULTILINE
)


def modules(requirements: list[str]) -> set[str]:
    """The modules that are required directly, without those of benchbuilder's other extras."""
    names = {Requirement(line).name for line in requirements}
    return {NAMES.get(name, name.replace("-", "_")) for name in names if name != "benchbuilder"}


def test_the_table_has_the_extras_and_what_they_require():
    declared = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(declared) - DEVELOPERS
    for extra, libraries in EXTRAS.items():
        assert modules(declared[extra]) <= set(libraries), extra
        for line in declared[extra]:
            for included in Requirement(line).extras if line.startswith("benchbuilder[") else ():
                assert set(EXTRAS[included]) <= set(libraries), f"{extra} includes {included}"


@pytest.mark.push
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_the_libraries_of_the_table(extra):
    assert set(EXTRAS[extra]) <= bare.modules_of(extra)


def test_the_code_imports_nothing_that_no_extra_installs():
    known = {"benchbuilder", *sys.stdlib_module_names, *modules(PROJECT["dependencies"]), *BROUGHT, *OF_THE_USER}
    known |= {library for libraries in EXTRAS.values() for library in libraries}
    for file in (ROOT / "benchbuilder").rglob("*.py"):
        found = IMPORT.findall(file.read_text(encoding="utf-8"))
        assert {name for pair in found for name in pair if name} <= known, file


def test_what_is_missing_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InstallationError) as caught, imports_of("xlsx", "the sheet", where="a.xlsx", instead="use CSV"):
        import openpyxl  # noqa: F401
    assert str(caught.value) == (
        "the sheet needs openpyxl, which is not installed\n  where: a.xlsx\n"
        "  next:  pip install 'benchbuilder[xlsx]', or use CSV"
    )
    assert not is_installed("openpyxl")
    assert is_installed("yaml")


def test_what_is_there_and_cannot_be_imported_says_why():
    with (
        pytest.raises(InstallationError, match="needs openpyxl, which cannot be imported") as caught,
        imports_of("xlsx", "it"),
    ):
        from openpyxl import no_such_name  # noqa: F401
    assert "no_such_name" in caught.value.why
    with pytest.raises(InstallationError, match="it needs a library, which cannot") as caught, imports_of("hf", "it"):
        raise ImportError("PyTorch is too old\nmore")
    assert (caught.value.why, caught.value.next) == ("PyTorch is too old", extra_advice("hf"))


def test_an_error_of_our_own_is_none_of_an_extra():
    with pytest.raises(ImportError, match="no_such_name"), imports_of("view", "the explorer"):
        from benchbuilder.core import no_such_name  # noqa: F401


@pytest.mark.parametrize(
    ("extra", "missing", "advice"),
    [
        ("hf", ["torch"], "hf"),
        ("hf", ["torch", "peft"], "judge-hf"),
        ("hf", ["torch", "gguf"], "gguf"),
        ("hf", ["gguf", "peft"], "gguf,judge-hf"),
        ("review", ["fastapi"], "review"),
        ("view", ["unknown"], "view"),
    ],
)
def test_the_extras_that_are_advised_have_all_that_is_missing(monkeypatch, extra, missing, advice):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InstallationError) as caught:
        require_extra(extra, "it", missing)
    assert caught.value.next == f"pip install 'benchbuilder[{advice}]'"


def test_nothing_is_said_where_nothing_is_missing():
    require_extra("xlsx", "it")
    with imports_of("xlsx", "it"):
        import openpyxl  # noqa: F401


def test_any_command_explains_a_library_that_it_lacks(monkeypatch, capsys):
    def lacks(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setattr("benchbuilder.cli.ls.run", lambda *_: lacks("fastapi.routing"))
    assert main(["ls"]) == 2
    assert capsys.readouterr().err.split("\n")[0] == "error: this command needs fastapi, which is not installed"
    monkeypatch.setattr("benchbuilder.cli.ls.run", lambda *_: lacks("unknown"))
    with pytest.raises(ModuleNotFoundError):
        main(["ls"])


def test_a_kind_that_cannot_be_imported_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    for target, advice in (("pypdf:PdfReader", "pip install 'benchbuilder[pdf]'"), ("unknown:It", "reinstall mine")):
        with pytest.raises(InstallationError, match="the source kind 'own'") as caught:
            Kind("source", "own", target, "mine", "1").load()
        assert caught.value.next.startswith(advice)
    assert explain_import_error(AttributeError("pypdf"), "it") is None
