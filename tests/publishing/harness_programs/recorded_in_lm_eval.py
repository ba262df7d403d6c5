"""Runs an exported task in lm-eval over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import lm_eval
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

folder, name, replies_file, scores_file = sys.argv[1:]
replies = json.loads(Path(replies_file).read_text("utf-8"))


class Recorded(LM):
    """The recorded replies of one model, by question."""

    def __init__(self, said):
        super().__init__()
        self.said = said

    def loglikelihood(self, requests, **_):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def generate_until(self, requests, **_):
        return [self.said.get(request.doc["id"], {"text": ""})["text"] for request in requests]


manager = TaskManager(include_path=folder, include_defaults=False)
scores = []
names = set()
for who, said in replies.items():
    asked = [name] if names else [name, f"{name}_tf_by_source"]  # the group once: its questions are the same
    out = lm_eval.simple_evaluate(
        Recorded(said), tasks=asked, task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    names |= {f"{task}/{metric}" for task, found in out["results"].items() for metric in found}
    for task, samples in out["samples"].items():
        config = {f"{name}_tf": "tf", f"{name}_oe": "oe"}.get(task)
        for sample in samples:
            if config is not None and sample["doc"]["id"] in said:
                value = None if sample.get("invalid") else sample["acc" if config == "tf" else "chrf_difference"]
                scores.append([who, sample["doc"]["id"], config, value])

os.chdir(folder)
(written,) = [line for line in Path("README.md").read_text("utf-8").splitlines() if line.startswith("lm_eval ")]
sys.argv = [*shlex.split(written), "--num_fewshot", "4"]  # the command of the page, with examples
cli_evaluate()
prompts = {}
for file in Path("results").rglob(f"samples_{name}_*.jsonl"):
    config = re.split(r"_\d{4}-", file.name.removeprefix(f"samples_{name}_"))[0]
    for line in file.read_text("utf-8").splitlines():
        sample = json.loads(line)
        prompts[config] = [sample["doc"]["id"], str(sample["arguments"]["gen_args_0"]["arg_0"])]
data = {"metrics": sorted(names), "scores": scores, "prompts": prompts}
Path(scores_file).write_text(json.dumps(data), "utf-8")
