"""What Label Studio does with the tasks that are imported: its exports JSON and JSON_MIN."""

import copy
import json


def exported(tasks):
    """The JSON export of tasks.json, as a fresh project of Label Studio gives it."""
    found, annotation_id = [], 100
    for number, task in enumerate(json.loads(tasks), start=1):
        annotations = []
        for annotation in task["annotations"]:
            annotation_id += 1
            annotations.append(
                {"id": annotation_id, "task": number, "project": 5, "unique_id": f"u{annotation_id}",
                 "last_action": None,
                 "created_at": "2026-11-03T08:00:00.000000Z", "updated_at": "2026-11-03T08:00:00.000000Z",
                 "draft_created_at": None, "import_id": annotation_id, "parent_prediction": None} | annotation
            )  # fmt: skip
        found.append(
            {"id": number, "annotations": annotations, "drafts": [], "predictions": task["predictions"],
             "data": task["data"], "meta": {}, "file_upload": "tasks.json", "inner_id": number,
             "total_annotations": sum(not a["was_cancelled"] for a in annotations),
             "cancelled_annotations": sum(a["was_cancelled"] for a in annotations),
             "total_predictions": len(task["predictions"]), "comment_count": 0, "project": 5,
             "created_at": "2026-11-03T07:59:00Z", "updated_at": "2026-11-03T08:00:00Z", "updated_by": 1}
        )  # fmt: skip
    return found


KINDS = {"choices": "Choices", "number": "Number", "textarea": "TextArea"}


def minimal(export):
    """The same as JSON_MIN: a row an annotation; single choices and texts unwrapped, numbers not."""
    rows = []
    for task in export:
        shell = {"annotator": None, "annotation_id": None, "created_at": None, "updated_at": None, "lead_time": None}
        if not task["annotations"]:
            rows.append(copy.deepcopy(task["data"]) | {"id": task["id"]} | shell)
        kept = [one for one in task["annotations"] if not one["was_cancelled"]]
        for annotation in sorted(kept, key=lambda one: one["created_at"], reverse=True):
            outputs = {}
            for result in annotation["result"]:
                outputs.setdefault(result["from_name"], []).append(result)
            row = copy.deepcopy(task["data"]) | {"id": task["id"]}
            row |= {name: _pretty(results) for name, results in outputs.items()}
            row |= {"annotator": annotation["completed_by"], "annotation_id": annotation["id"]}
            row |= {key: annotation[key] for key in ("created_at", "updated_at", "lead_time")}
            rows.append(row)
    return rows


def _pretty(results):
    out = []
    for result in results:
        kind, value = KINDS[result["type"]], result["value"]
        if kind == "Choices" and len(value["choices"]) == 1:
            out.append(value["choices"][0])
        elif kind == "TextArea" and len(value["text"]) == 1:
            out.append(value["text"][0])
        else:
            out.append(value)
    return out[0] if kind in ("Choices", "TextArea") and len(out) == 1 else out
