"""Check Label Studio files with its SDK; run in a process of its own, for the SDK warns when it is imported.

Each folder given holds ``labeling_config.xml`` and ``tasks.json`` (what is imported) and ``export.json`` (what Label
Studio would export of it). Prints what is wrong as JSON, and writes ``min/result.json``: ``export.json`` as JSON_MIN.
"""

import json
import sys
from pathlib import Path

from label_studio_sdk.converter import Converter
from label_studio_sdk.label_interface import LabelInterface
from label_studio_sdk.label_interface.objects import AnnotationValue, PredictionValue

wrong = []
for folder in map(Path, sys.argv[1:]):
    config = (folder / "labeling_config.xml").read_text("utf-8")
    interface = LabelInterface(config)
    interface.validate()
    ids = []
    for number, task in enumerate(json.loads((folder / "tasks.json").read_text("utf-8"))):
        where = f"{folder.name} task {number}"
        # the parts apart: with `annotations` in the task, validate_task raises TypeError
        if not interface.validate_task({"data": task["data"]}):
            wrong.append(f"{where}: data")
        for part, shape in (("annotations", AnnotationValue), ("predictions", PredictionValue)):
            for one in task[part]:
                shape(**one)
                ids += [result["id"] for result in one["result"]]
                found = interface.validate_prediction(one, return_errors=True)
                wrong += [f"{where} {part}: {error}" for error in found]
                if not interface.validate_annotation(one):
                    wrong.append(f"{where} {part}: not valid")
    if len(set(ids)) < len(ids):
        wrong.append(f"{folder.name}: ids of results are not unique")
    converter = Converter(config, str(folder), download_resources=())
    converter.convert_to_json_min(str(folder / "export.json"), str(folder / "min"), is_dir=False)
print(json.dumps(wrong))
