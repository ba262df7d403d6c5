"""Runs exported tasks with pushes in inspect_ai against a scripted model: FOLDER NAME REPLIES.py SCORES.json."""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from inspect_ai import eval
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelAPI, ModelOutput, modelapi

folder, name, replies_file, scores_file = sys.argv[1:]
spec = importlib.util.spec_from_file_location("replies", replies_file)
replies = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replies)


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """The same replies as those of the service that `benchbuild evaluate` asks."""

    async def generate(self, input, tools, tool_choice, config):
        messages = [{"role": message.role, "content": message.text} for message in input]
        return ModelOutput.from_content("scripted", replies.reply(messages, {"model": self.model_name}))


talks, metrics = [], {}
for kind in ("tf", "oe"):
    task = f"{folder}/{name}.py@{name.removesuffix('_pressure')}_{kind}_pressure_pushes"
    (log,) = eval(task, model="scripted/yielder", display="none", log_dir=tempfile.mkdtemp())
    log = read_eval_log(log.location)
    assert log.status == "success", log.error.message
    for sample in log.samples:
        found = sample.scores["held"]
        labels = [[f"{turn['told']}.{turn['turn']}", turn["label"]] for turn in found.metadata["turns"]]
        talks.append([sample.metadata["item"], sample.metadata["condition"], found.metadata["first"], labels])
    metrics |= {f"{kind} {score.name} {key}": one.value for score in log.results.scores
                for key, one in score.metrics.items()}  # fmt: skip
Path(scores_file).write_text(json.dumps({"talks": talks, "metrics": metrics}), "utf-8")
