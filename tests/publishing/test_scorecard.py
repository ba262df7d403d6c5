"""The scorecard: each rule tells a good build from a poor one, and answers are those that only the author can give."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from built_sample import BuiltSample

from benchbuilder.cli.scorecard import coverage_lines
from benchbuilder.config import load_recipe
from benchbuilder.core import Claim, Item, Origin, Passage, ProducedBy, Table
from benchbuilder.core.errors import RecipeError
from benchbuilder.exporters import CheckedPart, RecheckResult
from benchbuilder.pipeline.shards.worker import StoredTable
from benchbuilder.publishing.release.material import gather_material
from benchbuilder.publishing.release.scorecard.coverage import column_counts
from benchbuilder.publishing.release.scorecard.rules import RULES, BuildFacts
from benchbuilder.publishing.release.scorecard.scorecard import all_criteria, check_answers, fill_scorecard


class Column(SimpleNamespace):
    """A table of items with the columns that rules read."""

    def batches(self, names: list[str]) -> list[pa.Table]:
        return [self.rows.select([name.partition(".")[0] for name in names])]


def items(forms: list[str], expected: list[str], types: list[str]) -> Column:
    cells = zip(forms, expected, types, strict=True)
    rows = [{"form": form, "payload": {"expected": verdict, "type": name}} for form, verdict, name in cells]
    return Column(rows=pa.Table.from_pylist(rows), row=Item[Claim])


def account(step: str, role: str, notes: Mapping[str, Any] | None = None, rows: int = 1) -> SimpleNamespace:
    return SimpleNamespace(step=step, role=role, inputs=(), notes=notes or {}, tallies={},
                           counts={("a", "dropped", "why"): rows})  # fmt: skip


def recheck(decided: int, drawn: int) -> RecheckResult:
    known = decided == drawn
    part = CheckedPart(size=900, checked=decided, wrong=0, rate=0.0 if known else None, low=0.0 if known else None,
                       high=0.06 if known else None)  # fmt: skip
    return RecheckResult(items="x", questions=("wrong_key",), drawn=drawn, decided=decided, people=2, level=0.95,
                         whole=part, sources={"a": part}, flagged=None)  # fmt: skip


def facts(folder: Path, *, good: bool) -> BuildFacts:
    """A build of which everything is as it should be, or nothing."""
    terms = SimpleNamespace(is_known=good)
    source = SimpleNamespace(title="T" if good else "", url="https://x", citation="", terms=terms)
    card = SimpleNamespace(
        intended_use=("a",) if good else (), not_for=("b",) if good else (), personal_data="none" if good else "",
        licence="CC-BY-4.0" if good else "", citation="x" if good else "", limitations=("x",) if good else (),
        correct_as_of="2026-01-01", illustrative=not good,
    )  # fmt: skip
    release = SimpleNamespace(
        names="none" if good else None, private=0.3 if good else 0.0, authors=(),
        repository="https://x" if good else None, contact="https://x/issues" if good else "",
    )  # fmt: skip
    baselines = {"echo": SimpleNamespace(kind="echo"), "people": SimpleNamespace(kind="people")}
    measures = {"scale": "nominal", "n": 90, "clusters": 90,
                **{name: {"value": 0.95, "low": 0.9, "high": 1.0} for name in ("percent", "alpha", "ac1")}}  # fmt: skip
    notes = {"reviewed": True, "votes": {"annotators": {"a": 1, "b": 1}}, "agreement": {"q": measures},
             "questions": {"q": {"label": "q", "required": 1.0, "yes": 40, "judged": 90}}} if good else {}  # fmt: skip
    roles = [account("items", "item", notes), *([account("evidence", "evidence")] if good else [])]
    table = items(["a", "b"], ["yes", "no"], ["oe", "tf"]) if good else items(["a"] * 2, ["yes"] * 2, ["oe", "tf"])
    settings = {"annotation": {"floor": {"alpha": 0.6, "raw": 0.85}, "bootstrap": {"level": 0.95}}}
    finished = SimpleNamespace(items="items", step_counts=tuple(roles), tables={"items": table}, recipe=settings,
                               recheck=recheck(60, 60) if good else None)  # fmt: skip
    result = SimpleNamespace(closed=not good, leak_count=lambda: 0 if good else 2, check_count=lambda: 9)
    recipe = SimpleNamespace(card=card, audit=SimpleNamespace(gate="audit"),
                             evaluation=SimpleNamespace(baselines=baselines if good else {}))  # fmt: skip
    task = SimpleNamespace(
        loaded=SimpleNamespace(task="", recipe=recipe), finished=finished, audit=SimpleNamespace(result=result),
        texts=SimpleNamespace(contradictions=0 if good else 1),
    )  # fmt: skip
    wordings = {"wordings": ["built", "plain", "short"], "models": [{"items": 40}]}
    analysis = {"consistency": {"models": [{"model": "m"}]},
                "models": [{"name": "m", "group": "model", "invented": False, "variants": 2}],
                "wordings": wordings}  # fmt: skip
    if good:
        for name, data in (("evaluation/results.json", {}), ("judges/judges.json", {}),
                           ("analysis/analysis.json", analysis), ("audit/exposure.csv", "")):  # fmt: skip
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(json.dumps(data), encoding="utf-8")
    whole = SimpleNamespace(card=card, release=release)
    material: Any = SimpleNamespace(
        loaded=SimpleNamespace(whole=whole), store=SimpleNamespace(folder=folder), tasks=(task,), sources=(source,),
        receipts=(SimpleNamespace(model="m"),) if good else (),
    )  # fmt: skip
    made = BuildFacts(material, released=good)
    reach = SimpleNamespace(sources=(SimpleNamespace(facts=4 if good else 0, reached=2),))
    vars(made)["reach"] = (reach,)
    return made


ALWAYS = {"steps_documented", "contamination_canary", "knowledge_date", "local_models", "random_order"}
"""What the program does for every build."""
POOR = {"models_named": "not_applicable", "coverage": "not_applicable", "replication": "partly"}


def test_every_criterion_of_the_program_has_a_rule() -> None:
    criteria = all_criteria()
    assert {one.id for one in criteria if one.fill != "ask"} == set(RULES)
    assert len({one.id for one in criteria}) == len(criteria) >= 45


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_tells_a_good_build_from_a_poor_one(name: str, tmp_path: Path) -> None:
    good, poor = (RULES[name](facts(tmp_path / str(good), good=good)) for good in (True, False))
    assert good.state == "yes"
    assert good.evidence
    assert poor.state == ("yes" if name in ALWAYS else POOR.get(name, "no"))


def test_an_analysis_of_made_up_answers_is_none(tmp_path: Path) -> None:
    good = facts(tmp_path, good=True)
    made_up = {"models": [{"group": "model", "invented": True}, {"group": "rule", "invented": False}]}
    (tmp_path / "analysis/analysis.json").write_text(json.dumps(made_up), encoding="utf-8")
    assert RULES["item_analysis"](good).state == "no"


def test_agreement_is_met_only_where_every_deciding_question_reaches_the_floor(tmp_path: Path) -> None:
    for low, judged, state in ((0.9, 90, "yes"), (0.84, 90, "partly"), (0.9, 12, "partly")):
        good = facts(tmp_path, good=True)
        measures = good.tasks[0].finished.step_counts[0].notes["agreement"]["q"]
        measures |= {"percent": {"value": 0.95, "low": low, "high": 1.0}, "clusters": judged}
        assert RULES["agreement"](good).state == state


def test_label_errors_are_bounded_only_by_a_complete_recheck(tmp_path: Path) -> None:
    good = facts(tmp_path, good=True)
    evidence = str(RULES["label_errors"](good).evidence)
    assert evidence == "benchbuild votes quality: 0 of 60 items wrong, at most 6.0 %"
    good.tasks[0].finished.recheck = recheck(59, 60)  # type: ignore[misc]
    assert RULES["label_errors"](good).state == "no"
    assert "59 of 60 drawn items are decided" in str(RULES["label_errors"](good).evidence)


@pytest.mark.push
def test_where_the_program_sees_nothing_the_author_may_answer(built: BuiltSample) -> None:
    material = gather_material(built.loaded, built.folder)

    def row(**answers: Any) -> tuple[str, str]:
        whole = built.loaded.whole
        spec = whole.scorecard.model_copy(update={"answers": answers})
        loaded = replace(built.loaded, whole=whole.model_copy(update={"scorecard": spec}))
        card = fill_scorecard(replace(material, loaded=loaded), released=False)
        (found,) = (one for one in card.rows if one.criterion.id == "contamination_checked")
        return found.state, found.by

    answer = SimpleNamespace(state="yes", evidence="a search of two crawls", on="2026-01-31")
    assert row() == ("unknown", "")
    assert row(contamination_checked=answer) == ("yes", "author")


def test_a_large_build_whose_rows_lack_a_column_has_nothing_to_count(tmp_path: Path) -> None:
    """A table in files leaves out a column that is not there; one in memory has the rest of its struct."""
    row = Passage.build(
        base="b", document="d", text="a", partition="b", origin=Origin(file="f", line=1),
        produced_by=ProducedBy(rule="r"), language="en",
    )  # fmt: skip
    rows = Table.of([row], Passage)
    pq.write_table(rows.arrow, tmp_path / "part-00000.parquet")
    stored = StoredTable(Passage, [tmp_path / "part-00000.parquet"], tmp_path / "cache")
    for table in (rows, stored):
        assert column_counts(table, "payload.expected") == {}
        assert column_counts(table, "origin.column") == column_counts(table, "text.expected") == {}
        assert column_counts(table, "origin.file") == {"f": 1}


@pytest.mark.push
def test_coverage_counts_source_facts_that_reach_an_item(built: BuiltSample) -> None:
    card = fill_scorecard(gather_material(built.loaded, built.folder), released=False)
    (reach,) = card.reach.values()
    for source in reach.sources:
        assert 0 < source.reached <= source.items
        assert source.reached < source.facts
        assert source.reached_relations <= source.relations
    assert 0 < reach.reached_words < reach.words
    assert any("relations" in line for line in coverage_lines(reach))
    assert sum(counts.total() for counts in card.counts().values()) == len(card.rows)


@pytest.fixture
def answered(garden: Any) -> Callable[[str], Any]:
    return lambda text: load_recipe(["recipe=garden", text])


def test_answers_that_nobody_asked_for_are_refused(answered: Callable[[str], Any]) -> None:
    with pytest.raises(RecipeError, match=r"no such criterion(.|\n)*did you mean 'funding'"):
        check_answers(answered("scorecard.answers={fundin: {state: yes, evidence: x}}"))
    with pytest.raises(RecipeError, match="the program answers this criterion"):
        check_answers(answered("scorecard.answers={coverage: {state: 'yes', evidence: x}}"))
    with pytest.raises(RecipeError, match="no such criterion"):
        check_answers(answered("scorecard.required=[everything]"))
    check_answers(answered("scorecard.answers={funding: {state: false, evidence: nobody paid, on: '2026-01-31'}}"))
