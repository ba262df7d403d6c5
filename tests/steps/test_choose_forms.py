"""Balanced choice of forms: whole families, no word or length that tells the verdict, and a reason for the rest."""

import random
import sys
from collections import Counter

import pytest

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import InstallationError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Question
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.choose_forms import ChooseForms, ChooseFormsSpec
from benchbuilder.steps.language.ngrams import find_ngrams
from benchbuilder.testing import check_step

HEADER = {"origin": Origin(file="sky.csv", line=1), "produced_by": ProducedBy(rule="test"), "language": "en"}
METHODS = ("greedy", "exact")


def asked(text, expected, *, fact="", family="", negated=False, partition="sky", type="tf"):
    text = f"Is it right that {text}?" if type == "tf" else text
    return Question.build(
        type=type, text=text, expected=expected, fact=fact, family=family, negated=negated, partition=partition,
        slot=family, **HEADER,
    )  # fmt: skip


def quad(number, first, second, relation="orbits", partition="sky"):
    """The eight questions of two facts (name, subject, answer) that exchange their answers."""
    family, rows = f"family-{number:04}", []
    for name, subject, own in (first, second):
        for answer in (first[2], second[2]):
            for negated in (False, True):
                text = f"{subject} {'never ' if negated else ''}{relation} {answer}"
                expected = "yes" if (answer == own) != negated else "no"
                rows.append(asked(text, expected, fact=name, family=family, negated=negated, partition=partition))
    return rows


def quads(count=40, facts=30, seed=3):
    """Candidate families over few facts, with names of different lengths."""
    draw = random.Random(seed)
    known = [(f"fact-{n:03}", f"body{'x' * draw.randrange(9)} {n}", f"star{'y' * draw.randrange(9)} {n}") for n in
             range(facts)]  # fmt: skip
    return [row for number in range(count) for row in quad(number, *draw.sample(known, 2))]


def pairs(planted=20, plain=20):
    """A true and a false question for each fact; the false ones of the first facts contain a planted word."""
    rows = []
    for n in range(planted + plain):
        word = "always " if n < planted else ""
        rows += [
            asked(f"body {n} is a moon of {n % 7}", "yes", fact=f"fact-{n:03}", family=f"fact-{n:03}"),
            asked(f"body {n} is {word}a moon of {(n + 3) % 7}", "no", fact=f"fact-{n:03}", family=f"fact-{n:03}"),
        ]
    return rows


def chooser(**spec):
    made = {"kind": "choose_forms", "from": "rows", "unit": "words", "seconds": 20, **spec}
    return ChooseForms(ChooseFormsSpec.model_validate(made), StepContext(seed=7, language="en", step="chosen", cache="",
                       workplace=""))  # fmt: skip


def choose(rows, facts=None, **spec):
    """The kept rows, what is said of the others by id, and the notes."""
    step, tables = chooser(**spec), {"each": Table.of(rows, Question)}
    step.open({} if facts is None else {"facts": Table.of(facts, Fact[Triple])})
    result = step.gather(tables)
    shard = account_gather(step, tables, result, Question)
    lines = shard.outcomes.to_pylist()
    assert [line["row"] for line in lines] == [row.id for row in rows]
    return list(shard.rows), {line["row"]: line["reason"] for line in lines if line["outcome"] != "kept"}, result.notes


def imbalance(rows, unit="words"):
    """For each n-gram by form: questions with the verdict yes minus those with no, and how many there are."""
    table = find_ngrams((row.text for row in rows), unit)
    sums, counts = Counter(), Counter()
    for at, gram in zip(table.texts, table.grams, strict=True):
        key = rows[at].negated, table.name(gram)
        sums[key] += 1 if rows[at].expected == "yes" else -1
        counts[key] += 1
    return sums, counts


