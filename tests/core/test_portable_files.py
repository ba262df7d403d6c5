"""What differs on Windows and macOS: line ends, encodings, files that others have open, names, workers."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbuilder.authoring import sweep_runs
from benchbuilder.cli.streams import complete_streams
from benchbuilder.config import bundled_folder, load_recipe
from benchbuilder.core import RecipeError, atomic_write, move_into_place

ROOT = Path(__file__).parents[2]
FAKE_WINDOWS = ROOT / "tests" / "support" / "fake_windows"
MODES = set("rwaxbt+")


def written_in_the_way_of_a_system(tree: ast.Module) -> Iterator[str]:
    """The calls that write or read text and leave the line ends or the encoding to the system."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        named = {keyword.arg for keyword in call.keywords}
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        modes = [text for text in texts if text and set(text) <= MODES]
        writes = name == "write_text" or (name == "open" and bool(modes) and bool(set(modes[0]) & set("wax+")))
        if name == "open" and modes and "b" in modes[0]:
            continue
        encoded = "encoding" in named or "utf-8" in texts
        if writes and ("newline" not in named or not encoded) and "os.devnull" not in ast.unparse(call):
            yield ast.unparse(call)
        if (name == "read_text" or (name == "open" and modes and not writes)) and not encoded:
            yield ast.unparse(call)


@pytest.mark.push
def test_every_text_file_names_its_encoding_and_its_line_ends() -> None:
    files = [*(ROOT / "benchbuilder").rglob("*.py"), *(ROOT / "plugins").glob("*/benchbuilder_*/**/*.py")]
    found = {str(path): list(written_in_the_way_of_a_system(ast.parse(path.read_text("utf-8")))) for path in files}
    assert {path: calls for path, calls in found.items() if calls} == {}


def test_a_file_that_another_program_reads_for_a_moment_is_replaced_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").write_text("new", encoding="utf-8")
    replace, refusals = Path.replace, iter([True, True])

    def refuse_at_first(source: Path, target: Path) -> Path:
        if next(refusals, False):
            raise PermissionError(13, "the file is in use", str(target))
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", refuse_at_first)
    monkeypatch.setattr(atomic_write, "_WAITS_S", (0.0,) * 7)
    monkeypatch.setattr("sys.platform", "win32")
    move_into_place(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text("utf-8") == "new"


@pytest.mark.push
@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("steps.con={kind: sample, from: items, n: 3}", "Windows cannot have a folder"),
        ("steps.Items={kind: sample, from: items, n: 3}", "`items` has this name too"),
        ("evaluation.models={gpt: {kind: none}, GPT: {kind: none}}", "`gpt` has this name too"),
    ],
)
def test_a_name_that_another_system_cannot_have_is_refused(override: str, fault: str) -> None:
    with pytest.raises(RecipeError, match=fault):
        load_recipe(["recipe=reading_en" if "steps" in override else "recipe=care_mi", f"+{override}".removeprefix(
            "+" if override.startswith("evaluation") else "")], recipes=[str(bundled_folder("recipes"))])  # fmt: skip


def test_runs_of_a_sweep_whose_names_differ_in_capitals_have_folders_of_their_own() -> None:
    names = [run.name for run in sweep_runs(["recipe=care_mi", "steps.replace_choice.option=first,First,con"])]
    assert len({name.casefold() for name in names}) == 3
    assert "con" not in names


def test_output_that_goes_to_a_file_is_utf_8_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    monkeypatch.setattr("sys.platform", "win32")
    complete_streams()
    assert stream.encoding == "utf-8"


UNGUARDED = """
import benchbuilder as bb
bb.build("reading_en", ["run.workers=2", "run.shard_rows=2", "annotation=none"])
"""


@pytest.mark.full
def test_a_script_that_its_workers_would_run_again_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert 'below `if __name__ == "__main__":`' in done.stderr
    from_input = subprocess.run(
        [sys.executable, "-"], cwd=tmp_path, input=UNGUARDED, capture_output=True, text=True, timeout=120, check=False
    )
    assert "a script without a file" in from_input.stderr


@pytest.mark.full
def test_a_build_runs_where_files_behave_as_on_windows(tmp_path: Path) -> None:
    environment = {
        **os.environ, "FAKE_WINDOWS_BELOW": str(tmp_path), "PYTHONPATH": str(FAKE_WINDOWS), "HOME": str(tmp_path),
        "PYTHONUTF8": "0", "LC_ALL": "C",
    }  # fmt: skip
    command = [sys.executable, "-m", "benchbuilder", "recipe=reading_en", "run.workers=2", "run.shard_rows=8"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", errors="replace", check=False,
        start_new_session=True,  # a group of its own, whose processes alone may have its files open
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    folder = tmp_path / "builds" / "reading_en"
    names = ("recipe.yaml", "ledger.tsv", "items.jsonl", "run.jsonl", "README.md", "store/outputs.json")
    assert [name for name in names if b"\r" in (folder / name).read_bytes()] == []
