"""Two facts exchange their answers: what bars a pair, and that nothing is barred on one side alone."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from claim_rows import envelope, triple
from gathered import outcomes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Passage, Statement
from benchbuilder.core.records.row import ProducedBy, Span, content_id
from benchbuilder.core.text.answers import comparison_key
from benchbuilder.steps import swap_triple
from benchbuilder.steps.swap_triple import SwapTriple
from benchbuilder.steps.swapping import exchange, swapped
from benchbuilder.steps.swapping.spec import SwapTripleSpec
from benchbuilder.steps.template_statements import StateTriple
from benchbuilder.testing import check_step

NO_BARS = {
    "known": True, "any_relation": True, "synonyms": ["同义词"], "kin": "none", "near_known": "none", "similar": None,
    "cohesion": None, "spread": None, "together": True, "shared_letters": "allowed", "alike": None, "related": None,
    "generic": [],
}  # fmt: skip
ALL_BARS = {
    **NO_BARS, "kin": "bigram", "near_known": "bigram", "similar": {}, "cohesion": {}, "spread": {},
    "shared_letters": "balanced", "alike": 1, "related": 0.5, "generic": ["症状"],
}  # fmt: skip
NAMES = ["甲乙", "丙丁", "戊己", "庚辛", "壬癸", "子丑", "寅卯", "辰巳", "午未", "申酉", "甲丙", "乙"]
NAME = st.sampled_from(NAMES)
EDGE = st.tuples(NAME, st.sampled_from(["治", "治（反向）", "因"]), NAME, st.lists(NAME, max_size=1))


def made(tmp_path, bars=NO_BARS, *, seed=1, **more):
    plain = {
        "relations": {}, "bar": bars, "partner": "far", "unit": "characters", "ignore": "。",
        "inverse_suffix": "（反向）",
    }  # fmt: skip
    spec = SwapTripleSpec.model_validate({"kind": "swap_triple", "from": "rows", **plain, **more})
    return SwapTriple(spec, StepContext(seed=seed, language="zh", step="swap", cache=tmp_path, workplace=tmp_path))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A relation table for any relation."""
    file = tmp_path_factory.mktemp("relations") / "relations.tsv"
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end"
    rows = ["治（反向）\t{tail}治{head}。\t{tail}不治{head}。\t{tail}治{head}吗？\t\thead",
            "*\t{head}{relation}{tail}。\t{head}不{relation}{tail}。\t{head}{relation}{tail}吗？\t\ttail"]  # fmt: skip
    file.write_text("\n".join([header, *rows]), encoding="utf-8")
    return str(file)


