"""Check Label Studio files with its SDK; run in a process of its own, for the SDK warns when it is imported.

Reads a folder with ``labeling_config.xml`` and ``tasks.json``; writes ``json_min.json`` as Label Studio exports it.
"""

import json
import sys
from pathlib import Path

from label_studio_sdk.converter import Converter
from label_studio_sdk.label_interface import LabelInterface

folder = Path(sys.argv[1])
config = (folder / "labeling_config.xml").read_text("utf-8")
tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
interface = LabelInterface(config)
interface.validate()
wrong = []
for number, task in enumerate(tasks):
    if not interface.validate_task({"data": task["data"]}):
        wrong.append(f"task {number}")
    for part in ("annotations", "predictions"):
        for one in task[part]:
            wrong += [f"task {number} {part}: {error}" for error in interface.validate_prediction(one, return_errors=True)]
            if part == "annotations":
                interface_ok = interface.validate_annotation(one)
                wrong += [] if interface_ok else [f"task {number}: annotation"]
exported = [
    task | {"id": n, "annotations": [a | {"id": 100 * n + m} for m, a in enumerate(task["annotations"])]}
    for n, task in enumerate(tasks, start=1)
]
(folder / "export.json").write_text(json.dumps(exported), "utf-8")
Converter(config, str(folder), download_resources=False).convert_to_json_min(
    str(folder / "export.json"), str(folder / "min"), is_dir=False
)
print(json.dumps({"wrong": wrong, "controls": sorted(c.name for c in interface.controls)}))
