"""Of a recipe that looks at more than files, nobody can tell from files whether anything changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core.registry import Kind
from benchbuilder.evaluation.baselines.people import PeopleSpec
from benchbuilder.evaluation.scorers.judged import JudgedSpec
from benchbuilder.evaluation.scorers.ratings import RatingsSpec
from benchbuilder.pipeline import build_inputs, inputs_of_build
from benchbuilder.retrieval.tokenizers.huggingface import HuggingfaceSpec
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec
from benchbuilder.sources.record_source import SqlSpec

ON_THE_HUB = HuggingfaceSpec(kind="huggingface", name="owner/model", revision="0" * 40)
IN_A_FOLDER = HuggingfaceSpec(kind="huggingface", path=FileRef(path="model"))


def inputs(spec: Any, folder: Path) -> build_inputs.BuildInputs | None:
    file = folder / "words" / "list.txt"
    loaded: Any = SimpleNamespace(
        whole=KindSpec(kind="whole") if spec is None else spec, files=(("words", FileRef(path=str(file))),),
        search_paths=(str(folder / "mine"),), roots=(), prompt_roots=(),
    )  # fmt: skip
    store: Any = SimpleNamespace(folder=folder / "build")
    plan: Any = SimpleNamespace(nodes={})
    return inputs_of_build(loaded, plan, store)


def test_files_folders_and_what_is_not_there_count(tmp_path: Path) -> None:
    found = inputs(WhitespaceSpec(kind="whitespace"), tmp_path)
    assert found is not None
    assert tmp_path / "words" / "list.txt" in found.files
    assert tmp_path / "recipe.yaml" in found.files
    assert {tmp_path / "mine", tmp_path / "prompts", Path.cwd() / "recipes"} <= set(found.trees)
    assert set(found.trees[tmp_path / "build"]) == {"run.jsonl", "store/lock", "store/cache"}


@pytest.mark.parametrize("written", ["data/*.tsv", "data/part-?/x.tsv"])
def test_of_a_pattern_the_folder_counts_in_which_files_may_appear(tmp_path: Path, written: str) -> None:
    assert build_inputs._tree_of(tmp_path / written) == tmp_path / "data"  # pyright: ignore[reportPrivateUsage]


def test_hubs_and_databases_are_elsewhere(tmp_path: Path) -> None:
    assert inputs(IN_A_FOLDER, tmp_path) is not None
    assert inputs(ON_THE_HUB, tmp_path) is None
    assert inputs({"steps": [{"retriever": ON_THE_HUB}]}, tmp_path) is None
    assert inputs(SqlSpec.model_construct(kind="sql"), tmp_path) is None


@pytest.mark.parametrize("spec", [
    JudgedSpec.model_construct(kind="judged", folder="/elsewhere/judge", judge=None, language="en"),
    RatingsSpec(kind="ratings", aspects=("truth",), at_least=1, tolerance=0, threshold=0.5, database_env="VOTES"),
    PeopleSpec(kind="people", database_env="VOTES"),
])  # fmt: skip
def test_judges_and_votes_may_be_elsewhere(spec: Any, tmp_path: Path) -> None:
    assert inputs(spec, tmp_path) is None
    assert inputs(spec.model_copy(update={"folder": None, "database_env": None}), tmp_path) is not None


def test_prompts_are_beside_the_folder_to_which_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "far" / "recipes").mkdir(parents=True)
    (tmp_path / "mine").symlink_to(tmp_path / "far" / "recipes")
    found = inputs(None, tmp_path)
    assert found is not None
    assert tmp_path / "far" / "prompts" in found.trees


def test_the_users_folder_counts_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link may lead elsewhere next time."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "config").symlink_to(tmp_path / "dotfiles")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = inputs(None, tmp_path)
    assert found is not None
    assert tmp_path / "config" / "benchbuilder" in found.trees
    assert tmp_path / "dotfiles" / "prompts" in found.trees


def test_nobody_knows_what_a_plugin_looks_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kinds(slot: str) -> dict[str, Kind]:
        return {"whitespace": Kind(slot, "whitespace", "other:Other", "another-package", "1")}

    monkeypatch.setattr(build_inputs, "kinds_of_slot", kinds)
    assert inputs(WhitespaceSpec(kind="whitespace"), tmp_path) is None
