"""Editing one file of care_mi reruns what depends on it, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from once import BUILT, Once
from rich.console import Console

from benchbuilder.config.load import load_recipe
from benchbuilder.config.trust import trusting
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.plan import Plan, make_plan
from benchbuilder.pipeline.progress import LineProgress
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

pytestmark = pytest.mark.push

ROOT = Path(__file__).parents[2]
LAST = {"candidates", "families", "corrected", "evidence", "items"}


def planned(here: Path, patch: pytest.MonkeyPatch) -> tuple[Plan, Store, str]:
    patch.chdir(here)
    with trusting([str(here)]):
        loaded = load_recipe(["recipe=care_mi", "annotation=none"])
    store = Store(here / "build")
    return make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of), store, loaded.yaml


@pytest.fixture(scope="module")
def copy(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipes and prompts in a folder of their own, and the sample built there."""
    here = tmp_path_factory.mktemp("copy")
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", here / "build")
    for name in ("recipes", "prompts"):
        shutil.copytree(ROOT / name, here / name)
    with pytest.MonkeyPatch.context() as patch:
        plan, store, text = planned(here, patch)
        build_benchmark(plan, store, text, LineProgress(Console(quiet=True)))
    return here


@pytest.mark.full
@pytest.mark.parametrize(
    ("file", "more", "reruns"),
    [
        ("prompts/zh/negate.j2", "{# edited #}\n", {"negate_choice", "ask_tf_choice", *LAST}),
        ("prompts/zh/ask_oe.j2", "{# edited #}\n", {"ask_oe_choice", *LAST}),
        (
            "recipes/recipe/care_mi/relations_bios.tsv",
            "# edited\n",
            {"state_triple", "swap_triple", "negate_triple", "ask_tf_triple", "ask_oe_triple", "ask_set_triple", *LAST},
        ),
        ("recipes/recipe/care_mi/stopwords.txt", "某某\n", {"evidence", "items"}),
    ],
)
def test_an_edited_file(copy: Path, monkeypatch: pytest.MonkeyPatch, file: str, more: str, reruns: set[str]) -> None:
    before = (copy / file).read_bytes()
    try:
        with (copy / file).open("a", encoding="utf-8") as stream:
            stream.write(more)
        plan, store, _ = planned(copy, monkeypatch)
        statuses = plan.statuses(store)
        assert {name for name, status in statuses.items() if status.state != "reused"} == reruns
        first = next(name for name in statuses if name in reruns)
        assert Path(file).name in statuses[first].why
    finally:
        (copy / file).write_bytes(before)
