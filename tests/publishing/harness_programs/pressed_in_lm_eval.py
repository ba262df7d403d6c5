"""Runs exported questions behind claims in lm-eval against a scripted model: FOLDER NAME REPLIES.py SCORES.json."""

import importlib.util
import json
import sys
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

folder, name, replies_file, scores_file = sys.argv[1:]
spec = importlib.util.spec_from_file_location("replies", replies_file)
replies = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replies)


class Scripted(LM):
    """The same replies as those of the service that `benchbuild evaluate` asks."""

    def loglikelihood(self, requests, **_):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def generate_until(self, requests, **_):
        return [replies.reply([{"role": "user", "content": request.args[0]}], {}) for request in requests]


manager = TaskManager(include_path=folder, include_defaults=False)
out = lm_eval.simple_evaluate(Scripted(), tasks=[name], task_manager=manager, log_samples=True, bootstrap_iters=0)
scores = [
    [sample["doc"]["item"], sample["doc"]["condition"], None if sample["invalid"] else sample["acc"]]
    for samples in out["samples"].values() for sample in samples if "acc" in sample
]  # fmt: skip
Path(scores_file).write_text(json.dumps(scores), "utf-8")
