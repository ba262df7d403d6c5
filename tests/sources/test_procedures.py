from __future__ import annotations

import json


def test_steps_are_read_in_order(write, read_source):
    rows = [
        {"name": "Tea", "steps": [{"text": "Boil water."}, {"text": "Pour."}]},
        {"name": "Nap", "steps": [{"text": "Sleep."}]},
        {"name": "Walk", "steps": [{"text": "Go."}, {"text": "go"}]},
        {"name": "Nothing", "steps": []},
    ]
    path = write("p.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    result = read_source("procedures", path=path, columns={"title": "name", "steps": "steps[].text"})
    assert [(row.payload.title, row.payload.steps) for row in result.rows] == [("Tea", ("Boil water.", "Pour."))]
    assert result.dropped() == [(2, "too_few_steps"), (3, "repeated_step"), (4, "missing_field")]
