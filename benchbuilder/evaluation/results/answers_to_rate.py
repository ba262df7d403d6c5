"""The exporter `answers`: answers of models as rows for people to rate, in the review app or elsewhere."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from benchbuilder.config import KindSpec
from benchbuilder.core import RowIndex, Table, atomic_path, combined_column, strip_reasoning
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.results.gather import first_known
from benchbuilder.exporters import Exporter, FileName, FinishedBuild


class AnswersToRateSpec(KindSpec):
    """`file` is the name of the file; `rules` also writes the answers of rule baselines."""

    file: FileName
    rules: bool = False


class AnswersToRate(Exporter):
    """JSON Lines with one row per answer: question, answer, right answer, and paragraphs.

    A rating project reads its rows in this form (``paths.answers``), and ``evaluation.answers`` reads it back. Answers
    by people are included. People are shown what a judge is: the thoughts before an answer are left out. So are answers
    without text, because there is nothing to rate.
    """

    kind: ClassVar[str] = "answers"
    spec_class: ClassVar[type[KindSpec]] = AnswersToRateSpec

    spec: AnswersToRateSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether there are answers that people rate: those of rules alone would make an empty file."""
        return super().can_write(finished) and bool(self._rated(finished))

    def _rated(self, finished: FinishedBuild) -> list[str]:
        """The steps whose answers are written."""
        evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
        baselines: Mapping[str, Any] = evaluation.get("baselines") or {}
        rules = {name for name, spec in baselines.items() if spec and spec.get("kind", "people") != "people"}
        names = (name for name in finished.tables if name.startswith("answer."))
        return [name for name in names if self.spec.rules or name.removeprefix("answer.") not in rules]

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the answers, model by model, in the order of the benchmark."""
        path = folder / self.spec.file
        with (
            atomic_path(path, sync=False) as temporary,
            temporary.open("wb") as stream,
            tempfile.TemporaryFile(dir=folder) as cases,
        ):
            stream.writelines(self._lines(finished, _Cases(cases).read_from(finished.tables[finished.items])))
        return [path]

    def _lines(self, finished: FinishedBuild, cases: _Cases) -> Iterator[bytes]:
        for name in self._rated(finished):
            for batch in finished.tables[name].batches(["parents", "model", "text", "outcome"]):
                places = first_known(combined_column(batch, "parents"), cases.index).tolist()
                rows = batch.select(["model", "text", "outcome"]).to_pylist()
                for place, answer in zip(places, rows, strict=True):
                    text = strip_reasoning(answer["text"])
                    if place >= 0 and text:
                        yield cases.line(place, {**answer, "text": text})


class _Cases:
    """What the lines of an item share, encoded and kept in a file: many systems answer each item."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends: list[tuple[int, int, int]] = [(0, 0, 0)]

    def read_from(self, items: Table[Any]) -> Self:
        """Keep the items of a table."""
        self.index = RowIndex(chunk for batch in items.batches(["id"]) for chunk in batch.column("id").chunks)
        at = 0
        for item in items:
            case = make_case(item, "")
            ends: list[int] = []
            for part in (
                {"id": item.id, "source": item.partition, "type": case.type},
                {"question": case.question},
                {"reference": case.right, "evidence": list(case.evidence)},
            ):
                at += self._file.write(_inside(part))
                ends.append(at)
            self._ends.append((ends[0], ends[1], ends[2]))
        return self

    def line(self, place: int, answer: Mapping[str, str]) -> bytes:
        """The line of an answer to the item at a place."""
        start = self._ends[place][2]
        first, second, end = self._ends[place + 1]
        self._file.seek(start)
        text = self._file.read(end - start)
        head, question, rest = text[: first - start], text[first - start : second - start], text[second - start :]
        said, ended = (_inside({name: answer[key]}) for name, key in (("answer", "text"), ("outcome", "outcome")))
        return b"{" + b", ".join((head, _inside({"model": answer["model"]}), question, said, ended, rest)) + b"}\n"


def _inside(part: Mapping[str, Any]) -> bytes:
    """The inside of a JSON object."""
    return json.dumps(part, ensure_ascii=False)[1:-1].encode()
