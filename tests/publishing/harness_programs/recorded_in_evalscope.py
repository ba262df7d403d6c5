"""Runs an exported task in EvalScope over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import sys
import tempfile
from pathlib import Path

folder, name, replies_file, scores_file = sys.argv[1:]
sys.path.insert(0, folder)
tasks = __import__(f"{name}_evalscope")
from evalscope import TaskConfig, run_task  # noqa: E402
from evalscope.api.model import ModelAPI, ModelOutput  # noqa: E402
from evalscope.api.registry import register_model_api  # noqa: E402

replies = json.loads(Path(replies_file).read_text("utf-8"))
prompts = {}
for file in (Path(folder) / "data").glob("*.test.jsonl"):
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        prompts.setdefault(row["prompt"], set()).add(row["id"])


@register_model_api(name="recorded")
class Recorded(ModelAPI):
    """The recorded replies of the model of this name, by question."""

    def __init__(self, model_name, base_url=None, api_key=None, config=None, **_):
        super().__init__(model_name=model_name, base_url=base_url, api_key=api_key, config=config)

    def generate(self, input, tools, tool_choice, config):
        said = replies[self.model_name]
        found = {said[one]["text"] for one in prompts[input[-1].text] if one in said}
        assert len(found) <= 1
        return ModelOutput.from_content(self.model_name, next(iter(found), ""))


scores = []
for who in replies:
    work = tempfile.mkdtemp()
    run_task(TaskConfig(model=who, eval_type="recorded", datasets=tasks.TASKS, work_dir=work, eval_batch_size=1,
                        no_timestamp=True))  # fmt: skip
    for file in Path(work).glob("reviews/**/*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            sample = json.loads(line)["sample_score"]
            score, row = sample["score"]["value"], sample["sample_metadata"]
            if row["id"] in replies[who]:
                value = None if score.get("invalid") else score.get("acc", score.get("chrf_difference"))
                scores.append([who, row["id"], row["type"], value, score])
Path(scores_file).write_text(json.dumps({"metrics": [], "scores": scores}), "utf-8")
