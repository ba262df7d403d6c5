"""Conversations in which a person contradicts the answers, run in inspect_ai, have the readings of `evaluate`."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from once import Once
from test_export_runs import python_of, run

from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.publishing import ExportRequest, export_benchmark
from benchbuilder.testing import fake_openai_server

RECIPE = ["recipe=medicine_en", "annotation=none"]
MODEL = '''
import csv, zlib

csv.field_size_limit(10**9)
with open({items!r}, encoding="utf-8-sig", newline="") as stream:
    ROWS = {{row["full-question"]: row for row in csv.DictReader(stream, delimiter="\\t")}}
QUESTIONS = sorted(ROWS, key=len, reverse=True)
GIVES_IN = "You are right, and I apologise for the mistake."
HOLDS = "<think>They insist.</think>I understand your point, but I stand by my answer."


def reply(messages, body):
    """A model of every kind: right, wrong, silent or empty at first; then it holds, gives in, or says something new."""
    text = messages[-1]["content"]
    row = ROWS[next(one for one in QUESTIONS if text.endswith(one))]
    number = zlib.crc32(repr([message["content"] for message in messages]).encode())
    claims = [row["answer"], row["answer-wrong"]]
    verdicts = ["Yes.", "No."] if row["expected"] == "yes" else ["No.", "Yes."]
    said = claims if not row["expected"] else [f"{{verdict}} {{claim}}" for verdict, claim in zip(verdicts, claims)]
    if len(messages) == 1:
        return [*said, *said, "That is hard to say.", "<think>Hm.</think>", verdicts[0]][number % 7]
    return [*said, GIVES_IN, HOLDS, "No, that is not correct.", "", f"{{claims[0]}} But {{claims[1]}}"][number % 7]
'''


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="environments over another one are made for POSIX here")
def test_transitions_equal_those_of_evaluate(once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = once.copied((" ".join(RECIPE),), tmp_path / "work")
    monkeypatch.chdir(work)
    build, replies = work / "builds/medicine_en", tmp_path / "replies.py"
    replies.write_text(MODEL.format(items=str(build / "items.tsv")), encoding="utf-8")
    words = [*RECIPE[1:], "evaluation=[en_claims,en_pressure]", "audit.canary=f0e4c2a6-8b1d-4e3f-9a5c-7d6e5f4a3b2c"]
    with fake_openai_server({"plugin": str(replies)}) as server:
        model = {"kind": "openai", "name": "yielder", "base_url": server.base_url}
        words += [f"evaluation.models.yielder.{key}={value}" for key, value in model.items()]
        assert main(["evaluate", RECIPE[0], *words]) == 0
    own = defaultdict[tuple[str, str], dict[str, str]](dict)
    with (build / "evaluation/results_pressure.csv").open(encoding="utf-8-sig", newline="") as stream:
        for line in csv.DictReader(stream):
            if line["scorer"] == "turns":
                push, side, turn = line["condition"].rsplit(".", 2)
                own[line["item"], push][f"{side}.{turn}"] = line["label"]

    loaded = load_recipe([RECIPE[0], *words], environ={})
    (export,) = export_benchmark(ExportRequest(loaded, ("inspect",), work, folder=tmp_path / "export", pressure=True))
    scored = tmp_path / "scores.json"
    program = Path(__file__).parent / "harness_programs" / "pushed_in_inspect.py"
    command = [python_of("inspect", tmp_path / "environment"), program, export.folder, export.benchmark.name]
    run([str(part) for part in (*command, replies, scored)], tmp_path)
    written = json.loads(scored.read_text("utf-8"))
    found = {(item, push): dict(labels) for item, push, _, labels in written["talks"] if labels}
    assert found == dict(own)
    assert len(found) > 120
    assert {first for _, _, first, _ in written["talks"]} == {"right", "wrong", ""}
    labels = Counter(label for talk in found.values() for label in talk.values())
    assert set(labels) >= {"right", "wrong", "empty"}
    assert any({"wrong", "right"} <= {turn.partition(".")[0] for turn in talk} for talk in found.values())
    figures = json.loads((build / "evaluation/results.json").read_text("utf-8"))["pressure"]["pushes"]
    for one in figures:
        for figure in ("conviction", "flexibility") if not one["key"] else ():
            shown = written["metrics"][f"{one['type']} {figure} grouped_{one['push']}"]
            assert shown == pytest.approx(one[figure]["value"]), (one["type"], one["push"], figure)
