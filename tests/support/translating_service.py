"""What the fake service replies to `translate_fact.j2`: the sample's own translations, and another dose in one.

No model wrote these. The service loads this file by its path, and calls `reply`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "medicine_parallel" / "es.tsv"
FAULT = ("4,5 horas", "45 horas")


def _sample() -> dict[str, str]:
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    return {line["original"]: line["translation"] for line in lines}


def reply(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> str:
    """The object of translations that a request asks for; a text that the sample lacks stays as it is."""
    known = _sample()
    asked = next(str(message["content"]) for message in messages if message["role"] == "user")
    if " from Spanish into English" in asked:
        known = {text.replace(*FAULT): original for original, text in known.items()}
    else:
        known = {original: text.replace(*FAULT) for original, text in known.items()}
    lines = asked.partition("Texts:\n")[2].partition("\nAnswer with")[0].splitlines()
    parts = dict(line.split(": ", 1) for line in lines if ": " in line)
    return json.dumps({name: known.get(text, text) for name, text in parts.items()}, ensure_ascii=False)
