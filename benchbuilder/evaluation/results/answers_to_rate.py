"""The exporter `answers`: answers of models as rows for people to rate, in the review app or elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import Item, write_atomically
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.exporters import Exporter, FileName, FinishedBuild


class AnswersToRateSpec(KindSpec):
    """`file` is the name of the file; `rules` also writes the answers of rule baselines."""

    file: FileName
    rules: bool = False


class AnswersToRate(Exporter):
    """JSON Lines with one row per answer: question, answer, right answer, and paragraphs.

    A rating project reads its rows in this form (``paths.answers``), and ``evaluation.answers`` reads it back. Answers
    by people are included. Answers without text are left out, because there is nothing to rate.
    """

    kind: ClassVar[str] = "answers"
    spec_class: ClassVar[type[KindSpec]] = AnswersToRateSpec

    spec: AnswersToRateSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether there are answers."""
        return super().can_write(finished) and any(name.startswith("answer.") for name in finished.tables)

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the answers, model by model, in the order of the benchmark."""
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in self._rows(finished))
        return [write_atomically(folder / self.spec.file, "".join(lines), sync=False)]

    def _rows(self, finished: FinishedBuild) -> Iterator[dict[str, Any]]:
        items: dict[str, Item[Any]] = {item.id: item for item in finished.tables[finished.items]}
        evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
        baselines: Mapping[str, Any] = evaluation.get("baselines") or {}
        for name, table in finished.tables.items():
            for answer in table if name.startswith("answer.") else ():
                rule = str((baselines.get(answer.model) or {}).get("kind", "people")) != "people"
                if not answer.text or (rule and not self.spec.rules):
                    continue
                item = answer.find_item(items)
                case = make_case(item, answer.text)
                yield {
                    "id": item.id, "source": item.partition, "type": case.type, "model": answer.model,
                    "question": case.question, "answer": answer.text, "outcome": answer.outcome,
                    "reference": case.right, "evidence": list(case.evidence),
                }  # fmt: skip
