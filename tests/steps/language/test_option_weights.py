"""Wrong options are drawn so that their letters and lengths say nothing."""

from __future__ import annotations

from collections import Counter

from claim_rows import choice

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact
from benchbuilder.steps.language.option_weights import OptionWeights


def exam(size: int) -> list[Fact[Choice]]:
    """Questions whose right option is the longest in six of ten, and never D."""
    rows = []
    for n in range(size):
        lengths = [1 + (n * 7 + place * 3) % 4 + place / 10 for place in range(4)]
        texts = ["长" * (2 + round(length * 2)) + str(place) for place, length in enumerate(lengths)]
        longest, right = max(range(3), key=lambda place: len(texts[place])), n % 3
        right = longest if n % 10 < 6 else right
        rows.append(choice(f"第{n}题的答案是", texts[right], *(t for p, t in enumerate(texts) if p != right)))
    return rows


def test_drawn_options_have_the_length_ranks_of_right_ones():
    rows = exam(400)
    weights = OptionWeights(Table.of(rows, Fact[Choice]))

    def rank(fact: Fact[Choice], text: str) -> int:
        return sorted((len(o.text) for o in fact.payload.options), reverse=True).index(len(text))

    drawn = Counter[int]()
    even = Counter[int]()
    for fact in rows:
        options = fact.payload.options
        first = weights.in_random_order(fact.partition, options, fact.payload.answer_key, f"1:{fact.id}")[0]
        drawn[rank(fact, first.text)] += 1
        even.update(rank(fact, option.text) for option in options[1:])
    right = Counter(rank(fact, fact.payload.answer) for fact in rows)
    assert right[0] > 200
    possible = min(right[0], 400 - right[0])
    assert abs(drawn[0] - possible) < 40
    assert even[0] / 3 < 0.6 * drawn[0]


def test_an_order_depends_on_the_seed_and_never_holds_the_right_option():
    rows = exam(60)
    weights = OptionWeights(Table.of(rows, Fact[Choice]))
    fact = rows[0]
    orders = {
        tuple(o.key for o in weights.in_random_order(fact.partition, fact.payload.options, fact.payload.answer_key, s))
        for s in "abcdefgh"
    }
    assert len(orders) > 1
    assert all(sorted(order) == sorted(o.key for o in fact.payload.wrong_options()) for order in orders)


def test_few_questions_have_no_weights():
    rows = exam(10)
    order = OptionWeights(Table.of(rows, Fact[Choice])).in_random_order(
        rows[0].partition, rows[0].payload.options, rows[0].payload.answer_key, "1"
    )
    assert len(order) == 3
