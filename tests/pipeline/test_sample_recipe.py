"""The bundled recipe through the engine: every unit ends, shards and processes change no byte, a kill neither."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchbuilder
from benchbuilder.config.load import load_recipe
from benchbuilder.evaluation.audit.duplicates import find_duplicates
from benchbuilder.pipeline.build import BuildReport, build_benchmark
from benchbuilder.pipeline.inspector import Inspector
from benchbuilder.pipeline.plan import Plan, make_plan
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

ROOT = Path(benchbuilder.__file__).parents[1]
ENDS = {"item", "dropped", "not applicable", "unused", "used", "kept"}
pytestmark = pytest.mark.full


class Quiet:
    def begin(self, step: str, total: int | None, unit: str) -> None: ...

    def advance(self, step: str, count: int) -> None: ...

    def end(self, step: str, summary: str) -> None: ...

    def note(self, text: str) -> None: ...


def planned(folder: Path, *words: str) -> tuple[Plan, Store, str]:
    loaded = load_recipe(
        ["recipe=care_mi", "annotation=none", f"run.dir={folder / 'build'}", *words], cwd=folder, environ={}
    )
    store = Store(loaded.recipe.build_folder(folder))
    return make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of), store, loaded.yaml


def built(folder: Path, *words: str) -> tuple[Plan, Store, BuildReport]:
    folder.mkdir(exist_ok=True)
    plan, store, yaml = planned(folder, *words)
    return plan, store, build_benchmark(plan, store, yaml, Quiet())


def outputs(store: Store) -> dict[str, bytes]:
    return {
        path.relative_to(store.folder).as_posix(): path.read_bytes()
        for path in sorted(store.folder.rglob("*"))
        if path.is_file() and path.name != "run.jsonl" and store.folder / "store" not in path.parents
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Store, BuildReport]:
    return built(tmp_path_factory.mktemp("whole"))


def test_no_two_items_repeat_or_contradict_each_other(whole: tuple[Plan, Store, BuildReport]) -> None:
    _, store, report = whole
    assert find_duplicates(store.rows(report.manifests["items"])) == []


def test_every_source_unit_ends_somewhere(whole: tuple[Plan, Store, BuildReport]) -> None:
    plan, store, report = whole
    inspector = Inspector.of_plan(plan, store)
    seen: set[str] = set()
    for name in plan.recipe.sources:
        units = store.outcomes(report.manifests[name]).to_pylist()
        assert units
        for unit in units:
            branches = inspector.branches_of(f"{unit['file']}:{unit['line']}")
            assert branches
            outcomes = {branch.outcome for branch in branches}
            assert outcomes <= ENDS
            assert all(branch.reason or branch.outcome in ("item", "kept", "used") for branch in branches)
            seen |= outcomes
    assert "item" in seen


def test_every_item_goes_back_to_a_line(whole: tuple[Plan, Store, BuildReport]) -> None:
    plan, store, report = whole
    inspector = Inspector.of_plan(plan, store)
    for item in store.rows(report.manifests[plan.recipe.items]).ids()[::20]:
        made = inspector.trace(item)
        assert made[-1][0] in plan.recipe.sources
        assert len({row.id for _, row in made}) == len(made)


def test_a_second_build_makes_nothing(whole: tuple[Plan, Store, BuildReport]) -> None:
    _, store, _ = whole
    before = outputs(store)
    _, _, report = built(store.folder.parent)
    assert not report.built_steps
    assert outputs(store) == before


def test_shards_and_workers_change_no_byte(whole: tuple[Plan, Store, BuildReport], tmp_path: Path) -> None:
    _, store, report = whole
    for words in (("run.shard_rows=60",), ("run.workers=2", "run.shard_rows=200")):
        _, other, again = built(tmp_path / words[0].replace("=", "_"), *words)
        assert {n: m.digest for n, m in again.manifests.items()} == {n: m.digest for n, m in report.manifests.items()}
        assert again.manifests["candidates"].shards == 1
        assert again.manifests["evidence"].shards > 1
        assert outputs(other) == outputs(store)
