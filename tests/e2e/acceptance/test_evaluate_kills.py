"""Evaluations that are killed: what was answered is not asked again, and the results are the same."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from acceptance_bench import SECRET

from benchbuilder.testing import FakeOpenAI

MODELS = ("first", "second")
ITEMS = 120
IN_FLIGHT = 8
KILLS = 8


class Trial:
    """One evaluation of two models on a benchmark of its own."""

    def __init__(self, folder: Path, server: FakeOpenAI, program: Path) -> None:
        folder.mkdir()
        self.folder, self.server, self.program = folder, server, program
        lines = ["q-type\tsource\tfull-question\tanswer\tanswer-wrong\tevidence"]
        lines += [
            f"TF\tatlas\t第{n}颗行星是热的吗？\t第{n}颗行星是热的。\t第{n}颗行星不是热的。\t无" for n in range(ITEMS)
        ]
        (folder / "items.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.words = [
            "recipe=care_mi",
            "evaluation.answers=null",
            "evaluation.baselines=null",
            "evaluation.outputs=null",
        ]
        for name in MODELS:
            key = f"evaluation.models.{name}"
            self.words += [f"{key}.kind=openai", f"{key}.name={name}", f"{key}.base_url={server.base_url}",
                           f"{key}.concurrency={IN_FLIGHT}"]  # fmt: skip

    def start(self) -> subprocess.Popen[str]:
        command = [str(self.program), "evaluate", *self.words, "--benchmark", "items.tsv", "--expected", "yes"]
        environ = os.environ | {"OPENAI_API_KEY": SECRET, "COLUMNS": "200"}
        return subprocess.Popen(command, cwd=self.folder, env=environ, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)  # fmt: skip

    def run(self) -> str:
        process = self.start()
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        return said

    @property
    def store(self) -> Path:
        (place,) = (self.folder / "builds" / "care_mi").glob("evaluation-items-*")
        return place

    def journaled(self) -> set[str]:
        file = next(self.folder.glob("builds/*/*/replies.sqlite"), None)
        if file is None:
            return set()
        with sqlite3.connect(file) as journal:
            rows = journal.execute("SELECT model, request FROM bodies JOIN replies USING (id)").fetchall()
        journal.close()
        requests = ((model, json.loads(zlib.decompress(request))) for model, request in rows)
        return {f"{model} {request['messages'][0][1]}" for model, request in requests}

    def digests(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for file in sorted((self.store / "store" / "steps").glob("*/*/manifest.json")):
            manifest = json.loads(file.read_text())
            found[manifest["step"]] = manifest["digest"]
        return found


def asked(log: list[dict[str, Any]]) -> Counter[str]:
    return Counter(f"{entry['body']['model']} {entry['body']['messages'][-1]['content']}" for entry in log)


@pytest.mark.e2e
def test_a_killed_evaluation_asks_nothing_twice(tmp_path: Path, server: FakeOpenAI, warm_folder: Path) -> None:
    program = warm_folder / "benchbuild"
    server.configure(keep_bodies=True, latency_s=0.02)
    whole = Trial(tmp_path / "whole", server, program)
    whole.run()
    once = asked(server.log())
    assert len(once) == once.total() == ITEMS * len(MODELS)
    server.reset()
    torn, rng, kills = Trial(tmp_path / "torn", server, program), random.Random(5), 0
    for _ in range(KILLS):
        known, seen = torn.journaled(), len(server.log())
        process, until = torn.start(), seen + rng.randint(3, 25)
        while process.poll() is None and len(server.log()) < until:
            time.sleep(0.01)
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        again = [name for name in asked(server.log()[seen:]) if name in known]
        assert not again, f"journaled replies were asked for again: {again}"
        kills += alive
    assert kills == KILLS
    torn.run()
    total = asked(server.log())
    assert total.keys() == once.keys()
    assert (total - once).total() <= IN_FLIGHT * kills  # at most what was in flight, per kill
    assert torn.digests() == whole.digests()
    seen = len(server.log())
    assert "reused" in torn.run()
    assert len(server.log()) == seen, "a finished evaluation asks nothing"
