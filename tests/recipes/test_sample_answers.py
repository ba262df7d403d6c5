"""The bundled answers and ratings of care_mi: they fit the sample's items, and are as varied as judges need."""

import csv
import json
import statistics
from collections import Counter, defaultdict
from pathlib import Path

import make_sample_answers as maker
import pytest
from bundled_builds import shared

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.evaluation.baselines.people import PeopleAnswers, PeopleSpec
from benchbuilder.evaluation.baselines.recorded import RecordedAnswers, RecordedSpec, recorded_answer_models
from benchbuilder.evaluation.scorers.ratings import RatingsScorer, RatingsSpec

ANSWERS, RATINGS, SHEET = (
    maker.SAMPLE / name for name in ("model_answers.jsonl", "ratings.csv", "human_answers.csv")
)  # fmt: skip
NOWHERE = Path("/nowhere")


@pytest.fixture(scope="module")
def items(once, tmp_path_factory):
    return maker.drawn(shared(once, "care_mi", tmp_path_factory.mktemp("built")).rows("items"), maker.ITEMS)


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def means():
    """The mean of each answer's ratings, by item and model, for each aspect."""
    with RATINGS.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    return {
        (row["id"], row["model"]): tuple(
            statistics.mean(float(row[f"{aspect}.{person}"]) for person in maker.RATERS) for aspect in maker.ASPECTS
        )
        for row in found
    }


def by_name(model):
    baseline = RecordedAnswers(RecordedSpec(kind="recorded", file=str(ANSWERS), model=model))
    baseline.open(NOWHERE)
    return baseline


@pytest.mark.push
def test_the_files_are_what_the_items_of_now_give(items):
    answers, people = maker.answers(items), maker.written(items)
    assert ANSWERS.read_text(encoding="utf-8") == maker.jsonl(answers)
    assert SHEET.read_text(encoding="utf-8") == maker.sheet(people)
    assert RATINGS.read_text(encoding="utf-8") == maker.ratings([*answers, *people])


@pytest.mark.push
def test_every_model_answers_every_item(items, rows):
    assert recorded_answer_models(ANSWERS) == ["model_jia", "model_yi", "model_bing", "model_ding", "model_wu"]
    assert len(items) >= 120
    assert {item.payload.type for item in items} == {"tf", "oe"}
    assert {item.partition for item in items} == {"bios", "cpubmed", "medqa", "mlecqa"}
    assert all(row["illustrative"] is True for row in rows)
    for model in recorded_answer_models(ANSWERS):
        told = [by_name(model).answer(item) for item in items]
        assert not [outcome for _, outcome in told if outcome == "missing"]
    outcomes = Counter(row["outcome"] for row in rows)
    assert set(outcomes) == {"complete", "refused", "truncated", "empty"}


@pytest.mark.push
def test_people_answer_a_part_in_proportion(items):
    baseline = PeopleAnswers(PeopleSpec(kind="people", file=str(SHEET)))
    baseline.open(NOWHERE)
    answered = [item for item in items if baseline.answer(item)[1] == "complete"]
    assert maker.ANSWERED <= len(answered) <= maker.ANSWERED + 3  # no family is divided
    everywhere = Counter(item.partition for item in items)
    for source, count in Counter(item.partition for item in answered).items():
        assert count == pytest.approx(everywhere[source] / 3, abs=2.5)


@pytest.mark.push
def test_three_people_rated_every_answer(items, rows, means):
    spec = RatingsSpec(
        kind="ratings", aspects=maker.ASPECTS, file=str(RATINGS), at_least=3, tolerance=0.25, threshold=0.5
    )
    scorer = RatingsScorer(spec, StepContext(1, "zh", "ratings", NOWHERE, NOWHERE))
    scorer.open()
    assert list(scorer.unused_ratings(items, [*maker.PERSONAS, maker.PEOPLE])) == []
    produced_by = ProducedBy(rule="test")
    for model in recorded_answer_models(ANSWERS):
        baseline = by_name(model)
        answers = [
            Answer.child(item, produced_by=produced_by, model=model, text=baseline.answer(item)[0]) for item in items
        ]
        scored = list(scorer.score(list(zip(answers, items, strict=True))))
        assert all([len(mark.ratings) for mark in marks] == [3, 3] for marks in scored)
        expected = [means[item.id, model][0] for item in items]
        assert [marks[0].value for marks in scored] == pytest.approx(expected, abs=1e-6)
    assert len(means) == len(rows) + len(SHEET.read_text(encoding="utf-8").splitlines()) - 1


def test_every_model_is_right_on_some_and_wrong_on_others(rows, means):
    by_model = defaultdict(list)
    for row in rows:
        by_model[row["model"]].append(means[row["id"], row["model"]])
    for model, values in by_model.items():
        right = statistics.mean(correct >= 0.5 for correct, _ in values)
        assert 0.2 <= right <= 0.92, model
    averages = {model: statistics.mean(correct for correct, _ in values) for model, values in by_model.items()}
    assert max(averages.values()) - min(averages.values()) > 0.3


def test_neither_length_nor_one_aspect_tells_the_other(rows, means):
    lengths = [float(len(row["answer"])) for row in rows]
    correct, interpretable = zip(*(means[row["id"], row["model"]] for row in rows), strict=True)
    assert abs(statistics.correlation(lengths, correct)) < 0.3
    assert 0.3 < statistics.correlation(correct, interpretable) < 0.9


def test_raters_agree_but_not_wholly():
    with RATINGS.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    for aspect in maker.ASPECTS:
        given = {person: [float(row[f"{aspect}.{person}"]) for row in found] for person in maker.RATERS}
        for one, other in (("rater_1", "rater_2"), ("rater_1", "rater_3"), ("rater_2", "rater_3")):
            assert 0.6 < statistics.correlation(given[one], given[other]) < 0.97
        assert all(
            0 <= value <= 1 and round(value * 20, 6).is_integer() for values in given.values() for value in values
        )