@pytest.fixture(scope="module")
def state(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    context = StepContext(seed=1, language="zh", step="state", cache=folder, workplace=folder)
    spec = {"kind": "state_triple", "from": "rows", "relations": {"default": table}}
    step = StateTriple(StateTriple.spec_class.model_validate(spec), context)
    step.open({})

    def stated(facts):
        outcomes = (next(iter(step.map(fact, {}))) for fact in facts)
        return [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]

    return stated


def facts_of(*edges, partition="cpubmed"):
    """Facts of (head, relation, tail) and perhaps further names of the tail."""
    return [
        triple(head, relation, tail, line=line, partition=partition, head_type="病", tail_type="药",
               head_terms=(head,), tail_terms=(tail, *more))
        for line, (head, relation, tail, *more) in enumerate(edges, 1)
    ]  # fmt: skip


def run(step, stated, facts, known=(), passages=None, name="text"):
    """The outcome of each statement by its text (or its id), and the notes."""
    tables = {
        "each": Table.of(stated, Statement), "fact": Table.of(facts, Fact[Triple]),
        "known": Table.of([*facts, *known], Fact[Triple]),
    }  # fmt: skip
    if passages is not None:
        rows = (
            Passage.build(base="book", document="1", text=text, **envelope(n, "book"))
            for n, text in enumerate(passages)
        )
        tables["passages"] = Table.of(rows, Passage)
    outcomes, notes = outcomes_of(step, tables, Statement)
    texts = {row.id: getattr(row, name) for row in stated}
    return {texts[row]: outcome for row, outcome in outcomes.items()}, notes


def test_two_facts_make_a_family_of_four_statements(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    stated = state(facts)
    outcomes, notes = run(made(tmp_path, ALL_BARS), stated, facts)
    one, two = (outcomes[row.text].row for row in stated)
    assert [one.text, two.text] == ["甲乙治庚辛。", "戊己治丙丁。"]
    assert (one.answer.slice_of(one.text), two.answer.slice_of(two.text)) == ("庚辛", "丙丁")
    assert one.family == two.family != ""
    assert {one.fact, two.fact} == {fact.id for fact in facts}
    assert (one.polarity, one.joined, one.negated, one.of) == ("false", "replacement", False, stated[0].id)
    assert one.parents == (stated[0].id, stated[1].id, facts[0].id, facts[1].id)
    assert "letters_tell" in one.checks
    assert notes == {"relations": {"治": {"facts": 2, "families": 1, "functionality": 1.0}}}


@pytest.mark.parametrize(
    ("bars", "known", "reason", "names"),
    [
        ({}, [("甲乙", "治", "庚辛")], "known_end", "甲乙 | 治 | 庚辛"),
        ({}, [("甲乙", "治", "别名", "庚辛")], "known_end", "甲乙 | 治 | 别名"),
        ({}, [("庚辛", "治（反向）", "甲乙")], "known_end", "庚辛 | 治（反向） | 甲乙"),
        ({}, [("别名", "同义词", "甲乙"), ("别名", "治", "庚辛")], "known_end", "别名 | 治 | 庚辛"),
        ({}, [("庚辛", "因", "甲乙")], "known_elsewhere", "庚辛 | 因 | 甲乙"),
        ({"near_known": "contained"}, [("甲乙", "治", "重庚辛")], "near_known", "重庚辛"),
        ({"near_known": "bigram"}, [("甲乙", "治", "庚辛寅")], "near_known", "庚辛寅"),
        ({"kin": "contained"}, [("小甲乙", "治", "庚辛")], "kin_has_it", "小甲乙"),
        ({"kin": "bigram"}, [("甲乙寅", "治", "庚辛")], "kin_has_it", "甲乙寅"),
        ({"similar": {}}, [("甲乙", "因", "x"), ("y", "因", "x"), ("y", "治", "庚辛")], "similar_have_it", "y has it"),
        ({"related": 0.05}, [("甲乙", "因", "寅卯"), ("戊己", "因", "寅卯丑")], "heads_alike", ": 0.09"),
        ({"cohesion": {"holders": 2}}, [("子", "治", "庚辛"), ("子", "因", "x"), ("戊己", "因", "y")], "unspecific",
         "庚辛"),
    ],
)  # fmt: skip
def test_known_triples_bar_a_pair_and_are_named(tmp_path, state, bars, known, reason, names):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    outcomes, _ = run(made(tmp_path, {**NO_BARS, **bars}), state(facts), facts, facts_of(*known))
    found = {outcome.reason: outcome.detail for outcome in outcomes.values()}
    assert reason in found
    assert names in found[reason]
    assert set(found) <= {reason, "no_partner"}
    plain, _ = run(made(tmp_path, {**NO_BARS, "known": False}), state(facts), facts, facts_of(*known))
    assert all(isinstance(outcome, Kept) for outcome in plain.values())


@pytest.mark.parametrize(
    ("bars", "two", "reasons"),
    [
        ({"shared_letters": "balanced"}, ("戊己", "治", "庚甲"), {"letters_tell"}),
        ({"shared_letters": "balanced"}, ("戊己", "治", "己辛"), {"letters_tell"}),
        ({"shared_letters": "common"}, ("戊己", "治", "庚甲"), {"shares_letters"}),
        ({"shared_letters": "common"}, ("戊己", "治", "己辛"), {"shares_letters", "letters_tell"}),
        ({"alike": 1}, ("甲乙子", "治", "庚辛"), {"heads_alike"}),
        ({"alike": 1}, ("戊己", "治", "丙丁子"), {"answers_alike"}),
        ({"alike": 2}, ("甲乙子", "治", "庚辛"), {"heads_alike"}),  # one contains the other
        ({"generic": ["^庚"]}, ("戊己", "治", "庚辛"), {"generic_answer", "no_partner"}),
        ({}, ("戊己", "因", "庚辛"), {"no_partner"}),
    ],
)
def test_texts_bar_a_pair(tmp_path, state, bars, two, reasons):
    facts = facts_of(("甲乙", "治", "丙丁"), two)
    outcomes, _ = run(made(tmp_path, {**NO_BARS, **bars}), state(facts), facts)
    assert {outcome.reason for outcome in outcomes.values()} == reasons


def test_relations_are_sorted_by_what_a_graph_can_say(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"), ("甲乙", "因", "壬癸"), ("戊己", "因", "子丑"))

    def kept(**lists):
        outcomes, _ = run(
            made(tmp_path, {**NO_BARS, "cohesion": {"holders": 2}}, relations=lists), state(facts), facts, known
        )
        return {text for text, outcome in outcomes.items() if isinstance(outcome, Kept)}

    known = facts_of(("午未", "治", "庚辛"), ("午未", "源", "x"))
    cause = {"甲乙因壬癸。", "戊己因子丑。"}
    treatment = {"甲乙治丙丁。", "戊己治庚辛。"}
    assert kept() == kept(checkable=["因"]) == cause
    assert all(kept(**{name: ["治"]}) == cause for name in ("open", "ranges", "preferences", "kinds"))
    assert kept(functional=["治"]) == cause | treatment


STRICT = {"known": True, "any_relation": True, "synonyms": ["同义词"], "generic": []}  # the rest is the default
WARDS = [*((name, "挂号", "呼吸内科") for name in ("肺炎", "哮喘", "矽肺")),
         *((name, "挂号", "皮肤科") for name in ("湿疹", "痤疮", "疥疮"))]  # fmt: skip


@pytest.mark.parametrize("relations", [{}, {"functional": ["挂号"]}])
def test_answers_of_several_concepts_are_exchanged(tmp_path, state, relations):
    """Three concepts have each answer: no count of them bars, nor do the letters that wards have in common."""
    facts = facts_of(*WARDS)
    outcomes, _ = run(made(tmp_path, STRICT, relations=relations), state(facts), facts)
    assert {outcome.row.text[:2] for outcome in outcomes.values()} == {head for head, *_ in WARDS}
    assert all(outcome.row.text[4:] in ("呼吸内科。", "皮肤科。") for outcome in outcomes.values())


def test_the_author_lifts_what_guesses(tmp_path, state):
    known = facts_of(("甲乙", "因", "x"), ("y", "因", "x"), ("y", "治", "庚辛"), ("甲乙", "因", "庚辛寅"))
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    outcomes, _ = run(made(tmp_path, STRICT), state(facts), facts, known)
    assert {outcome.reason for outcome in outcomes.values()} == {"near_known"}
    outcomes, _ = run(made(tmp_path, STRICT, relations={"functional": ["治"]}), state(facts), facts, known)
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())
    outcomes, _ = run(made(tmp_path, STRICT, relations={"functional": ["治"]}), state(facts), facts,
                      facts_of(("甲乙", "因", "庚辛")))  # fmt: skip
    assert {outcome.reason for outcome in outcomes.values()} == {"known_elsewhere"}


def test_where_nothing_is_exchanged_the_settings_that_would_help_are_tried(tmp_path, state):
    """Names that share pieces bar each other; the author may know that a concept has one right end."""
    teas = facts_of(
        ("青苔茶", "治", "青云谷"), ("青苔汤", "治", "青云山"), ("青苔茶", "因", "风"), ("青苔茶", "因", "水")
    )
    bars = {**ALL_BARS, "generic": ["风|水"]}
    _, notes = run(made(tmp_path, bars), state(teas), teas)
    tried = notes["presets"]
    assert (tried["functional"], tried["facts"], tried["of"]) == (["治"], 2, 2)
    assert (tried["exchanged"]["now"], tried["exchanged"]["functional"]) == (0, 2)
    outcomes, _ = run(made(tmp_path, bars, relations={"functional": tried["functional"]}), state(teas), teas)
    assert sum(isinstance(outcome, Kept) for outcome in outcomes.values()) == 2

    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    for relations in ({"open": ["治"]}, {"checkable": ["因"]}):
        _, notes = run(made(tmp_path, ALL_BARS, relations=relations), state(facts), facts)
        counts = {"now": 0, "unlisted": 2}
        assert notes["presets"] == {"facts": 2, "of": 2, "exchanged": counts, "lists": [*relations]}


def test_preferences_do_not_tell_who_is_alike(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    known = facts_of(("甲乙", "宜", "x"), ("y", "宜", "x"), ("y", "治", "庚辛"))
    bars = {**NO_BARS, "similar": {}}
    outcomes, _ = run(made(tmp_path, bars), state(facts), facts, known)
    assert {outcome.reason for outcome in outcomes.values()} == {"similar_have_it"}
    outcomes, _ = run(made(tmp_path, bars, relations={"preferences": ["宜"]}), state(facts), facts, known)
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())


def test_classes_bar_answers_of_all_sorts_and_of_the_own_class(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    classed = [("甲乙", "科", "内"), ("戊己", "科", "外"), ("y", "科", "内")]
    bars, relations = {**NO_BARS, "spread": {"classes": 2, "leading": 0.6}}, {"classes": ["科"]}

    def reasons(*known, **spread):
        step = made(tmp_path, {**bars, "spread": {**bars["spread"], **spread}}, relations=relations)
        outcomes, _ = run(step, state(facts), facts, facts_of(*known))
        return {getattr(outcome, "reason", "kept") for outcome in outcomes.values()}

    assert reasons(*classed) == {"kept"}
    assert reasons(*classed, ("y", "因", "庚辛")) == {"unspecific", "no_partner"}  # of both classes
    assert reasons(*classed, ("y", "因", "庚辛"), classes=3) == {"class_has_it"}  # half of them are of the own class
    assert reasons(*classed, ("y", "因", "庚辛"), classes=3, share=0.5) == {"kept"}
    assert reasons(*classed[1:]) == {"class_has_it"}  # without a class nothing can be said
    assert reasons(*classed, generic=["内"]) == {"class_has_it"}


def test_a_gone_bar_names_its_successor(tmp_path):
    with pytest.raises(ValidationError, match="`popular_answer` is gone"):
        made(tmp_path, {**NO_BARS, "popular_answer": 2})


def test_an_end_of_an_end_is_one_where_the_relation_is_transitive(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    known = facts_of(("丙丁", "治", "一"), ("一", "治", "二"), ("二", "治", "庚辛"))
    outcomes, _ = run(made(tmp_path), state(facts), facts, known)
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())
    step = made(tmp_path, relations={"transitive": ["治"]})
    outcomes, _ = run(step, state(facts), facts, known)
    assert {(outcome.reason, outcome.detail[-10:]) for outcome in outcomes.values()} == {
        ("known_end", "二 | 治 | 庚辛")
    }
    outcomes, _ = run(step, state(facts), facts, known[:2])
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())


def test_a_paragraph_bars_a_pair_and_is_named(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    step = made(tmp_path)
    outcomes, _ = run(step, state(facts), facts, passages=["无关。", "甲乙与庚 辛。"])
    assert {outcome.reason for outcome in outcomes.values()} == {"together_in_text"}
    assert all("甲乙与庚" in outcome.detail for outcome in outcomes.values())
    outcomes, _ = run(step, state(facts), facts, passages=["甲乙与丙丁。", "戊己。庚辛。"])
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())


def test_words_are_compared_whole(tmp_path, state):
    facts = facts_of(("ear pain", "cure", "art"), ("foot sore", "cure", "iron"))
    step = made(tmp_path, {**ALL_BARS, "near_known": "contained", "kin": "bigram"}, unit="words", ignore="- ")
    known = facts_of(("ear pain", "harm", "environment"), ("heart pains", "cure", "tin"))
    outcomes, _ = run(step, state(facts), facts, known)
    assert all(isinstance(outcome, Kept) for outcome in outcomes.values())
    known = facts_of(("ear pain", "harm", "iron pill"))
    outcomes, _ = run(step, state(facts), facts, known)
    assert {outcome.reason for outcome in outcomes.values()} == {"near_known"}


@pytest.mark.parametrize("statement", ["{head} is cured by {tail}.", "{tail} cures {head}."])
def test_a_sentence_that_begins_with_a_name_has_a_capital_and_names_are_compared_without_it(tmp_path, statement):
    file = tmp_path / "relations.tsv"
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end"
    file.write_text(f"{header}\n*\t{statement}\tNot so: {statement}\t{statement[:-1]}?\t\ttail\n", encoding="utf-8")
    state = StateTriple(
        StateTriple.spec_class.model_validate(
            {"kind": "state_triple", "from": "rows", "relations": {"default": str(file)}}
        ),
        StepContext(seed=1, language="en", step="state", cache=tmp_path, workplace=tmp_path),
    )
    state.open({})
    facts = facts_of(("ear pain", "cure", "artemisinin"), ("mRNA loss", "cure", "iron"))
    stated = [next(iter(state.map(fact, {}))).row for fact in facts]
    outcomes, _ = run(made(tmp_path, NO_BARS, unit="words"), stated, facts)
    texts = [*(row.text for row in stated), *(outcome.row.text for outcome in outcomes.values())]
    pairs = (("ear pain", "artemisinin"), ("mRNA loss", "iron"), ("ear pain", "iron"), ("mRNA loss", "artemisinin"))
    expected = [statement.format(head=head, tail=tail) for head, tail in pairs]
    assert texts == [text if text.startswith("mRNA") else text[0].upper() + text[1:] for text in expected]
    known = facts_of(("EAR PAIN", "cure", "Iron"))
    outcomes, _ = run(made(tmp_path, NO_BARS, unit="words"), stated, facts, known)
    assert {outcome.reason for outcome in outcomes.values()} == {"known_end"}


def test_words_of_one_root_share_letters(tmp_path, state):
    facts = facts_of(("nephritic pain", "cure", "tin"), ("foot sore", "cure", "nephrology"))
    step = made(tmp_path, {**NO_BARS, "shared_letters": "balanced"}, unit="words")
    outcomes, _ = run(step, state(facts), facts)
    assert {outcome.reason for outcome in outcomes.values()} == {"letters_tell"}


def test_sources_and_types_are_not_mixed(tmp_path, state):
    facts = [*facts_of(("甲乙", "治", "丙丁")), *facts_of(("戊己", "治", "庚辛"), partition="bios")]
    outcomes, _ = run(made(tmp_path), state(facts), facts)
    assert {outcome.reason for outcome in outcomes.values()} == {"no_partner"}


def test_the_answer_may_be_the_head(tmp_path, state):
    facts = facts_of(("丙丁", "治（反向）", "甲乙"), ("庚辛", "治（反向）", "戊己"))
    outcomes, _ = run(made(tmp_path, ALL_BARS), state(facts), facts)
    assert {outcome.row.text for outcome in outcomes.values()} == {"甲乙治庚辛。", "戊己治丙丁。"}
    outcomes, _ = run(made(tmp_path, ALL_BARS), state(facts), facts, facts_of(("甲乙", "治", "庚辛")))
    assert {outcome.reason for outcome in outcomes.values()} == {"known_end"}


def test_a_fact_that_is_not_there_is_an_error(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    with pytest.raises(DataError, match="not in the port"):
        run(made(tmp_path), state(facts), facts[:1])


def test_partners_are_far_or_near(tmp_path, state):
    facts = facts_of(("甲", "治", "一"), ("乙", "治", "二"), ("丙", "治", "三"), ("丁", "治", "四"))
    known = facts_of(("甲", "因", "共同"), ("乙", "因", "共同"), ("丙", "因", "其他"), ("丁", "因", "其他"))

    def partner_of_first(partner):
        outcomes, _ = run(made(tmp_path, partner=partner), state(facts), facts, known)
        return outcomes["甲治一。"].row.text

    assert partner_of_first("near") == "甲治二。"
    assert partner_of_first("far") in {"甲治三。", "甲治四。"}


# --- the symmetry rule ------------------------------------------------------------------------------------------------


def sides(pairs):
    """For each feature of concept and answer that their texts show, how many true and false statements have it."""
    found = {"true": Counter(), "false": Counter()}
    for polarity, concept, answer in pairs:
        found[polarity].update(["all", f"shared {len(set(concept) & set(answer))}", f"in {concept in answer}",
                                f"holds {answer in concept}", f"first {concept[0] == answer[0]}"])  # fmt: skip
    return found


def swapped_pairs(step, state, facts, known=()):
    """Polarity, concept and answer of every statement of a family."""
    outcomes, _ = run(step, state(facts), facts, known)
    heads = {fact.id: fact.payload for fact in facts}
    for outcome in outcomes.values():
        if isinstance(outcome, Kept):
            own = heads[outcome.row.fact]
            yield "true", own.head, own.tail
            yield "false", own.head, outcome.row.answer.slice_of(outcome.row.text)


def graph_with_shared_letters(count=160):
    """Facts of which a third shares a letter between head and tail."""
    draw = random.Random(3)
    letters = [chr(0x4E00 + n) for n in range(900)]
    edges = []
    for n in range(count):
        head, tail = "".join(draw.sample(letters, 3)), "".join(draw.sample(letters, 3))
        edges.append((f"{head}病", "治", tail if n % 3 else f"{tail}{head[0]}{'病' if n % 2 else ''}"))
    return facts_of(*edges)


def test_no_bar_on_texts_holds_on_one_side_alone(tmp_path, state):
    facts = graph_with_shared_letters()
    bars = {**NO_BARS, "shared_letters": "balanced"}
    both = sides(swapped_pairs(made(tmp_path, bars), state, facts))
    assert both["true"] == both["false"]
    assert both["true"]["all"] > 60
    assert both["true"]["shared 0"] < both["true"]["all"]  # letters are balanced, not forbidden
    # without the bar, the letters of a statement tell its verdict
    told = sides(swapped_pairs(made(tmp_path), state, facts))
    assert told["true"] != told["false"]


def test_letters_that_few_names_have_are_not_shared(tmp_path, state):
    facts = graph_with_shared_letters()
    pairs = list(swapped_pairs(made(tmp_path, {**NO_BARS, "shared_letters": "common"}), state, facts))
    common = {"病"}  # in every concept; a sixth of the answers end in it
    assert all(set(concept) & set(answer) <= common for _, concept, answer in pairs)
    counted = sides(pairs)
    assert counted["true"] == counted["false"]
    assert counted["true"]["all"] > 60


def test_every_end_is_as_often_true_as_false(tmp_path, state):
    facts = graph_with_shared_letters()
    pairs = list(swapped_pairs(made(tmp_path, ALL_BARS), state, facts))
    for end in (1, 2):
        counts = Counter((pair[0], pair[end]) for pair in pairs)
        assert all(counts["true", name] == counts["false", name] for _, name in counts)
    assert len(pairs) > 100


def test_how_popular_both_ends_are_does_not_tell_the_truth(tmp_path, state):
    """Half of the concepts have many triples, and so have their answers; nothing bars a pair."""
    letters = iter(chr(0x4E00 + n) for n in range(900))
    edges = [(next(letters), "治", next(letters)) for _ in range(40)]
    facts = facts_of(*edges)
    popular = {end for concept, _, answer in edges[:20] for end in (concept, answer)}
    known = facts_of(*((end, "因", next(letters)) for end in sorted(popular) for _ in range(3)))

    for partner in ("far", "any", "near"):
        pairs = Counter(
            (polarity, concept in popular, answer in popular)
            for polarity, concept, answer in swapped_pairs(made(tmp_path, partner=partner), state, facts, known)
        )
        assert pairs == dict.fromkeys([(p, end, end) for p in ("true", "false") for end in (True, False)], 20)


# --- properties -------------------------------------------------------------------------------------------------------


def names_of(facts):
    """One-hop synonyms: all names that share an end with a name."""
    same = {}
    for fact in facts:
        for terms in ({fact.payload.head, *fact.payload.head_terms}, {fact.payload.tail, *fact.payload.tail_terms}):
            keys = {comparison_key(term, "。") for term in terms}
            for key in keys:
                same.setdefault(key, set()).update(keys)
    return same


@pytest.mark.push
@settings(max_examples=30)
@given(st.lists(EDGE, min_size=2, max_size=12), st.lists(EDGE, max_size=6), st.booleans(), st.data())
def test_no_swapped_statement_is_known(tmp_path_factory, state, own, others, strict, data):
    folder = tmp_path_factory.mktemp("swap", numbered=True)
    facts = list({row.id: row for row in facts_of(*((a, b, c, *more) for a, b, c, more in own))}.values())
    known = facts_of(*((a, b, c, *more) for a, b, c, more in others))
    bars = {**ALL_BARS, "related": None} if strict else NO_BARS
    stated = state(facts)
    outcomes, _ = run(made(folder, bars), stated, facts, known, name="id")
    kept = {text: outcome.row for text, outcome in outcomes.items() if isinstance(outcome, Kept)}
    same = names_of([*facts, *known])
    linked = {
        frozenset((one, two))
        for fact in (*facts, *known)
        for one in (fact.payload.head, *fact.payload.head_terms)
        for two in (fact.payload.tail, *fact.payload.tail_terms)
    }
    payloads = {fact.id: fact.payload for fact in facts}
    for row in kept.values():
        own_triple, answer = payloads[row.fact], row.answer.slice_of(row.text)
        concept = own_triple.head if own_triple.relation != "治（反向）" else own_triple.tail
        assert not any(frozenset((a, b)) in linked for a in same[concept] for b in same[answer])
    assert set(Counter(row.family for row in kept.values()).values()) <= {2}
    assert len({(row.text, payloads[row.fact].relation) for row in kept.values()}) == len(kept)
    mixed = data.draw(st.permutations(stated))
    again, _ = run(
        made(folder, bars), mixed, data.draw(st.permutations(facts)), data.draw(st.permutations(known)), name="id"
    )
    assert {text: getattr(outcome, "reason", outcome) for text, outcome in again.items()} == {
        text: getattr(outcome, "reason", outcome) for text, outcome in outcomes.items()
    }


def test_large_groups_are_cut_and_still_paired(tmp_path, state, monkeypatch):
    facts = graph_with_shared_letters(90)
    monkeypatch.setattr(exchange, "_BLOCK", 16)
    outcomes, _ = run(made(tmp_path, {**NO_BARS, "shared_letters": "balanced"}), state(facts), facts)
    kept = [outcome.row for outcome in outcomes.values() if isinstance(outcome, Kept)]
    assert len(kept) > 40
    assert set(Counter(row.family for row in kept).values()) == {2}


def test_any_number_of_rows_at_a_time_gives_the_same(tmp_path, state, monkeypatch):
    facts = graph_with_shared_letters(30)
    whole = run(made(tmp_path, ALL_BARS), state(facts), facts)
    assert len({type(outcome) for outcome in whole[0].values()}) == 2
    monkeypatch.setattr(swap_triple, "_WINDOW", 4)
    monkeypatch.setattr(swapped, "_WINDOW", 3)
    assert run(made(tmp_path, ALL_BARS), state(facts), facts) == whole


def test_a_swapped_statement_is_what_its_fact_and_the_partner_say(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"))
    one, two = (row.model_copy(update={"context": "某书。"}) for row in state(facts))
    outcomes, _ = run(made(tmp_path), [one, two], facts)
    row = outcomes[one.text].row
    assert row == Statement.child(
        one, two, produced_by=ProducedBy(rule="swap_triple/far", version="2"), polarity="false", text="甲乙治庚辛。",
        joined="replacement", answer=Span(start=3, end=5), context="某书。", fact=one.fact,
        family=content_id("family", sorted((one.fact, two.fact)), ""), checks=row.checks,
    )  # fmt: skip
    assert row.checks[:3] == ("differs_from_true", "known_end", "known_elsewhere")


def test_the_seed_draws_other_pairs(tmp_path, state):
    facts = graph_with_shared_letters(40)
    texts = [
        {outcome.row.text for outcome in run(made(tmp_path, partner="any", seed=seed), state(facts), facts)[0].values()}
        for seed in (1, 2)
    ]
    assert texts[0] != texts[1]


def test_contract(tmp_path, state):
    facts = facts_of(("甲乙", "治", "丙丁"), ("戊己", "治", "庚辛"), ("寅卯", "治", "卯辰"), ("午未", "因", "申酉"))
    tables = {"each": Table.of(state(facts), Statement), "fact": Table.of(facts, Fact[Triple]),
              "known": Table.of(facts, Fact[Triple])}  # fmt: skip
    check_step(lambda: made(tmp_path, ALL_BARS), tables)
