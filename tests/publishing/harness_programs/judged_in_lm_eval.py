"""Runs an exported task with a judge in lm-eval over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import os
import sys
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

folder, name, replies_file, scores_file = sys.argv[1:]
((who, said),) = json.loads(Path(replies_file).read_text("utf-8")).items()


class Recorded(LM):
    """The recorded replies of one model, by question."""

    asked = 0

    def loglikelihood(self, requests, **_):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def generate_until(self, requests, **_):
        self.asked += len(requests)
        return [said.get(request.doc["id"], {"text": ""})["text"] for request in requests]


def run(model, **more):
    manager = TaskManager(include_path=folder, include_defaults=False)
    return lm_eval.simple_evaluate(
        model, tasks=[f"{name}_oe_judged"], task_manager=manager, log_samples=True, bootstrap_iters=0, **more
    )


model, judge = Recorded(), os.environ.pop("BENCHBUILD_JUDGE_MODEL")
why = ""
try:
    run(model)
except SystemExit as error:
    why = str(error)
assert "BENCHBUILD_JUDGE_MODEL" in why, why
assert model.asked == 0
sys.argv.append("--predict_only")
run(model, predict_only=True)
assert model.asked
assert not (Path(folder) / "judge_replies.sqlite").exists()
sys.argv.pop()
os.environ["BENCHBUILD_JUDGE_MODEL"] = judge
scores = []
for _ in range(2):  # the second asks the judge nothing
    out = run(model)
    (metrics,) = out["results"].values()
    (samples,) = out["samples"].values()
    found = [
        [sample["doc"]["id"], {key: sample[key] for key in sample["metrics"]}]
        for sample in samples
        if sample["filter"] == "judge"
    ]
    scores += [[who, item, "oe", None, figures] for item, figures in found if item in said]
json.dumps(out["samples"])  # it writes them so
metrics = {key: value for key, value in metrics.items() if "," in key}
Path(scores_file).write_text(json.dumps({"metrics": metrics, "scores": scores}), "utf-8")
