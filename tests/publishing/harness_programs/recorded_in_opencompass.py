"""Runs an exported task in OpenCompass over recorded replies: FOLDER NAME REPLIES.json SCORES.json."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder, name, replies_file, scores_file = sys.argv[1:]
replies = json.loads(Path(replies_file).read_text("utf-8"))
work = Path(tempfile.mkdtemp())
piece = f"""
REPLIES_FILE, DATA = {replies_file!r}, {str(Path(folder) / "data")!r}
"""
piece += """
import json
from pathlib import Path
from opencompass.models.base import BaseModel
from opencompass.registry import MODELS
REPLIES = json.loads(Path(REPLIES_FILE).read_text("utf-8"))
IDS = {}
for file in Path(DATA).glob("*.test.jsonl"):
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        IDS[row["prompt"]] = row["id"]

@MODELS.register_module()
class Recorded(BaseModel):
    def __init__(self, path, max_seq_len=4096, meta_template=None, **_):
        super().__init__(path, max_seq_len=max_seq_len, meta_template=meta_template)
        self.said = REPLIES[path]

    def generate(self, inputs, max_out_len=0, **_):
        return [self.said.get(IDS[str(text).strip()], {"text": ""})["text"] for text in inputs]

    def get_token_len(self, prompt):
        return len(prompt)
"""
(work / "recorded_model.py").write_text(piece, "utf-8")
config = (Path(folder) / f"eval_{name}.py").read_text("utf-8")
models = ", ".join(f"dict(abbr={who!r}, type=Recorded, path={who!r}, max_out_len=9, batch_size=64, "
                   "run_cfg=dict(num_gpus=0))" for who in replies)  # fmt: skip
(work / "eval.py").write_text(f"from recorded_model import Recorded\n{config}\nmodels = [{models}]\n", "utf-8")
paths = os.pathsep.join([folder, str(work)])
command = [Path(sys.executable).parent / "opencompass", "eval.py", "-w", "out", "--debug"]
subprocess.run(command, cwd=work, env={**os.environ, "PYTHONPATH": paths}, check=True)
scores = []
for file in work.glob("out/*/results/*/*.json"):
    who, config = file.parent.name, file.stem.removeprefix(f"{name}_")
    for found in json.loads(file.read_text("utf-8"))["details"]:
        values = {key: value[0] if isinstance(value, list) else value for key, value in found.items()}
        if values["id"] in replies[who]:
            value = None if values.get("invalid") else values.get("accuracy", values.get("chrf_difference"))
            scores.append([who, values["id"], config, value, values])
Path(scores_file).write_text(json.dumps({"metrics": [], "scores": scores}), "utf-8")
