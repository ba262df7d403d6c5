"""Wrong options are drawn so that their letters and lengths say nothing."""

from __future__ import annotations

from collections import Counter

from claim_rows import choice

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Option
from benchbuilder.steps.language.rewording import OptionWeights


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


def test_weights_count_only_the_options_that_can_be_drawn():
    """Right answers are D, A and C in turn. Where D is right, A cannot be drawn, so that A must be drawn where C is."""
    rows = []
    for n in range(180):
        texts = [f"{letter}{n:03}" for letter in "abcd"]
        if n % 3 == 0:
            texts[0] = f"x{n:03}"
        options = tuple(Option(key=key, text=text) for key, text in zip("ABCD", texts, strict=True))
        right = "DAC"[n % 3]
        fact = choice(f"{n}", "", line=n + 1)
        payload = Choice(question=f"{n}", options=options, answer_key=right, answer=texts["ABCD".index(right)])
        rows.append(fact.model_copy(update={"payload": payload}))
    table = Table.of(rows, Fact[Choice])

    def drawn_where_c_is_right(weights: OptionWeights) -> int:
        payloads = [(fact, fact.payload) for fact in rows if fact.payload.answer_key == "C"]
        orders = (weights.in_random_order(f.partition, p.options, "C", f"1:{p.question}") for f, p in payloads)
        return sum(order[0].key == "A" for order in orders)

    seeing = OptionWeights(table, lambda option, answer: not option.startswith("x"))
    assert drawn_where_c_is_right(seeing) > drawn_where_c_is_right(OptionWeights(table)) + 5
