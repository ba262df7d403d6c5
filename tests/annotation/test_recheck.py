"""The sample of a recheck: strata, size, and who may not judge."""

from collections import Counter
from types import SimpleNamespace

import pytest
import yaml
from files_spec import RECIPES

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.base import Task, Votes
from benchbuilder.annotation.collect import CollectedVotes
from benchbuilder.annotation.database.row_decisions import RowDecisions
from benchbuilder.annotation.recheck import VOTERS, draw_recheck, is_barred, items_digest, voters_text
from benchbuilder.annotation.review_projects import rating_tasks
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.annotation.voter_model import summarise_voter_model
from benchbuilder.config.spec.annotation import ProjectSpec, ReviewProjectSpec
from benchbuilder.pipeline.rechecks import read_recheck, recheck_result, write_recheck

SOURCES = {f"i{n:03}": ("bios", "medqa", "medqa", "mlecqa")[n % 4] for n in range(400)}
FLAGGED = {f"i{n:03}" for n in range(0, 40)}


def test_the_sample_is_in_proportion_to_the_strata_and_has_some_of_each():
    sample = draw_recheck(SOURCES, FLAGGED, 100, seed=1)
    assert sum(stratum.size for stratum in sample.strata) == 400
    assert len(sample.drawn) == 100
    drawn = Counter((stratum.source, stratum.flagged) for stratum in sample.strata for _ in stratum.drawn)
    assert drawn["medqa", False] == 45
    assert drawn["medqa", True] == 5
    assert len(drawn) == 6
    few = draw_recheck(SOURCES, {"i000"}, 5, seed=1)
    assert [len(s.drawn) for s in few.strata if s.flagged] == [1]
    assert draw_recheck(SOURCES, (), 1000, seed=1).drawn == frozenset(SOURCES)


def test_the_sample_depends_on_seed_and_items_and_not_on_their_order():
    sample = draw_recheck(SOURCES, (), 100, seed=1)
    assert draw_recheck(dict(reversed(SOURCES.items())), (), 100, seed=1) == sample
    assert sample.drawn < draw_recheck(SOURCES, (), 150, seed=1).drawn
    assert draw_recheck(SOURCES, (), 100, seed=2).drawn != sample.drawn


def test_items_that_were_mended_have_another_sample():
    """Were it the same one without its errors, the next rate would be too low."""
    sample = draw_recheck(SOURCES, (), 100, seed=1)
    wrong = sorted(sample.drawn)[:8]
    mended = {item: source for item, source in SOURCES.items() if item not in wrong}
    again = draw_recheck(mended, (), 100, seed=1)
    assert again.items != sample.items
    assert len(again.drawn & sample.drawn) < 50


def test_voters_are_barred_by_code_or_name():
    about = (("id", "i1"), (VOTERS, voters_text({"A1", "wang", "J1"})))
    assert is_barred(about, "A1", "li")
    assert is_barred(about, "A7", "wang")
    assert not is_barred(about, "A11", "wan")
    assert not is_barred((("id", "A1"),), "A1", "A1")
    assert not is_barred(((VOTERS, ""),), "", "")


# --- from decisions to a rate


def recipe_of():
    return SimpleNamespace(annotation=None, seed=1)


def decided(item, wrong=0.0, waiting=(), people=("A3", "A4")):
    values = {"wrong_key": wrong, "text": 1.0}
    return RowDecisions(Task(item, (("q", item),), about=(("id", item),)), values, [], list(waiting), {}, set(people))


def test_the_rate_weighs_strata_and_waits_for_all_decisions():
    sample = draw_recheck(SOURCES, FLAGGED, 100, seed=1)
    flagged = [item for stratum in sample.strata if stratum.flagged for item in stratum.drawn]
    rows = [decided(item, wrong=float(item in flagged)) for item in sorted(sample.drawn)]
    result = recheck_result(recipe_of(), sample, ("wrong_key",), rows)
    assert result.is_complete
    assert result.whole.rate == pytest.approx(0.1)
    assert (result.flagged.checked, result.flagged.wrong, result.flagged.rate) == (10, 10, 1)
    assert set(result.sources) == {"bios", "medqa", "mlecqa"}
    assert result.whole.low < 0.1 < result.whole.high
    rows[5].waiting = ["wrong_key"]
    part = recheck_result(recipe_of(), sample, ("wrong_key",), rows)
    assert (part.decided, part.drawn, part.whole.rate, part.whole.high) == (99, 100, None, None)
    nobody = recheck_result(recipe_of(), sample, ("wrong_key",), [])
    assert (nobody.decided, nobody.people) == (0, 0)


