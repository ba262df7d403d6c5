"""What people may answer to questions of each type, and when two answers are in dispute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.annotation.review_projects import proportional_sample
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import aggregate_value, is_allowed_value, is_disputed, parse_value, passes_gate
from benchbuilder.config.spec.annotation import GuidingQuestion


def question(**fields):
    return GuidingQuestion(**{"order": 1, "subject": "claim", "label": "L", "text": "T?", **fields})


BINARY = question()
SCALE = question(answer="scale", options={1: "poor", 2: "fair", 3: "good"})
SCALAR = question(answer="scalar", tolerance=0.25, threshold=0.5)
TEXT = question(answer="text", max_chars=5)


@pytest.mark.parametrize(
    ("asked", "written", "value"),
    [
        (BINARY, "１", 1), (BINARY, " 0 ", 0), (BINARY, "", None), (SCALE, "3", 3), (SCALE, "2.0", 2),
        (SCALAR, "0.75", 0.75), (SCALAR, "0,75", 0.75), (SCALAR, ".5", 0.5), (SCALAR, "１", 1.0), (SCALAR, "0", 0.0),
        (TEXT, " ab\ncd ", "ab\ncd"), (TEXT, " \n", None),
    ],
)  # fmt: skip
def test_what_people_write(asked, written, value):
    found = parse_value(asked, written)
    assert found == value
    assert type(found) is type(value)
    assert value is None or is_allowed_value(asked, value)


@pytest.mark.parametrize(
    ("asked", "written", "told"),
    [
        (BINARY, "2", "0, 1"), (BINARY, "0.5", "0, 1"), (BINARY, "yes", "0, 1"), (BINARY, "-0.1", "0, 1"),
        (SCALE, "0", "1, 2, 3"), (SCALE, "1.5", "1, 2, 3"), (SCALAR, "1.01", "0 to 1"), (SCALAR, "-0.2", "0 to 1"),
        (SCALAR, "nan", "0 to 1"), (SCALAR, "1e-3", "0 to 1"), (SCALAR, "inf", "0 to 1"), (SCALAR, "9" * 40, "0 to 1"),
        (TEXT, "abcdef", "5 characters"),
    ],
)  # fmt: skip
def test_values_that_are_no_answer(asked, written, told):
    with pytest.raises(ValueError, match=told):
        parse_value(asked, written)


@given(st.text(max_size=60), st.sampled_from([BINARY, SCALE, SCALAR, TEXT]))
def test_whatever_is_written_is_an_answer_or_refused(written, asked):
    try:
        value = parse_value(asked, written)
    except ValueError:
        return
    assert value is None or is_allowed_value(asked, value)


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), 2, [1], {}])
def test_what_json_may_hold_and_is_no_answer(value):
    assert not is_allowed_value(BINARY, value)
    assert not is_allowed_value(SCALAR, value)


@pytest.mark.parametrize(
    ("asked", "values", "disputed"),
    [
        (BINARY, [1, 1], False), (BINARY, [1, 0], True), (BINARY, [1], False), (BINARY, [1, 1, 0], True),
        (SCALE, [2, 3], True), (SCALE, [3, 3, 3], False), (TEXT, ["a", "b"], False),
        (SCALAR, [0.5, 0.75], False),  # as far apart as the tolerance, both on or above the threshold
        (SCALAR, [0.5, 0.76], True), (SCALAR, [0.49, 0.5], True), (SCALAR, [0.2, 0.4], False),
        (SCALAR, [0.6, 0.7, 0.9], True), (SCALAR, [0.1, 0.35], False),
    ],
)  # fmt: skip
def test_disputes(asked, values, disputed):
    assert is_disputed(asked, values) is disputed
    assert is_disputed(asked, values[::-1]) is disputed


def test_decisions_and_gates():
    assert aggregate_value(BINARY, [1, 1]) == 1
    assert aggregate_value(SCALAR, [0.6, 0.7]) == 0.65
    assert aggregate_value(SCALE, [3, 3]) == 3
    assert aggregate_value(SCALE, [1, 2, 3]) == 2
    assert [aggregate_value(BINARY, votes) for votes in ([1, 1, 0], [1, 0, 0], [1, 0])] == [1, 0, 0]
    assert passes_gate(BINARY, 0, 0)
    assert not passes_gate(BINARY, 1, 0)
    assert passes_gate(SCALAR, 0.5, 0.5)
    assert passes_gate(SCALAR, aggregate_value(SCALAR, [0.1, 0.2]), 0.15)
    assert not passes_gate(SCALE, 2, 3)


def test_votes_are_bound_to_what_answers_mean():
    assert wording_key(BINARY) == wording_key(question(label="other", order=9))
    assert wording_key(BINARY) != wording_key(question(text="U?"))
    assert wording_key(SCALE) != wording_key(question(answer="scale", options={1: "poor", 2: "fair", 3: "fine"}))
    band = {"high": {"low": 0.5, "high": 1, "text": "fine"}}
    assert wording_key(SCALAR) != wording_key(question(answer="scalar", bands=band))
    assert wording_key(SCALAR) == wording_key(question(answer="scalar", tolerance=0.1, step=0.1))
    assert len({wording_key(one) for one in (BINARY, SCALE, SCALAR, TEXT)}) == 4


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answer": "scale"}, "at least two"), ({"options": {1: "a", 2: "b"}}, "only a question with answer: scale"),
        ({"bands": {"a": {"low": 0, "high": 1, "text": "x"}}}, "only a question with answer: scalar"),
        ({"answer": "scalar", "bands": {"a": {"low": 0.5, "high": 0.5, "text": "x"}}}, "from low up"),
    ],
)  # fmt: skip
def test_wrong_questions(fields, told):
    with pytest.raises(ValidationError, match=told):
        question(**fields)


@given(st.lists(st.tuples(st.integers(), st.sampled_from("abc")), unique=True, max_size=40), st.integers(0, 50))
def test_samples_are_in_proportion(things, size):
    def draw(size, seed=3):
        return proportional_sample(things, size, name=str, group=lambda thing: thing[1], seed=seed)

    drawn = draw(size)
    assert len(drawn) == min(size, len(things))
    assert drawn == [thing for thing in things if thing in drawn]
    assert drawn == draw(size)
    for group in "abc":
        whole = sum(thing[1] == group for thing in things)
        share = whole * min(size, len(things)) / len(things) if things else 0
        assert abs(sum(thing[1] == group for thing in drawn) - share) < 1