@pytest.mark.parametrize("method", METHODS)
def test_a_planted_word_no_longer_tells_the_verdict(method):
    rows = pairs()
    before, _ = imbalance(rows)
    kept, dropped, notes = choose(rows, method=method)
    after, counts = imbalance(kept)
    assert before[False, "always"] == -20
    assert after[False, "always"] >= -1
    assert {key for key, value in after.items() if counts[key] >= 10 and abs(value) > 1} == set()
    assert set(dropped.values()) == {"balance"}
    assert len(kept) == 2 * notes["kept"] >= 2 * 18


def labelled(yes=30, no=12):
    """Questions of one fact each, with more yes than no."""
    return [
        asked(f"{verdict[-1]}{n} is {'bright' if n % 3 else 'rarely bright'}", verdict, fact=f"fact-{verdict}-{n:03}")
        for verdict, count in (("yes", yes), ("no", no))
        for n in range(count)
    ]


@pytest.mark.parametrize("method", METHODS)
def test_labelled_questions_keep_as_many_with_yes_as_with_no(method):
    kept, dropped, _ = choose(labelled(), method=method, ask="one", even_forms=False, slack={"share": 0})
    counts = Counter(row.expected for row in kept)
    assert abs(counts["yes"] - counts["no"]) <= 1
    assert min(counts.values()) >= 10
    assert set(dropped.values()) == {"balance"}


def test_without_a_method_every_question_is_kept():
    kept, dropped, _ = choose(labelled(), method="none", ask="one")
    assert (len(kept), dropped) == (42, {})
    assert chooser(method="none").fingerprint() == {}


@pytest.mark.parametrize("method", METHODS)
def test_families_stay_whole_and_no_fact_is_asked_twice(method):
    rows = quads()
    kept, dropped, notes = choose(rows, method=method, seconds=5)
    chosen = Counter((row.family, row.negated) for row in kept)
    assert set(chosen.values()) == {4}
    assert len({family for family, _ in chosen}) == len(chosen) == notes["kept"] > 5
    facts = Counter(fact for _, fact in {(row.family, row.fact) for row in kept})
    assert set(facts.values()) == {1}
    assert Counter(row.expected for row in kept) == {"yes": 2 * len(chosen), "no": 2 * len(chosen)}
    assert abs(sum(-1 if negated else 1 for _, negated in chosen)) <= 1
    assert set(dropped.values()) <= {"other_form", "balance", "fact_taken"}
    assert Counter(dropped.values())["other_form"] == len(kept)


@pytest.mark.parametrize("ask", ["both", "one"])
def test_the_solver_keeps_no_fewer_families(ask):
    rows = quads(60, 24)
    greedy, exact = (choose(rows, method=method, ask=ask, seconds=3)[2] for method in METHODS)
    assert exact["kept"] >= greedy["kept"] > 0
    assert 0 <= exact["gap"] < 1


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_changes_nothing(method):
    rows = quads(30, 16)
    shuffled = random.Random(1).sample(rows, len(rows))
    first, second = (choose(order, method=method, seconds=5) for order in (rows, shuffled))
    assert {row.id for row in first[0]} == {row.id for row in second[0]}
    assert first[1:] == second[1:]


def test_one_question_a_fact():
    kept, dropped, notes = choose(quads(20, 40), ask="one")
    assert set(Counter(row.fact for row in kept).values()) == {1}
    by_family = Counter((row.family, row.expected) for row in kept)
    assert set(by_family.values()) == {1}
    assert len(by_family) == 2 * notes["kept"]
    assert {"other_form"} <= set(dropped.values())


def test_the_verdicts_of_single_facts_alternate_as_balance_asks():
    kept, _, notes = choose(pairs(0, 40), ask="one")
    assert notes["kept"] == 40
    assert abs(sum(1 if row.expected == "yes" else -1 for row in kept)) <= 1


