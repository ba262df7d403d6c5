"""The page on diseases is the same for the same cases, with or without figures of others to lay beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Item
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.testing import check_exporter

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.diagnosis_report import Diagnoses, DiagnosesSpec

from .dd_sample import ROW, part

NOSE = Diagnosis(name="过敏性鼻炎", code="J30.400", entry="过敏性鼻炎", how="alias", score=100.0, chapter="X",
                 block="J30-J39", category="J30")  # fmt: skip
TOE = Diagnosis(name="=痛风<b>", code="M10.900", entry="痛风", how="exact", score=100.0, chapter="XIII",
                block="M05-M14", category="M10")  # fmt: skip


def finished(*cases: PatientCase) -> FinishedBuild:
    rows = [
        Item[PatientCase].build(payload=case, partition=case.setting, candidate="c", fact="f", reviewed=True, **ROW)
        for case in cases
    ]
    card = {"title": "A <title>", "licence": "none", "illustrative": True}
    return FinishedBuild(
        tables={"items": Table.of(rows, Item[PatientCase])}, step_counts=(), recipe={"card": card, "language": "zh"},
        recipe_yaml="", ledger=Path("ledger.tsv"), items="items", state="done",
    )  # fmt: skip


def exporter(**changes: Any) -> Diagnoses:
    said = {"kind": "diagnoses", "file": "d", "language": "en", "classification": part("classification/icd10_zh.yaml")}
    return Diagnoses(DiagnosesSpec.model_validate({**said, **changes}))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_contract_of_the_page(language: str) -> None:
    one = PatientCase(text="鼻痒。", diagnoses=(NOSE,), setting="exam")
    build = finished(one, PatientCase(text="鼻痒，脚痛。", diagnoses=(NOSE, TOE), setting="chat"))
    published = {"cite": "others", "cases": 9, "by_origin": {"exam": 9}}
    written = check_exporter(lambda: exporter(language=language, published=published), build)
    assert set(written) == {"d.html", "d.json", "d_chapters.tsv", "d_names.tsv"}
    page, names = written["d.html"].decode(), written["d_names.tsv"].decode()
    assert "<b>痛风" not in page
    assert "痛风&lt;b&gt;" in page
    assert "A &lt;title&gt;" in page
    assert 'class="banner"' in page
    assert "\n'=痛风" in names, "no formula in a spreadsheet"


def test_without_a_case_there_is_a_page_that_says_so() -> None:
    written = check_exporter(exporter, finished())
    assert b"<svg" not in written["d.html"]
