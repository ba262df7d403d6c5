"""Labelled claims: which are kept, their answers, and the question about them."""

from __future__ import annotations

from claim_rows import envelope, make
from gathered import outcomes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core import Dropped, Fact, Kept, LabelledClaim, NotApplicable, Table, equality_key

WORDS = {"says_yes": "Yes.", "says_no": "No."}


def fact(text, label="true", line=1, **more):
    return Fact[LabelledClaim].build(payload=LabelledClaim(text=text, label=label, **more), **envelope(line, "facts"))


def screened(*rows, **spec):
    tables = {"each": Table.of(list(rows), Fact[LabelledClaim])}
    outcomes, _ = outcomes_of(make("screen_claims", spec), tables, Fact[LabelledClaim])
    return [None if isinstance(outcome, Kept) else outcome.reason for outcome in outcomes.values()]


def answers(row, **spec):
    kept = [outcome.row for outcome in make("answer_claims", {**WORDS, **spec}).map(row, {})]
    return [(statement.polarity, statement.text, statement.joined) for statement in kept]


def test_two_labels_of_one_text_drop_both_records():
    rows = [fact("Mars is a star."), fact("mars is a star", "false", line=2), fact("Mars is red now.", line=3)]
    assert screened(*rows) == ["contradicts", "contradicts", None]
    about = [
        fact("A cat sleeps.", label, about="text", premise=text) for label, text in (("true", "a"), ("false", "b"))
    ]
    assert screened(*about) == [None, None]


def test_claims_with_both_labels_may_be_about_texts():
    step = make("screen_claims", {})
    rows = [
        fact(f"Drug {n} helps.", label, line=2 * n + (label == "true")) for n in range(4) for label in ("true", "false")
    ]
    (remark,) = step.remarks_on(rows)
    assert remark.message.startswith("4 of 4 claims are labelled as true and as false")
    assert list(step.remarks_on(rows[:4])) == []  # two may be slips
    about = [fact(row.payload.text, row.payload.label, about="text", premise=str(n)) for n, row in enumerate(rows)]
    assert list(step.remarks_on(about)) == []


def test_a_claim_about_several_texts_is_one_family():
    rows = [fact(text, about="text", premise=premise) for text, premise in (("It helps.", "a"), ("it helps", "b"))]
    families = {outcome.row.family for row in rows for outcome in make("answer_claims", WORDS).map(row, {})}
    assert len(families) == 1
    assert families != {""}
    assert {outcome.row.family for outcome in make("answer_claims", WORDS).map(fact("It helps."), {})} == {""}


CLAIM = st.tuples(
    st.sampled_from(["Mars is a star.", "mars is a star", "It is red.", "The cat sleeps."]),
    st.sampled_from(["true", "false", "unknown"]), st.sampled_from(["", "a", "b"]),
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(CLAIM, max_size=12))
def test_each_claim_is_compared_with_all_that_say_the_same(claims):
    rows = [
        fact(text, label, line, premise=premise, as_of=str(line))
        for line, (text, label, premise) in enumerate(claims, 1)
    ]
    keys = [(equality_key(premise), equality_key(text)) for text, _, premise in claims]
    wanted = []
    for place, (key, (_, label, _)) in enumerate(zip(keys, claims, strict=True)):
        alike = [at for at, other in enumerate(keys) if other == key and claims[at][1] != "unknown"]
        other = next((at for at in alike if claims[at][1] != label), None)
        if label == "unknown":
            wanted.append(NotApplicable("unknown_label"))
        elif other is not None:
            wanted.append(Dropped("contradicts", f"{rows[other].id} is labelled as {claims[other][1]}"))
        else:
            first = rows[alike[0]]
            wanted.append(Kept(first) if alike[0] == place else Dropped("repeated", f"kept: {first.id}"))
    tables = {"each": Table.of(rows, Fact[LabelledClaim])}
    outcomes, _ = outcomes_of(make("screen_claims", {}), tables, Fact[LabelledClaim])
    assert [*outcomes.values()] == wanted


def test_fragments_and_claims_about_an_unseen_text_are_dropped():
    assert screened(fact("Red planet."), fact("It is a red planet.", line=2), fact("Mars is red.", "unknown", line=3),
                    context_dependent=["^It "]) == ["fragment", "context_dependent", "unknown_label"]  # fmt: skip


def test_a_question_among_claims_is_dropped_and_one_that_is_asked_is_not():
    assert screened(fact("Is Mars red?"), fact("火星是红色的吗？", line=2), fact("Mars is red.", line=3),
                    fact("Is Mars blue?", asked=True, line=4)) == ["asks", "asks", None, None]  # fmt: skip


def test_claims_that_do_not_stand_alone_are_dropped_unless_a_text_stands_before_them():
    words = {"not_alone": ["^Experts say"]}
    assert screened(fact("Experts say that Mars is red.")) == [None]
    assert screened(fact("Experts say that Mars is red."), **words) == ["not_alone"]
    assert screened(fact("Experts say that Mars is red.", about="text", premise="Mars."), **words) == [None]


def test_answers_are_verdicts_alone_unless_both_sides_have_a_sentence():
    assert answers(fact("Mars is red.")) == [("true", "Yes.", "verdict"), ("false", "No.", "verdict")]
    assert answers(fact("Mars is red.", "false")) == [("true", "No.", "verdict"), ("false", "Yes.", "verdict")]
    rules = {"sentences": True, "negation": [{"words": [" is "], "replace": " is not "}], "longest_gold": 5}
    assert answers(fact("Mars is red."), **rules)[1] == ("false", "No. Mars is not red.", "template")
    refuted = fact("Mars is a star.", "false", gold=("Mars is a planet.",))
    assert [text for _, text, _ in answers(refuted, **rules)] == ["No. Mars is a planet.", "Yes. Mars is a star."]
    named = fact("Mars is a star.", "false", gold=("pages::Mars is a planet.",))
    assert answers(named, **rules)[0][1] == "No. Mars is a planet."
    long = fact("Mars is a star.", "false", gold=("Mars is the fourth planet from the sun.",))
    assert [text for _, text, _ in answers(long, **rules)] == ["No.", "Yes."]
    nobody = make("answer_claims", {"says_yes": "", "says_no": ""}).map(long, {})
    assert nobody == [NotApplicable("no_verdicts", slot) for slot in ("true", "false")]


def test_the_question_shows_the_claim_or_is_the_question_of_the_source():
    ask = make("ask_claim", {"sentence": "“{claim}” True?"})
    for row, form, text in (
        (fact("Mars is a star.", "false", about="text", premise="Mars."), "claim", "“Mars is a star.” True?"),
        (fact("Is Mars a star?", "false", asked=True), "yes_no", "Is Mars a star?"),
    ):
        right, wrong = (outcome.row for outcome in make("answer_claims", WORDS).map(row, {}))
        (asked,) = ask.map(right, {"fact": row})
        assert (asked.row.text, asked.row.form, asked.row.expected) == (text, form, "no")
        assert asked.row.context == (f"{row.payload.premise}\n" if row.payload.premise else "")
        assert ask.map(wrong, {"fact": row}) == [NotApplicable("wrong_answer")]
