"""Runs an exported task with a judge in inspect_ai over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import math
import sys
import tempfile
from pathlib import Path

from inspect_ai import eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

folder, name, replies_file, scores_file = sys.argv[1:]
((who, said),) = json.loads(Path(replies_file).read_text("utf-8")).items()
lines = (Path(folder) / "data" / "oe.test.jsonl").read_text("utf-8").split("\n")
ids = {row["prompt"]: row["id"] for row in map(json.loads, filter(None, lines))}
asked = []


@modelapi(name="recorded")
class Recorded(ModelAPI):
    """The recorded replies, by question."""

    async def generate(self, input, tools, tool_choice, config):
        asked.append(input[-1].text)
        return ModelOutput.from_content("recorded", said[ids[input[-1].text]]["text"])


def run(**more):
    (log,) = eval(f"{folder}/{name}.py@{name}_oe", model=f"recorded/{who}", task_args={"judge": True},
                  sample_id=list(said), display="none", log_dir=tempfile.mkdtemp(), **more)  # fmt: skip
    return log


why = ""
try:
    run()
except PrerequisiteError as error:
    why = str(error)
assert "grader" in why, why
assert not asked, "the model under test was asked without a judge"
log = read_eval_log(run(model_roles={"grader": get_model("openai/gpt-4o-mini", responses_api=False)}).location)
assert log.status == "success", log.error.message
assert sorted(ids[prompt] for prompt in asked) == sorted(said)
scores = []
for sample in log.samples:
    figures = {key: value for key, value in sample.scores["judged"].value.items() if not math.isnan(value)}
    scores.append([who, sample.id, "oe", None, figures])
metrics = {f"{score.name},{key}": metric.value for score in log.results.scores for key, metric in score.metrics.items()}
Path(scores_file).write_text(json.dumps({"metrics": metrics, "scores": scores}), "utf-8")
