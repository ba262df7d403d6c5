"""What changed between two records is said in words: items, order, columns, ledger, keys, scores, requests."""

from __future__ import annotations

import pyarrow as pa
import pytest
from comparison import differences
from digests import columns_of, digest, each, ordered, whole
from record import Record, read, written
from recorder import line, outcome_lines, rows_line, score_lines

ITEMS = [
    ("i1", "a.jsonl", 1, "Is it so?", "yes", 1.5),
    ("i2", "a.jsonl", 2, "Is it not so?", "no", 2.5),
    ("i3", "b.jsonl", 1, "Is that so?", "yes", 3.5),
    ("i4", "b.jsonl", 1, "Is that not so?", "no", 4.5),
]
LOST = [("dropped", "shared_options", 1), ("dropped", "shared_options", 2), ("not_applicable", "other_form", 3)]
SCORES = [1.0, 0.0, 1.0, 0.5]
ROWS = pa.table({
    "id": ["a", "b"],
    "payload": [{"question": "?", "evidence": [{"rank": 1}, {"rank": 2}]}, {"question": "!", "evidence": []}],
})  # fmt: skip


def record(
    items: list[tuple[str, str, int, str, str, float]] = ITEMS,
    lost: list[tuple[str, str, int]] = LOST,
    scores: list[float] = SCORES,
    **key: str,
) -> Record:
    """The record of a small build."""
    cells = ["".join(digest(value, 2) for value in row[3:]) for row in items]
    common = {"port": "each", "slot": "", "detail": "", "partition": "a", "file": "a.jsonl"}
    outcomes = [common | {"outcome": how, "reason": why, "line": unit} for how, why, unit in lost]
    values = {
        "value": scores,
        "label": [""] * len(scores),
        "detail": [""] * len(scores),
        "counts": [[]] * len(scores),
        "aspect": ["verdict"] * len(scores),
    }
    fields = {"kind": "pair", "version": "3", "settings": "~aaaa", "files": "~bbbb"} | key
    columns = {
        "id": [row[0] for row in items],
        "question": [row[3] for row in items],
        "score": [row[5] for row in items],
    }
    return Record.of_lines([
        line("key", "pair", **fields),
        rows_line("step", "items", columns),
        *outcome_lines("pair", outcomes),
        line("items", "items", columns="question expected score", same="language:xx"),
        *(f"- {digest(row[0])} {text} {row[1]}:{row[2]}" for row, text in zip(items, cells, strict=True)),
        *score_lines("verdict.echo", values),
        line("requests", "ask", n=2, system=whole(["Be brief."]), messages=whole(["one", "two"])),
    ])  # fmt: skip


def said(now: Record) -> list[str]:
    return differences({"small": record()}, {"small": now})


def changed(at: int, **fields: object) -> list[tuple[str, str, int, str, str, float]]:
    names = ("id", "file", "line", "question", "expected", "score")
    return [
        tuple((dict(zip(names, row, strict=True)) | (fields if n == at else {})).values())
        for n, row in enumerate(ITEMS)
    ]


def test_nothing_is_said_of_what_is_the_same():
    assert said(record()) == []


def test_numbers_count_to_four_digits():
    assert said(record(changed(0, score=1.50000001))) == []
    assert said(record(changed(0, score=1.51)))[0] == "small: items: 1 of 4 changed: score (a.jsonl:1)"


def test_a_changed_item_is_named_by_its_columns_and_its_source():
    assert said(record(changed(1, question="Isn't it so?"))) == [
        "small: items: 1 of 4 changed: question (a.jsonl:2)",
        "small: rows of step items: question changed",
    ]


def test_an_item_with_another_id_is_found_by_its_source_and_what_it_shares():
    assert said(record(changed(3, id="i9", question="Is that untrue?"))) == [
        "small: items: 1 of 4 changed: question (b.jsonl:1)",
        "small: rows of step items: question changed",
    ]


def test_a_swapped_key_is_named():
    swapped = [(*row[:4], {"yes": "no", "no": "yes"}[row[4]], row[5]) for row in ITEMS]
    assert said(record(swapped)) == ["small: items: 4 of 4 changed: expected (a.jsonl:1, a.jsonl:2, b.jsonl:1)"]


