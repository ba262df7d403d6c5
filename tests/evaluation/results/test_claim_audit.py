"""What people say of claims: which are drawn, what of their files is read, and how it is held against the verifier."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchbuilder.core import AnswerClaim, DataError, Table
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.results.claim_audit import (
    ClaimAudit,
    audit_claims,
    draw_claims,
    read_claim_ratings,
    row_to_rate,
    sheet_to_rate,
)
from benchbuilder.evaluation.results.columns import AskedItems, TextColumn

HEAD: dict[str, Any] = {
    "origin": Origin(file="f", line=1), "produced_by": ProducedBy(rule="test"), "language": "en", "partition": "p",
    "verifier": "v",
}  # fmt: skip
DRAWS: Any = {"samples": 50, "level": 0.95, "seed": 1}


def claim(item: int, number: int, verdict: Any, model: str = "m", **more: Any) -> AnswerClaim:
    own = {"item": f"item-{item}", "model": model, "number": number, "text": f"claim {number}", "end": 7, **more}
    own = {"kind": "claim", "verdict": verdict, **own}
    return AnswerClaim.build(of=f"answer-{model}-{item}", slot=str(number), **HEAD, **own)


def items(count: int) -> AskedItems:
    ids = [f"item-{number}" for number in range(count)]
    each = TextColumn(np.arange(count, dtype=np.int32), ids)
    same = TextColumn(np.zeros(count, np.int32), ["x"])
    return AskedItems(ids, same, same, same, same, same, each, each, same)


def audit(folder: Path, rows: list[AnswerClaim], sheet: list[list[str]]) -> ClaimAudit:
    return audit_claims([Table.of(rows, AnswerClaim)], read_claim_ratings(written(folder, sheet)), items(9), DRAWS)


def written(folder: Path, sheet: list[list[str]]) -> Path:
    file = folder / "rated.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(sheet)
    return file


def test_every_verdict_of_every_system_is_drawn():
    answers = [[claim(n, 1, "supported", model), claim(n, 2, "contradicted" if n == 0 else "supported", model)]
               for model in ("a", "b") for n in range(8)]  # fmt: skip
    drawn = draw_claims(answers, 6, 1)
    rows = {row.id: row for own in answers for row in own}
    assert len(drawn) == 6
    assert sum(rows[one].verdict == "contradicted" for one in drawn) == 2
    assert {one: rows[one].of for one in drawn} == drawn
    assert draw_claims(reversed(answers), 6, 1).keys() == drawn.keys()
    assert draw_claims(answers, 6, 2).keys() != drawn.keys()


def test_a_claim_without_a_verdict_is_not_drawn():
    parts = [claim(1, 1, "", reason="part_missing"), claim(1, 2, "", kind="none"), claim(2, 0, "", reason="too_long")]
    assert list(draw_claims([parts[:2], parts[2:]], 9, 1)) == [parts[1].id]


def test_a_row_shows_the_claim_in_its_answer_and_no_system():
    row = row_to_rate(claim(1, 1, "supported", start=4, end=9), Case("q?", "So =is it.", ("p1", "p2"), "r", "w"))
    assert row["answer"] == "So =【is it】."
    assert not {"model", "verdict", "of"} & set(row)
    (line,) = csv.DictReader(io.StringIO(sheet_to_rate([{**row, "claim": "=1+1"}]).decode("utf-8-sig")))
    assert line["evidence"] == "1. p1\n2. p2"
    assert line["claim"].startswith("'=")
    assert {name for name, value in line.items() if not value} == {"verdict.1", "asserts_wrong.1"}


def test_claims_weigh_as_many_as_they_stand_for(tmp_path: Path):
    """One of two contradicted and one of eight supported claims are rated: the verifier missed six of eight."""
    rows = [claim(n, 1, "supported") for n in range(8)] + [claim(8, n, "contradicted") for n in (1, 2)]
    found = audit(tmp_path, rows, [["id", "verdict.a"], *([row.id, "0"] for row in (rows[0], rows[8]))])
    figures = {one.name: (one.by_verifier, one.by_people, one.precision.value, one.recall.value) for one in found.lines}
    assert figures["contradicted"] == (1, 2, 1.0, pytest.approx(0.2))
    assert figures["supported"] == (1, 0, 0.0, None)
    assert (found.claims, found.raters, found.checked) == (2, 1, ("verdict",))
    assert found.kappa["verdict"].value == pytest.approx(0.0)


def test_most_people_decide_and_an_adjudicator_settles(tmp_path: Path):
    rows = [claim(n, 1, "supported", right="denies" if n else "none") for n in range(3)]
    export = [["question", "value", "code", "role", "key", "wording", "about_id", "text_claim"]]
    votes = [(0, "2 2 0", ""), (1, "2 0", ""), (2, "2 0", "2")]
    for n, given, final in votes:
        for code, value in enumerate(given.split()):
            export.append(["verdict", value, f"A{code}", "annotator", "k", "w", rows[n].id, "claim 1"])
        export += [["verdict", final, "J1", "adjudicator", "k", "w", rows[n].id, "claim 1"]] if final else []
        export.append(["asserts_wrong", str(min(n, 1)), "A0", "annotator", "k", "w", rows[n].id, "claim 1"])
    found = audit(tmp_path, rows, export)
    figures = {one.name: (one.by_people, one.precision.value) for one in found.lines}
    assert figures == {
        "supported": (2, 1.0), "contradicted": (0, None), "not_addressed": (0, None), "asserts_wrong": (2, 1.0)
    }  # fmt: skip
    assert (found.undecided, found.kappa["asserts_wrong"].value) == (1, 1.0)


def test_claims_that_are_read_otherwise_now_are_left_out_and_counted(tmp_path: Path):
    row = claim(1, 1, "supported")
    sheet = [["id", "claim", "verdict.a"], [row.id, "other words", "2"], ["answer_claim-gone", "claim 1", "2"]]
    found = audit(tmp_path, [row], sheet)
    assert (found.claims, found.other, found.lines) == (0, 2, ())


def test_values_of_spreadsheets_are_read_and_others_are_refused(tmp_path: Path):
    read = read_claim_ratings(written(tmp_path, [["id", "verdict.a", "verdict.b"], ["x", "2.0", "Supported"]]))
    assert [one.person for one in read] == ["a", "b"]
    with pytest.raises(DataError, match="x: verdict is '3'"):
        read_claim_ratings(written(tmp_path, [["id", "verdict.a"], ["x", "3"]]))
    with pytest.raises(DataError, match="no row has a value"):
        read_claim_ratings(written(tmp_path, [["id", "verdict.a"], ["x", ""]]))
