"""The exporter kind `diagnoses`: which diseases a benchmark of cases holds, as a page and as tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import KindSpec, Spec
from benchbuilder.core import Item, escape_cell, page_texts, parse_plain_yaml, write_atomically
from benchbuilder.exporters import Bar, Exporter, FileName, FinishedBuild, bar_chart, render_html
from pydantic import Field

from benchbuilder_cmhe.dd.case import PatientCase
from benchbuilder_cmhe.dd.classification import ClassificationSpec, open_classification
from benchbuilder_cmhe.dd.diagnosis_counts import CaseCounts, DiagnosisCounts, count_diagnoses

_LABEL_WIDTH = 118


class PublishedCounts(Spec):
    """What the authors of a benchmark say of theirs, shown beside ours and marked as theirs."""

    cite: str
    cases: int | None = None
    diseases: int | None = None
    categories: int | None = None
    name_length: float | None = None
    by_origin: dict[str, int] = {}


class DiagnosesSpec(KindSpec):
    """`file` is the name of the page and the beginning of the tables' names; `language` that of headings.

    `titles` are what the chapters are called on the page, where not as in the hierarchy.
    """

    file: FileName
    language: Literal["en", "zh"]
    classification: ClassificationSpec
    titles: dict[str, str] = {}
    published: PublishedCounts | None = None
    top: Annotated[int, Field(ge=0)] = 20
    """How many of the most frequent diseases the page shows."""


class Diagnoses(Exporter):
    """``FILE.html``, ``FILE.json`` with the figures, and ``FILE_chapters.tsv`` and ``FILE_names.tsv``.

    The page needs no network and no scripts. Lengths are in characters. A disease is a name; its cases are counted
    where a number of diagnoses is given.
    """

    kind: ClassVar[str] = "diagnoses"
    spec_class: ClassVar[type[KindSpec]] = DiagnosesSpec

    spec: DiagnosesSpec

    def output_names(self) -> tuple[str, ...]:
        """The names of the page, the figures and the tables."""
        return tuple(f"{self.spec.file}{end}" for end in (".html", ".json", "_chapters.tsv", "_names.tsv"))

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write page and tables."""
        items: Sequence[Item[Any]] = list(finished.tables[finished.items])
        cases = [item.payload for item in items if isinstance(item.payload, PatientCase)]
        hierarchy = open_classification(self.spec.classification).hierarchy
        held = count_diagnoses(cases, hierarchy, self.spec.titles)
        name = self.spec.file
        reviewed = sum(item.reviewed for item in items)
        return [
            write_atomically(folder / f"{name}.html", self._page(finished, held, reviewed)),
            write_atomically(folder / f"{name}.json", _figures(held, self.spec.published, reviewed)),
            write_atomically(folder / f"{name}_chapters.tsv", _chapters(held)),
            write_atomically(folder / f"{name}_names.tsv", _names(held)),
        ]

    def _page(self, finished: FinishedBuild, counts: DiagnosisCounts, reviewed: int) -> str:
        words, t = _strings(self.spec.language), page_texts(self.spec.language)
        rows = [
            Bar(f"{chapter.code} {chapter.span}", chapter.diagnoses, t.number(chapter.diagnoses), "c0")
            for chapter in counts.chapters if chapter.diagnoses
        ]  # fmt: skip
        top = sorted(counts.diseases, key=lambda disease: -disease.cases)[: self.spec.top]
        return render_html(
            "diagnoses.html.j2", ("benchbuilder_cmhe.dd",), numbers=t, t=words, spec=self.spec,
            card=finished.recipe["card"], recipe=finished.recipe, held=counts, top=top,
            reviewed=reviewed, published=self.spec.published,
            chart=bar_chart(rows, words["distribution"], _LABEL_WIDTH) if rows else "",
        )  # fmt: skip


def _strings(language: str) -> Mapping[str, str]:
    text = files("benchbuilder_cmhe.dd").joinpath("strings", f"{language}.yaml").read_text(encoding="utf-8")
    return parse_plain_yaml(text)


def _figures(counts: DiagnosisCounts, published: PublishedCounts | None, reviewed: int) -> str:
    data: dict[str, Any] = {
        **_counts(counts.whole),
        "reviewed": reviewed,
        "by_origin": {group.name: _counts(group) for group in counts.origins},
        "by_chapter": {chapter.code: chapter.diagnoses for chapter in counts.chapters},
        "how": dict(counts.how),
    }
    if published is not None:
        data["published"] = published.model_dump(mode="json", exclude_none=True)
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _counts(group: CaseCounts) -> dict[str, Any]:
    length = group.name_length
    return {
        "cases": group.cases, "diagnoses": group.diagnoses, "diseases": group.diseases, "categories": group.categories,
        "name_length": None if length is None else round(length, 2),
    }  # fmt: skip


def _chapters(counts: DiagnosisCounts) -> str:
    header = ["chapter", "range", "title", "diagnoses", "diseases", "categories", *(g.name for g in counts.origins)]
    rows = [
        [one.code, one.span, one.title, one.diagnoses, one.diseases, one.categories, *one.by_origin]
        for one in counts.chapters
    ]
    return _table(header, rows)


def _names(counts: DiagnosisCounts) -> str:
    header = ["name", "code", "entry", "how", "score", "category", "block", "chapter", "cases"]
    rows = [
        [one.diagnosis.name, one.diagnosis.code, one.diagnosis.entry, one.diagnosis.how, f"{one.diagnosis.score:g}",
         one.diagnosis.category, one.diagnosis.block, one.diagnosis.chapter, one.cases]
        for one in counts.diseases
    ]  # fmt: skip
    return _table(header, rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    writer.writerows([escape_cell(str(cell)) for cell in row] for row in rows)
    return stream.getvalue()