def test_an_order_is_guarded():
    assert said(record([ITEMS[1], ITEMS[0], *ITEMS[2:]])) == [
        "small: order of items changed: 1 of 4 moved",
        "small: rows of step items: order changed",
    ]


def test_items_that_are_gone_or_new_are_counted():
    assert said(record(ITEMS[:3]))[0] == "small: items: 1 of 4 gone (b.jsonl:1)"
    assert (
        said(record([*ITEMS, ("i5", "c.jsonl", 9, "Really?", "yes", 1.0)]))[0]
        == "small: items: 1 new, now 5 (c.jsonl:9)"
    )


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ([*LOST, ("dropped", "shared_options", 7)], ["1 rows more dropped by pair: shared_options (2 -> 3)"]),
        (LOST[1:], ["1 rows fewer dropped by pair: shared_options (2 -> 1)"]),
        ([*LOST[:2], ("not_applicable", "other_form", 4)],
         ["1 rows as before are not applicable by pair: other_form, but others or otherwise"]),
        ([("dropped", "alike", 1), ("dropped", "alike", 2), LOST[2]],
         ["2 rows fewer dropped by pair: shared_options (2 -> 0)", "2 rows more dropped by pair: alike (0 -> 2)"]),
    ],
)  # fmt: skip
def test_the_ledger_is_told_by_step_and_reason(lost, words):
    assert said(record(lost=lost)) == [f"small: ledger: {text}" for text in words]


def test_a_key_is_told_by_its_parts():
    assert said(record(version="4")) == ["small: key of step pair: version 3 -> 4"]
    assert said(record(settings="~cccc", files="~dddd")) == ["small: key of step pair: settings, files changed"]


def test_scores_are_told_by_system_and_aspect():
    assert said(record(scores=[1.0, 1.0, 1.0, 0.5])) == [
        "small: scores verdict.echo verdict: mean 0.6250 -> 0.8750; 1 of 4 changed"
    ]
    assert said(record(scores=SCORES[:3])) == ["small: scores verdict.echo verdict: n 4 -> 3; mean 0.6250 -> 0.6667"]


def test_requests_are_told_by_what_changed_of_them():
    now = record()
    now.things["requests", "ask"]["system"] = whole(["Be very brief."])
    assert said(now) == ["small: requests ask: system changed"]


def test_what_is_new_or_gone_is_named():
    now = record()
    del now.things["requests", "ask"]
    assert said(now) == ["small: requests ask: is gone"]
    assert differences({}, {"small": now}) == ["small: is recorded for the first time"]
    assert differences({"small": now}, {}) == ["small: is not recorded any more"]


def test_what_is_gone_with_an_evaluation_that_stopped_is_not_listed():
    stopped = Record.of_lines([line("stopped", "DataError", why="there is nothing to evaluate on")])
    assert said(stopped) == ["small: stopped DataError: is new, there is nothing to evaluate on"]


def test_a_file_is_read_as_it_was_written_and_a_variant_holds_only_what_differs():
    variant = record(ITEMS[:3])
    del variant.things["requests", "ask"]
    records = {
        "small": record(),
        "small evaluated": record(scores=[0.0]),
        "small-variant": variant,
        "small-same": record(),
    }
    text = written(records)
    assert read(text) == records
    assert text.endswith("# small-same\n")
    assert text.count("\nkey\t") == 2


def test_what_a_recipe_says_its_variant_does_not_repeat():
    before = {name: record() for name in ("small", "small-variant")}
    after = {"small": record(version="4"), "small-variant": record(version="4", files="~cccc")}
    assert differences(before, after) == [
        "small: key of step pair: version 3 -> 4",
        "small-variant: key of step pair: version 3 -> 4; files changed",
    ]
    assert differences(before, after | {"small-variant": record(version="4")}) == [
        "small: key of step pair: version 3 -> 4"
    ]


def test_columns_of_records_are_told_by_field():
    assert columns_of(ROWS) == {"id": ["a", "b"], "payload.question": ["?", "!"], "payload.evidence.rank": [[1, 2], []]}


def test_digests_of_many_values():
    assert whole(["a", "b"]) == whole(["b", "a"]) != whole(["a", "c"])
    assert ordered(["a", "b"]) != ordered(["b", "a"])
    assert each(["a", "b"], 1) != each(["a", "c"], 1)
