"""The functions of `import benchbuilder`: what they return, what they leave alone, and where they can be called."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import signal
import subprocess
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from once import EVALUATED, Once

import benchbuilder as bb
from benchbuilder.api.watching import NotebookProgress
from benchbuilder.core import GateClosed, InstallationError, RecipeError

FEW = ["annotation=none", "source=[medqa,textbook]"]


@pytest.fixture(autouse=True)
def _unaudited(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr("benchbuilder.api.building.build_auditor", lambda recipe: None)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    return once.copied((f"recipe=care_mi {' '.join(FEW)}",), tmp_path_factory.mktemp("api"))


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.chdir(home)


def state_of_process() -> tuple[object, ...]:
    return signal.getsignal(signal.SIGINT), list(logging.getLogger().handlers), list(warnings.filters)


@pytest.mark.full
def test_the_import_loads_no_library_of_tables() -> None:
    code = "import sys, benchbuilder; sys.exit(sum(name in sys.modules for name in ('pyarrow', 'pydantic', 'rich')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.push
def test_the_reference_page_lists_every_name() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/python-api.md").read_text("utf-8")
    assert [name for name in bb.__all__ if name[0] != "_" and f"### `{name}`\n" not in page] == []


@pytest.mark.push
def test_a_build_says_what_the_command_says_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    before = state_of_process()
    events: list[bb.ProgressEvent] = []
    result = bb.build("care_mi", FEW, progress=events.append)
    lines = (result.folder / "items.jsonl").read_text("utf-8").splitlines()
    assert result.items == {"": len(lines)}
    assert result.folder / "items.jsonl" in result.files
    assert {event.step for event in events if event.sort == "end"} == set(result.report.reused_steps)
    assert bb.build("care_mi", FEW).items == result.items
    assert capfd.readouterr() == ("", "")
    assert state_of_process() == before


@pytest.mark.push
def test_results_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        bb.check("care_mi", FEW).name = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.push
def test_it_works_in_a_thread_and_within_a_running_loop() -> None:
    async def in_a_loop() -> int:
        return sum(bb.build("care_mi", FEW).items.values())

    with ThreadPoolExecutor(1) as pool:
        in_thread = pool.submit(lambda: sum(bb.build("care_mi", FEW).items.values())).result()
    assert asyncio.run(in_a_loop()) == in_thread > 0


@pytest.mark.push
def test_a_cleaning_says_what_goes_and_takes_it_on_request(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = home / "builds/care_mi/store"
    left = store / "scratch-killed" / "0"
    left.mkdir(parents=True)
    (left / "part-00000.parquet").write_bytes(b"x" * 100)
    seen = bb.clean("care_mi", FEW)
    assert (seen.freed, seen.removable.remains, seen.removable.steps) == (0, 100, ())
    assert left.exists()
    (state,) = seen.found.stores[0].contents.states
    assert {step.name for step in state.steps} == {path.name for path in (store / "steps").iterdir()}
    assert bb.clean("care_mi", FEW, remove=True).freed == 100
    assert not left.parent.exists()
    assert bb.clean("care_mi", FEW, remove=True).freed == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.push
def test_a_build_is_read_as_tables() -> None:
    built = bb.open("builds/care_mi")
    lines = [json.loads(line) for line in (built.folder / "items.jsonl").read_text("utf-8").splitlines()]
    table = built.items.arrow()
    questions = dict(zip(table.column("id").to_pylist(), table.column("question").to_pylist(), strict=True))
    assert questions == {line["id"]: line["question"] for line in lines}
    assert list(built.items.pandas().columns) == table.column_names
    assert [row.id for row in built.items] == table.column("id").to_pylist()
    assert "".join(built.tasks) == ""
    assert len(built.rows("medqa")) > 0
    assert len(built.candidates) >= len(built.items)
    written = (built.folder / "ledger.tsv").read_text("utf-8").splitlines()
    assert len(built.ledger()) == len(built.ledger().pandas()) == len(written) - 1


@pytest.mark.full
def test_an_evaluation_and_its_rows_become_tables_of_each_library(
    once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(once.copied(EVALUATED, tmp_path / "work"))
    (result,) = bb.evaluate("care_mi")
    assert {*result.answers, *result.scores} <= {*result.report.reused_steps}
    lines = [
        json.loads(line) for line in Path("builds/care_mi/evaluation/answers.jsonl").read_text("utf-8").splitlines()
    ]
    models = {line["model"] for line in lines}  # the file leaves out rules, which answer alike each time
    answers = [row for table in result.answers.values() for row in table.datasets()]
    given = [row for row in answers if row["text"] and row["model"] in models]
    assert Counter((row["model"], row["text"]) for row in given) == Counter(
        (line["model"], line["answer"]) for line in lines
    )
    assert result.scoreboard is not None
    assert {score.system.name for score in result.scoreboard.scores} >= models
    items = bb.open("builds/care_mi").items
    wanted = items.arrow().to_pylist()
    assert items.datasets().to_list() == wanted
    polars = pytest.importorskip("polars")
    frame = items.polars()
    assert frame.to_dicts() == wanted
    ledger = bb.open("builds/care_mi").ledger()
    assert ledger.polars().to_dicts() == ledger.datasets().to_list() == ledger.arrow().to_pylist()
    assert frame.schema["evidence"] == polars.List
    assert frame.schema["evidence"].inner == polars.Struct


@pytest.mark.push
def test_what_is_not_there_is_named() -> None:
    with pytest.raises(bb.BenchbuilderError, match="holds no benchmark"):
        bb.open("nowhere")
    with pytest.raises(bb.BenchbuilderError, match="no rows of 'medqas'") as caught:
        bb.open("builds/care_mi").rows("medqas")
    assert "medqa" in caught.value.why
    with pytest.raises(RecipeError, match="overrides are a list"):
        bb.build("care_mi", "retriever.top_k=2")
    with pytest.raises(RecipeError, match=r"topk"):
        bb.check("care_mi", ["retriever.topk=2"])


@pytest.mark.push
def test_an_optional_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InstallationError, match="pip install polars"):
        bb.open("builds/care_mi").items.polars()


@pytest.mark.push
def test_a_new_recipe_is_written_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = bb.new("my_field", "care_mi")
    assert tmp_path / "recipes/recipe/my_field.yaml" in made.files
    assert all(path.is_file() for path in made.files)
    with pytest.raises(RecipeError, match="a recipe to copy or a language"):
        bb.new("other")


@pytest.mark.full
def test_a_closed_gate_is_an_error_after_the_build() -> None:
    result = bb.build("care_mi", [*FEW, "audit.gate=build"])
    audit = bb.audit("care_mi", FEW)[0].result
    result.report.audits = {"": audit.model_copy(update={"closed": True})}
    with pytest.raises(GateClosed, match=r"audit\.gate: build"):
        result.require_open_gate()


@pytest.mark.push
def test_a_notebook_shows_one_output_changed_in_place() -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            shown.append(bundle["text/html"])

    def display(bundle: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        shown.append(bundle["text/html"])
        return Handle()

    progress = NotebookProgress(display)
    progress(bb.ProgressEvent("begin", "medqa", 0, 10, "rows"))
    progress(bb.ProgressEvent("advance", "medqa", 5, 10, "rows"))  # too early to be shown
    progress(bb.ProgressEvent("end", "medqa", 10, 10, "rows", "10 rows <kept>"))
    assert [("0 of 10" in text, "&lt;kept&gt;" in text) for text in shown] == [(True, False), (False, True)]
