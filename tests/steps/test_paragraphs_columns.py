"""Pages that are cut by the column make the tickets that they make one by one."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preparation_rows import make, page

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.text.lengths import length, longer
from benchbuilder.core.text.script import convert_script, rewrite
from benchbuilder.retrieval.tokenizers.whitespace import WhitespaceSpec
from benchbuilder.steps import paragraphs

PARTS = [
    "母乳",
    "新生兒",
    "後",
    "发",
    "\n",
    "\n",
    "\r\n",
    " ",
    "\u3000",
    "\x1f",
    "\x1c",
    "\0",
    "e\u0301",
    "E\u0301",
    "👨‍👩‍👧",
    "\u2028",
    "干",
]
texts = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)
pages = st.lists(st.tuples(texts, texts, st.sampled_from(["wiki", "textbook"])), max_size=8)
specs = st.fixed_dictionaries(
    {
        "min_chars": st.integers(0, 5),
        "filter_bases": st.sampled_from([[], ["wiki"]]),
        "match": st.sampled_from(["contains", "words"]),
        "fold": st.sampled_from([[], ["case", "marks"]]),
        "convert": st.sampled_from([None, "t2s", "s2twp"]),
        "normal_form": st.sampled_from([None, "NFC", "NFKD"]),
    }
)


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("母乳\n新生\ne\u0301e\n", "utf-8")
    return str(path)


def by_column(stage, table):
    """The fates of each row of a table, as `map` would give them."""
    tickets = stage.map_columns(table)
    assert tickets.rows.arrow.schema.equals(schema_of(Passage))
    rows, found = iter(tickets.rows), defaultdict(list)
    names = ("row", "slots", "fates", "reasons", "details")
    for place, slot, fate, reason, detail in zip(*(getattr(tickets, name).to_pylist() for name in names), strict=True):
        found[place].append(Kept(next(rows), slot) if fate == "kept" else Dropped(reason, detail, slot))
        assert fate == "dropped" or (reason, detail) == ("", "")
    assert list(found) == list(range(len(table)))
    assert next(rows, None) is None
    return list(found.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
@given(pages, specs, st.sampled_from([1, 40, 1 << 22]))
def test_the_same_as_page_by_page(words, monkeypatch, made, spec, size):
    monkeypatch.setattr(paragraphs, "_AT_ONCE", size)
    if spec["match"] == "words":
        spec = {**spec, "tokenizer": WhitespaceSpec(kind="whitespace", punctuation="apart")}
    stage = make("paragraphs", words=words, **spec)
    rows = [page(text, title=title, base=base, line=n) for n, (text, title, base) in enumerate(made, 1)]
    table = Table.of(rows, Passage)
    assert by_column(stage, table) == [list(stage.map(row, {})) for row in rows]
    part = Table(table.arrow.slice(len(rows) // 2), Passage)
    assert by_column(stage, part) == [list(stage.map(row, {})) for row in rows[len(rows) // 2 :]]


@settings(deadline=None)
@given(st.lists(texts, max_size=10), st.sampled_from(["t2s", "s2twp", "tw2sp"]))
def test_many_texts_are_converted_as_each_is(many, conversion):
    alone = [convert_script(text, conversion) for text in many]
    assert rewrite(many, lambda text: convert_script(text, conversion)) == alone


@given(texts, st.integers(0, 9))
def test_longer_counts_what_people_see(text, most):
    assert longer(text, most) == (length(text) > most)
