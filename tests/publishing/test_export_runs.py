"""Exports of a release run in their harnesses, over the recorded answers with the scores of `benchbuild evaluate`."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import venv
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from built_sample import BuiltSample
from once import EVALUATED, Once
from patience import patience

from benchbuilder.config import load_recipe
from benchbuilder.publishing import ExportRequest, export_benchmark

_NEEDED = {
    "lm_eval": "lm-eval==0.4.13 evaluate jsonlines pytablewriter DataProperty mbstrdecoder typepy tabledata "
    "pathvalidate tcolorpy word2number rouge-score absl-py chardet",
    "inspect": "inspect_ai==0.3.285 agent-client-protocol beautifulsoup4 debugpy docstring_parser jsonlines jsonpatch "
    "jsonpath-ng jsonpointer jsonref linkify-it-py mdit-py-plugins mmh3 nest-asyncio2 python-dotenv semver shortuuid "
    "soupsieve tenacity textual tiktoken uc-micro-py universal-pathlib zipfile-zstd zipp zstandard",
}
"""What each harness imports besides the packages of this environment."""
_NAMED = {name: os.environ.get(f"BENCHBUILDER_PYTHON_OF_{name.upper()}", "") for name in ("evalscope", "opencompass")}
"""The Python of harnesses that need large environments of their own: they run where a variable names one."""
_PROGRAMS = Path(__file__).parent / "harness_programs"


def python_of(harness: str, folder: Path) -> Path:
    """A Python with the harness: one that a variable names, or a new environment over this one."""
    if named := _NAMED.get(harness):
        return Path(named)
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "here.pth").write_text("\n".join(here), encoding="utf-8")
    install = ["-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", packages]
    install += _NEEDED[harness].split()
    done = subprocess.run([sys.executable, *install], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{harness} cannot be installed here: {done.stderr[-300:]}")
    return folder / "bin" / "python"


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="environments over another one are made for POSIX here")
@pytest.mark.parametrize("harness", [*_NEEDED, *(name for name, python in _NAMED.items() if python)])
def test_scores_equal_those_of_evaluate(harness: str, once: Once, tmp_path: Path) -> None:
    python = python_of(harness, tmp_path / "environment")
    work = once.copied(EVALUATED, tmp_path / "work")
    sample = BuiltSample(work, load_recipe(["recipe=care_mi"]))
    release = sample.release(private=0.2, dev=4)
    (export,) = export_benchmark(ExportRequest(sample.loaded, (harness,), work, release.folder))
    evaluation = work / "builds" / "care_mi" / "evaluation"
    replies: defaultdict[str, dict[str, dict[str, object]]] = defaultdict(dict)
    for line in (evaluation / "answers.jsonl").read_text("utf-8").splitlines():
        answer = json.loads(line)
        replies[answer["model"]][answer["id"]] = {"text": answer["answer"], "cut": answer["outcome"] == "truncated"}
    said, scored = tmp_path / "replies.json", tmp_path / "scores.json"
    said.write_text(json.dumps(replies), encoding="utf-8")
    program = _PROGRAMS / f"recorded_in_{harness}.py"
    command = [str(part) for part in (python, program, export.folder, export.benchmark.name, said, scored)]
    here = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=patience(1_200), check=False, env=here
    )
    assert done.returncode == 0, done.stderr[-3000:]

    own: dict[tuple[str, str, str], str] = {}
    with (evaluation / "results_scores.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            own[row["model"], row["item"], row["aspect"]] = row["value"]
    agree: Counter[str] = Counter()
    written = json.loads(scored.read_text("utf-8"))
    for model, item, config, value in written["scores"]:
        wanted = own.get((model, item, "verdict" if config == "tf" else "chrf_difference"))
        if config == "tf":
            assert value == (float(wanted) if wanted else None), (model, item)
        elif wanted is not None:
            assert abs(value - float(wanted)) <= 5.1e-10, (model, item)
        agree[config] += wanted is not None
    asked = {task.config: {row["id"]: row["prompt"] for row in task.rows} for task in export.benchmark.tasks}
    for config, aspect in (("tf", "verdict"), ("oe", "chrf_difference")):
        answered = {(who, item) for who, item, what in own if what == aspect and item in replies.get(who, ())}
        assert agree[config] == sum(item in asked[config] for _, item in answered) > 100
    for task in export.benchmark.tasks if "prompts" in written else ():
        item, prompt = written["prompts"][task.config]
        assert prompt.rstrip().endswith(asked[task.config][item])
        assert sum(row["prompt"] in prompt and row["target"] in prompt for row in task.examples) == 4
