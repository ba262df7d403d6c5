"""Commands on recipes: check, show in full, schema and ls; help and listings import nothing heavy."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.core.sealed_json import seal_json

# --- recipe commands -------------------------------------------------------------------------------------------------


def run(command: str, words: list[str]) -> tuple[int, str]:
    module = importlib.import_module(f"benchbuilder.cli.{COMMANDS[command].module}")
    args, out = command_parser(command, COMMANDS[command]).parse_args(words), io.StringIO()
    code = getattr(module, f"run{COMMANDS[command].suffix}")(args, Console(file=out, width=200))
    return code, out.getvalue()


def test_show_prints_yaml_with_origins(garden: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", ["--all", "recipe=garden", "retriever.top_k=2"])[0] == 0
    text = capsys.readouterr().out
    assert "# command line: retriever.top_k=2" in text
    assert yaml.safe_load(text)["run"]["workers"] == 1


def test_show_plain_is_what_stands_beside_a_benchmark(garden: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("show", ["--plain", "recipe=garden"])
    text = capsys.readouterr().out
    assert "#" not in text
    assert "run" not in yaml.safe_load(text)


def test_check_says_that_all_is_well(garden: Any) -> None:
    code, said = run("check", ["recipe=garden"])
    fine, before_release = said.splitlines()
    assert (code, fine) == (0, "garden: 1 source, 4 steps and 3 files are fine")
    assert before_release == (
        "open before a release, not before a build: set sources.plants.licence to its identifier, such as CC-BY-4.0; "
        "set release.names to none, public or private"
    )


def test_check_compares_a_folder(garden: Any, tmp_path: Path) -> None:
    record = tmp_path / "b" / "store" / "last_command.json"
    record.parent.mkdir(parents=True)
    record.write_bytes(seal_json({"overrides": ["recipe=garden"]}))
    assert run("check", ["--store", str(tmp_path / "b")])[0] == 0
    record.write_bytes(record.read_bytes().replace(b"garden", b"gardem"))
    code, text = run("check", ["--store", str(tmp_path / "b")])
    assert code == 3
    assert "last_command.json: its content does not have its checksum" in text.replace("\n", "")
    with pytest.raises(DataError, match="holds no build"):
        run("check", ["--store", str(tmp_path)])
    with pytest.raises(RecipeError, match="1 problem"):
        run("check", ["recipe=garden", "--store", str(tmp_path)])


def test_check_prints_warnings(garden: Any) -> None:
    code, text = run("check", ["recipe=balcony"])
    assert code == 0
    assert "warning: sources.quiz: nothing reads this" in text


@pytest.mark.push
def test_check_warns_of_an_output_of_a_step_that_is_not_there() -> None:
    assert "no such step" not in run("check", ["recipe=clinic_zu"])[1]
    code, text = run("check", ["recipe=clinic_zu", "outputs.candidates.step=correcte"])
    assert code == 0
    warning = "warning: outputs.candidates.step: there is no such step, so this file is not written"
    assert warning in text
    assert "did you mean 'corrected'?" in text[text.index(warning) :]


def test_schema_is_json(garden: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("schema", [])
    assert json.loads(capsys.readouterr().out)["title"] == "benchbuilder recipe"
    run("schema", ["--output", "recipe.schema.json"])
    assert json.loads((garden.folder / "recipe.schema.json").read_text())["$defs"]


def test_ls_lists_recipes_with_their_titles_and_variants(garden: Any) -> None:
    garden.write("recipes/recipe/broken.yaml", "a: [\n")
    text = run("ls", [])[1]
    assert "garden en Garden triples_file strict recipes/recipe/garden.yaml" in " ".join(text.split())
    assert "strict" in text
    assert "recipes/recipe/balcony.yaml" in text
    assert "cannot be read" in text


def test_ls_lists_kinds(garden: Any) -> None:
    text = run("ls", ["--kinds"])[1]
    assert "retriever" in text
    assert "bm25" in text


# --- startup ---------------------------------------------------------------------------------------------------------

HEAVY = {
    "torch", "transformers", "openai", "pandas", "polars", "pyarrow", "numpy", "scipy", "sklearn", "datasets", "hydra",
    "omegaconf", "pydantic", "jinja2", "opencc", "jieba", "jieba_next", "rank_bm25", "rapidfuzz", "openpyxl",
    "sacrebleu", "sqlalchemy", "asyncio", "ray", "numba",
}  # fmt: skip
CODE = """
import sys
from benchbuilder.cli.dispatch import main
code = main(sys.argv[1:])
sys.stderr.write("\\n" + " ".join(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""


def imported(*words: str) -> set[str]:
    """The packages that a process has imported when it has run a command."""
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", CODE, *words], cwd=root, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
    return set(result.stderr.rpartition("\n")[2].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()])
def test_the_help_needs_nothing(words):
    assert not imported(*words) & (HEAVY | {"rich", "yaml", "argparse", "importlib_metadata"})


@pytest.mark.parametrize("words", [("ls",), ("ls", "--kinds")])
def test_listings_need_no_engine(words):
    assert not imported(*words) & HEAVY
