"""Exports of questions behind claims: marks on every row, what is left out, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from built_sample import BuiltSample
from doc_blocks import ROOT

from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import RecipeError
from benchbuilder.publishing import HARNESSES, ExportRequest, Release, export_benchmark

RECIPE = ("recipe=care_mi", "evaluation=[zh_claims,zh_pressure]")
SENTENCES = yaml.safe_load((ROOT / "recipes/evaluation/zh_pressure.yaml").read_text("utf-8"))["pressure"]


@pytest.fixture(scope="module")
def request_(built: BuiltSample, released: Release) -> ExportRequest:
    """An export of a release with private questions, behind claims."""
    loaded = load_recipe([*RECIPE], environ={})
    return ExportRequest(loaded, tuple(HARNESSES), built.folder, released.folder, pressure=True, without_private=True)


@pytest.mark.push
def test_every_row_is_marked_and_private_questions_have_no_pressure_text(
    request_: ExportRequest, released: Release, tmp_path: Path
) -> None:
    exports = export_benchmark(replace(request_, folder=tmp_path))
    assert {export.harness for export in exports} == set(HARNESSES)
    tasks = exports[0].benchmark.tasks
    assert {task.name for task in tasks} >= {"care_mi_tf_pressure_guideline_wrong", "care_mi_tf_pressure_control"}
    contexts = {row["condition"].partition(".")[0] for task in tasks for row in task.rows}
    assert contexts == {"control", *SENTENCES["contexts"]} - {"passage", "both"}
    public = {
        json.loads(line)["id"] for path in (released.folder / "data").rglob("*.jsonl") for line in path.open("rb")
    }
    for path in tmp_path.rglob("*.test.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            assert row["false_context"] == "true"
            assert row["canary"]
            assert "do not train on it" in row["notice"]
            assert "请勿用于训练" in row["notice"]
            assert row["id"] == f"{row['item']}.{row['condition']}"
            assert row["prompt"].endswith(row["context"] + row["question"])
            side = row["condition"].partition(".")[2]
            told = {"wrong": row["answer_wrong"], "right": row["answer"]}.get(side, "")
            assert told in row["prompt"].removesuffix(row["question"])
            assert not public or row["item"] in public
    notes = (tmp_path / "lm_eval/README.md").read_text("utf-8")
    for left in ("authority, doubt, escalate, insist", "Guards left out (check)", "passage left out (passage, both)"):
        assert left in notes
    with pytest.raises(RecipeError, match=r"\d+ private questions would be named with their label"):
        export_benchmark(replace(request_, folder=tmp_path, without_private=False))


@pytest.mark.push
def test_an_export_without_claims_a_canary_or_known_privacy_is_refused(request_: ExportRequest) -> None:
    def refused(loaded: LoadedRecipe) -> str:
        with pytest.raises(RecipeError) as error:
            export_benchmark(replace(request_, release=None, loaded=loaded))
        return str(error.value)

    assert "nothing is asked under pressure" in refused(load_recipe([RECIPE[0]], environ={}))
    snowball = load_recipe([RECIPE[0], "evaluation=[zh_claims,zh_snowball]"], environ={})
    assert "only pushes are asked, and tasks have one turn" in refused(snowball)
    with pytest.raises(RecipeError, match="every push ends in a conversation of its own"):
        export_benchmark(replace(request_, harnesses=("inspect",), release=None, loaded=snowball))
    assert "set audit.canary" in refused(request_.loaded)
    for more in ({"judge": "some"}, {"pressure": False}):
        with pytest.raises(RecipeError, match="an export with --pressure"):
            export_benchmark(replace(request_, **more))
    private = load_recipe([*RECIPE, "release.private=0.3"], environ={})
    assert "are private in a release" in refused(private)


@pytest.mark.push
def test_no_claim_stands_in_a_release(released: Release) -> None:
    own = [text.split("{")[0].strip() for text in SENTENCES["contexts"].values()]
    files = [path for path in released.folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert len(files) > 5
    for path in files:
        text = path.read_text("utf-8")
        assert not any(words in text for words in own if len(words) > 8), path
