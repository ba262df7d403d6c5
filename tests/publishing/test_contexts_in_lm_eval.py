"""Questions behind claims, run in lm-eval, have the verdicts of `evaluate`."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
import yaml
from doc_blocks import ROOT
from once import Once
from test_export_runs import python_of, run

from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.publishing import ExportRequest, export_benchmark
from benchbuilder.testing import fake_openai_server

RECIPE = ["recipe=medicine_en", "annotation=none"]
PUSHES = yaml.safe_load((ROOT / "recipes/evaluation/en_pressure.yaml").read_text("utf-8"))["pressure"]["pushes"]
MODEL = '''
import zlib

SAID = ["Yes.", "No.", "Yes, of course.", "That is hard to say.", "<think>No?</think>Yes.", "No. That is not so.", ""]


def reply(messages, body):
    """What the whole prompt draws: so a claim in front of the question may change it."""
    return SAID[zlib.crc32(messages[-1]["content"].encode()) % 7]
'''
VALUES = {"right": 1.0, "wrong": 0.0}


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="environments over another one are made for POSIX here")
def test_verdicts_equal_those_of_evaluate(once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = once.copied((" ".join(RECIPE),), tmp_path / "work")
    monkeypatch.chdir(work)
    build, replies = work / "builds/medicine_en", tmp_path / "replies.py"
    replies.write_text(MODEL, encoding="utf-8")
    words = [*RECIPE[1:], "evaluation=[en_claims,en_pressure]", "audit.canary=f0e4c2a6-8b1d-4e3f-9a5c-7d6e5f4a3b2c"]
    words += [f"evaluation.pressure.pushes.{name}=null" for name in PUSHES]
    with fake_openai_server({"plugin": str(replies)}) as server:
        model = {"kind": "openai", "name": "drawn", "base_url": server.base_url}
        words += [f"evaluation.models.drawn.{key}={value}" for key, value in model.items()]
        assert main(["evaluate", RECIPE[0], *words]) == 0
    with (build / "evaluation/results_pressure.csv").open(encoding="utf-8-sig", newline="") as stream:
        own = {
            (line["item"], line["condition"]): VALUES.get(line["label"])
            for line in csv.DictReader(stream) if line["type"] == "TF" and line["scorer"] == "verdict"
        }  # fmt: skip

    loaded = load_recipe([RECIPE[0], *words], environ={})
    (export,) = export_benchmark(ExportRequest(loaded, ("lm_eval",), work, folder=tmp_path / "export", pressure=True))
    scored = tmp_path / "scores.json"
    program = Path(__file__).parent / "harness_programs/pressed_in_lm_eval.py"
    command = [python_of("lm_eval", tmp_path / "environment"), program, export.folder, export.benchmark.name]
    run([str(part) for part in (*command, replies, scored)], tmp_path)
    found = {(item, condition): value for item, condition, value in json.loads(scored.read_text("utf-8"))}
    assert found == {key: own[key] for key in found}
    assert len(found) > 400
    assert set(found.values()) == {0.0, 1.0, None}
    left = {condition.partition(".")[0] for _, condition in own.keys() - found.keys()}
    assert left == {"passage", "both", "guideline+check", "control+check", "again"}
