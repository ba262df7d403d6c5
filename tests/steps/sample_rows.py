"""The multiple-choice questions of the bundled sample, approximately as after their preparation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from claim_rows import CARE_MI, choice

from benchbuilder.core.records.payloads import Choice, Fact

SAMPLE = CARE_MI / "sample"
_BLANK = re.compile(r"[（(]\s*[)）]|^\d+．")


def sample_facts() -> Iterator[Fact[Choice]]:
    """A fact for each question with a right option whose last sentence is no longer than the recipe allows."""
    for line, (stem, options, key) in enumerate(_items(), 1):
        *before, question = [part for part in re.split("。|(?<=。)", _BLANK.sub("", stem).strip("。 ")) if part]
        answer = options.get(key)
        if not answer or len(question) + len(answer) > 30 or len(answer) > 10:
            continue
        wrong = [text for other, text in options.items() if other != key]
        yield choice(
            _BLANK.sub("", question), answer, *wrong, context="".join(f"{part}。" for part in before), line=line
        )


def _items() -> Iterator[tuple[str, dict[str, str], str]]:
    for file in sorted((SAMPLE / "medqa").glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            item = _parsed(line)
            if item is not None and isinstance(item.get("options"), dict):
                yield item["question"], item["options"], item.get("answer_idx", "")
    for file in sorted((SAMPLE / "mlecqa").glob("*.json")):
        for item in json.loads(file.read_text("utf-8-sig"), strict=False):
            if isinstance(item, dict) and "qtext" in item and isinstance(item.get("options"), dict):
                yield item["qtext"], item["options"], item["answer"]


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of the sample, some of which are broken on purpose."""
    try:
        item = json.loads(line)
    except ValueError:
        return None
    return item if isinstance(item, dict) and "question" in item else None
