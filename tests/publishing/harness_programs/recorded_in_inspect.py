"""Runs an exported task in inspect_ai over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

import tiktoken
from inspect_ai import Task, eval
from inspect_ai._cli.main import inspect
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

folder, name, replies_file, scores_file = sys.argv[1:]
sys.path.insert(0, folder)
tasks = __import__(name)
replies = json.loads(Path(replies_file).read_text("utf-8"))


@solver
def recorded(who):
    async def solve(state, generate):
        said = replies[who][str(state.sample_id)]
        state.output = ModelOutput.from_content("recorded", said["text"], "max_tokens" if said["cut"] else "stop")
        return state

    return solve


def asked(who, config, make):
    whole = make()
    own = whole.dataset.filter(lambda sample: sample.id in replies[who])
    return Task(dataset=own, solver=recorded(who), scorer=whole.scorer, name=f"{config}-{who}")


made = [(c, who, asked(who, c, getattr(tasks, f"{name}_{c}"))) for c in ("tf", "oe") for who in replies]
made = [(config, who, task) for config, who, task in made if len(task.dataset)]
logs = eval([task for _, _, task in made], model="mockllm/model", display="none", log_dir=tempfile.mkdtemp(),
            max_tasks=len(made))  # fmt: skip
place = {task.name: at for at, (_, _, task) in enumerate(made)}
scores = []
for log in logs:
    config, who, _ = made[place[log.eval.task]]
    assert log.status == "success", log.error
    for sample in log.samples:
        if config == "tf":
            value = {"C": 1.0, "I": 0.0, "N": None}[sample.scores["verdict"].value]
        else:
            value = sample.scores["chrf_difference"].value
        scores.append([who, sample.id, config, value])
names = {f"{score.name}/{metric}" for log in logs for score in log.results.scores for metric in score.metrics}

tiktoken.get_encoding = lambda _: type("Encoding", (), {"encode": lambda self, text, **_: list(text)})()  # no network
os.chdir(folder)
(written,) = [line for line in Path("README.md").read_text("utf-8").splitlines() if line.startswith("inspect ")]
words = [*shlex.split(written)[1:], "-T", "fewshot=4", "--display", "none"]  # the command of the page, with examples
inspect(words, standalone_mode=False)
prompts = {}
for found in list_eval_logs("logs"):
    log = read_eval_log(found)
    assert log.status == "success", log.error
    sample = log.samples[-1]
    text = "\n".join(message.text for message in sample.messages[:-1])
    prompts[sample.metadata["config"]] = [sample.id, text]
figures = {"metrics": sorted(names), "scores": scores, "prompts": prompts}
Path(scores_file).write_text(json.dumps(figures), "utf-8")