def test_decisions_on_items_outside_the_sample_do_not_count():
    sample = draw_recheck(SOURCES, (), 100, seed=1)
    outside = next(item for item in SOURCES if item not in sample.drawn)
    result = recheck_result(recipe_of(), sample, ("wrong_key",), [decided(outside, wrong=1.0)])
    assert (result.decided, result.people, result.whole.wrong) == (0, 0, 0)


def test_a_result_is_kept_for_just_these_items(tmp_path):
    ids = list(SOURCES)
    store = SimpleNamespace(workplace=tmp_path, rows=lambda rows: SimpleNamespace(ids=lambda: rows))
    sample = draw_recheck(SOURCES, (), 60, seed=1)
    result = recheck_result(recipe_of(), sample, ("wrong_key",), [decided(item) for item in sample.drawn])
    assert read_recheck(store, ids) is None
    path = write_recheck(store, result)
    assert read_recheck(store, ids) == result
    assert f"{100 * result.whole.high:.1f}" == "6.0"
    assert read_recheck(store, ids[1:]) is None
    assert path.stem == items_digest(ids[::-1])
    path.write_bytes(path.read_bytes().replace(b'"decided": 60', b'"decided": 61'))
    assert read_recheck(store, ids) is None


# --- the review


def review(**rows):
    raw = yaml.safe_load((RECIPES / "review" / "zh_flagged.yaml").read_text("utf-8"))
    kept = {key: value for key, value in raw.items() if key not in ("defaults", "rows", "guideline")}
    own = yaml.safe_load((RECIPES / "review" / "zh_recheck.yaml").read_text("utf-8"))
    return ReviewProjectSpec.model_validate({**kept, "rows": raw["rows"] | own["rows"] | rows})


def test_a_recheck_must_ask_what_makes_a_label_wrong():
    assert review().rows.recheck == ("wrong_key", "ambiguous", "outdated")
    for wrong in (("wrong_keys",), ("remark",)):
        with pytest.raises(ValueError, match="no required question of yes and no"):
            review(recheck=wrong)
    with pytest.raises(ValueError, match="drawn from the items"):
        review(sample=10)


def test_without_items_there_are_no_tasks():
    assert rating_tasks("recheck", review(), None, 1, None, {}) is None


# --- the model of voters


def votes_of(rows, **changed):
    """Votes on a question of yes and no: for each row the votes by person, and the decision of an adjudicator."""
    spec = ProjectSpec.model_validate({
        "kind": "review", "title": "t", "fields": {"text": "q"}, "heading": "h", "paragraph": "p", "per_task": 3,
        "questions": {"ok": {"order": 1, "label": "ok", "text": "ok?"}},
        "bootstrap": {"samples": 100, "level": 0.95, "seed": 1}, **changed,
    })  # fmt: skip
    tasks = [Task(f"t{n}", (("text", f"text {n}"),)) for n in range(len(rows))]
    requests = judgement_requests(tasks, spec)
    votes = Votes()
    for subject, (given, decision) in zip(requests, rows, strict=True):
        votes.by_subject[subject] = given
        if decision is not None:
            votes.decisions[subject] = ("J1", decision)
    return spec, CollectedVotes(requests, votes, aggregate_votes(requests, votes, spec))


def test_the_model_of_voters_lists_decisions_that_it_would_turn_and_changes_none():
    good = [({"a": n % 2, "b": n % 2, "poor": (n % 2) ^ (n % 5 < 2)}, n % 2) for n in range(120)]
    odd = [({"a": 1, "b": 1, "poor": 0}, 0)]
    spec, collected = votes_of(good + odd)
    before = dict(collected.labels.values)
    found = summarise_voter_model(spec, collected)["ok"]
    assert (found["voters"], found["shared"], found["shown"]) == (3, 121, True)
    assert found["reliability"]["a"] > 0.9 > found["reliability"]["poor"]
    assert [(one["text"], one["decision"], one["likely"], one["adjudicated"]) for one in found["differs"]] == [
        ("text 120", 0, 1, True)
    ]
    assert collected.labels.values == before


def test_a_model_of_few_voters_and_few_things_is_not_shown():
    spec, collected = votes_of([({"a": 1, "b": 1, "c": 1}, None)] * 60)
    assert summarise_voter_model(spec, collected)["ok"] == {"voters": 3, "shared": 60, "shown": False}