def test_a_family_that_lost_a_question_goes_as_a_whole():
    whole = quad(1, ("fact-a", "Moon", "Earth"), ("fact-b", "Io", "Jupiter"))
    lost = [row for row in quad(2, ("fact-c", "Earth", "Sun"), ("fact-d", "Titan", "Saturn")) if not (
        row.fact == "fact-c" and row.expected == "no")]  # fmt: skip
    half = [row for row in quad(3, ("fact-e", "Ceres", "Sun"), ("fact-f", "Rhea", "Saturn")) if row.fact == "fact-e"]
    kept, dropped, _ = choose([*whole, *lost, *half])
    assert {row.family for row in kept} == {"family-0001"}
    assert {dropped[row.id] for row in (*lost, *half)} == {"family_incomplete"}


def test_half_of_the_families_of_every_relation_are_negated():
    facts, rows = [], []
    for n in range(40):
        relation = "orbits" if n % 4 else "precedes"
        two = []
        for side in "ab":
            payload = Triple(head=f"body {n}{side}", relation=relation, tail=f"star {n}{side}")
            facts.append(Fact[Triple].build(payload=payload, partition="sky", **HEADER))
            two.append((facts[-1].id, payload.head, payload.tail))
        rows += quad(n, *two, relation=relation)
    kept, _, _ = choose(rows, facts)
    relations = {fact.id: fact.payload.relation for fact in facts}
    forms = Counter((relations[row.fact], row.negated) for row in kept)
    assert forms == {("orbits", False): 60, ("orbits", True): 60, ("precedes", False): 20, ("precedes", True): 20}


def test_popular_heads_are_as_often_right_as_wrong():
    rows, facts = [], []
    for n in range(60):
        payload = Triple(head="hub" if n < 30 else f"body {n}", relation="r", tail=f"end {n}")
        facts.append(Fact[Triple].build(payload=payload, partition="sky", **HEADER))
        rows += [
            asked(f"claim {n} {verdict}", verdict, fact=facts[-1].id, family=facts[-1].id) for verdict in ("yes", "no")
        ]
    kept, _, _ = choose(rows, facts, ask="one", words=1000)
    popular = {fact.id for fact in facts[:30]}
    sums = Counter(row.fact in popular for row in kept if row.expected == "yes")
    assert abs(sums[True] - sums[False]) <= 1
    assert len(kept) == 60


def test_forms_are_free_if_the_recipe_says_so_and_open_questions_stay():
    rows = [
        row for n in range(12) for row in quad(n, (f"fact-{n}a", f"m{n}", f"p{n}"), (f"fact-{n}b", f"n{n}", f"q{n}"))
        if n == 0 or not row.negated
    ]  # fmt: skip
    open_question = asked("What does the Moon orbit?", "", fact="fact-0a", family="family-0000", type="oe")
    kept, _, notes = choose([*rows, open_question])
    assert open_question in kept
    assert notes["kept"] == 3  # two affirmed, one negated
    assert choose(rows, even_forms=False)[2]["kept"] == 12


def test_what_needs_a_library_says_so(monkeypatch):
    assert list(chooser(method="exact").fingerprint()) == ["scipy"]
    assert chooser().fingerprint() == {}
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(InstallationError, match="choose_forms") as error:
        chooser(method="exact").fingerprint()
    assert "benchbuilder[audit]" in error.value.next


def test_choose_forms_contract():
    check_step(chooser, {"each": Table.of(quads(6, 8), Question)})


def test_ngrams_cross_no_space_between_characters():
    table = find_ngrams(["ＡＢ c", ""], "characters")
    assert [table.name(gram) for gram in table.grams] == ["a", "b", "c", "ab"]
    assert set(table.texts) == {0}


def test_any_number_of_pairs_at_a_time_states_the_same_problem(monkeypatch):
    rows = quads(12, 12)
    whole = choose(rows, words=2)
    monkeypatch.setattr("benchbuilder.steps.balance.problem._PAIRS", 3)
    monkeypatch.setattr("benchbuilder.core.records.arrow.table._BATCH_ROWS", 7)
    assert choose(rows, words=2) == whole
