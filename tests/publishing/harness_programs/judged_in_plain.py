"""Scores recorded replies by an exported program with a judge: FOLDER NAME REPLIES.json SCORES.json."""

import json
import subprocess
import sys
from pathlib import Path

folder, _, replies_file, scores_file = sys.argv[1:]
((who, said),) = json.loads(Path(replies_file).read_text("utf-8")).items()
answers = Path("answers.jsonl")
answers.write_text("".join(json.dumps({"id": id, "answer": one["text"]}) + "\n" for id, one in said.items()), "utf-8")
scores = []
for _ in range(2):  # the second asks the judge nothing
    command = [sys.executable, f"{folder}/score.py", str(answers), "--judge"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for score in map(json.loads, done.stdout.splitlines()):
        judged = {} if score["correctness"] is None else {"correctness": score["correctness"]}
        scores.append([who, score["id"], "oe", None, {**judged, "unjudged": float(score["correctness"] is None)}])
    assert "oe unjudged: " in done.stderr, done.stderr
Path(scores_file).write_text(json.dumps({"metrics": {}, "scores": scores}), "utf-8")
