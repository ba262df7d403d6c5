"""The known triples of concepts are found in bounded memory, and suffice."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preparation_rows import triple

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import comparison_key
from benchbuilder.steps.language import known_triples
from benchbuilder.steps.language.columns import comparison_keys
from benchbuilder.steps.replace_triple import ReplaceTriple, ReplaceTripleSpec

NAMES = ["甲", "乙", "丙", "丁", "戊", "Ａ", "a", "甲乙"]
NAME = st.sampled_from(NAMES)
TERMS = st.lists(NAME, max_size=2)
EDGE = st.tuples(NAME, st.sampled_from(["治", "治（反向）", "因"]), NAME, TERMS, TERMS)


class Whole(ReplaceTriple):
    """A plain reference: the step with all triples in memory."""

    def open(self, lookups):
        super().open({**lookups, "known": lookups["pool"]})
        self._concepts = None
        self._known, self._linked, self._names = {}, {}, {}
        for fact in lookups["known"]:
            heads, tails, relation = self._edge(fact.payload)
            for names in (heads, tails):
                for name in names:
                    self._names.setdefault(name, set()).update(names)
            for name in heads if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(tails)
            for name in tails if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(heads)
            for head in heads:
                self._known.setdefault((head, f"{relation}>"), set()).update(tails)
            for tail in tails:
                self._known.setdefault((tail, f"{relation}<"), set()).update(heads)


def spec(**more):
    plain = {"enabled": True, "entity": "any", "unknown_only": True, "any_relation": True, "ignore": "。",
             "inverse_suffix": "（反向）"}  # fmt: skip
    return ReplaceTripleSpec.model_validate({"kind": "replace_triple", "from": "x", **plain, **more})


def made(cls, folder, **more):
    return cls(spec(**more), StepContext(seed=1, language="zh", step="known", cache=folder, workplace=folder))


def facts(edges):
    return [
        triple(head, relation, tail, line=n, head_terms=(head, *more), tail_terms=(tail, *others))
        for n, (head, relation, tail, more, others) in enumerate(edges)
    ]


def statement(fact):
    text = f"{fact.payload.head}：{fact.payload.tail}"
    return Statement.child(
        fact,
        produced_by=fact.produced_by,
        polarity="true",
        text=text,
        joined="template",
        context="",
        fact=fact.id,
        checks=(),
        answer=Span(start=len(fact.payload.head) + 1, end=len(text)),
    )


def told(stage, rows):
    outcomes = [next(iter(stage.map(statement(row), {"fact": row}))) for row in rows]
    return [outcome.row.text if isinstance(outcome, Kept) else outcome.reason for outcome in outcomes]


@pytest.mark.push
@settings(max_examples=60)
@given(st.lists(EDGE, min_size=1, max_size=3), st.lists(EDGE, max_size=9), EDGE, st.booleans())
def test_what_is_near_is_all_that_matters(tmp_path_factory, pool, others, stranger, any_relation):
    folder = tmp_path_factory.mktemp("cache", numbered=True)
    rows = facts(pool)
    lookups = {"pool": Table.of(rows, Fact[Triple]), "known": Table.of([*rows, *facts(others)], Fact[Triple])}
    asked = [*rows, *facts([stranger])]
    whole = made(Whole, folder, any_relation=any_relation)
    whole.open(lookups)
    scanned = made(ReplaceTriple, folder, any_relation=any_relation)
    scanned.open(lookups)
    prepared = made(ReplaceTriple, folder, any_relation=any_relation)
    (path,) = prepared.prepare(lookups)
    assert path.parent == folder
    there = pickle.loads(pickle.dumps(prepared))
    there.open(lookups)
    wanted = told(whole, asked)
    assert told(scanned, asked) == wanted
    assert told(there, asked) == wanted


@pytest.mark.parametrize("many", [0, 1_000])
def test_only_what_is_near_is_held(tmp_path, monkeypatch, many):
    """Whether keys are looked up in a set, as where they are many, or by Arrow."""
    monkeypatch.setattr(known_triples, "_MANY", many)
    rows = facts([("甲", "治", "乙", [], [])])
    far = facts([("丙", "治", "丁", [], []), ("丁", "因", "甲", [], ["乙"]), ("戊", "因", "丙", [], [])])
    stage = made(ReplaceTriple, tmp_path)
    stage.open({"pool": Table.of(rows, Fact[Triple]), "known": Table.of([*rows, *far], Fact[Triple])})
    assert set(stage._linked) == {"甲", "乙", "丁"}


class Unread(Table):
    """A table that must not be read."""

    def __init__(self):
        self.row = Fact[Triple]

    @property
    def arrow(self):
        pytest.fail("the table was read")


def test_nothing_is_read_where_it_is_not_asked_for(tmp_path):
    stage = made(ReplaceTriple, tmp_path, enabled=False)
    assert stage.prepare({"pool": Unread(), "known": Unread()}) == ()
    stage.open({"pool": Unread(), "known": Unread()})
    any_end = made(ReplaceTriple, tmp_path, unknown_only=False)
    lookups = {"pool": Table.of(facts([("甲", "治", "乙", [], [])]), Fact[Triple]), "known": Unread()}
    assert any_end.prepare(lookups) == ()
    any_end.open(lookups)


def test_what_was_prepared_is_not_looked_up_again(tmp_path):
    rows = facts([("甲", "治", "乙", [], []), ("丙", "治", "丁", [], [])])
    lookups = {"pool": Table.of(rows, Fact[Triple]), "known": Table.of(rows, Fact[Triple])}
    stage = made(ReplaceTriple, tmp_path)
    stage.prepare(lookups)
    stage.open({**lookups, "known": Unread()})
    assert not set(told(stage, rows)) - {"甲：丙", "甲：丁", "丙：甲", "丙：乙"}


def test_what_cannot_be_prepared_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    rows = facts([("甲", "治", "乙", [], [])])
    monkeypatch.setattr("hashlib.file_digest", full)
    with pytest.raises(OSError, match="no space"):
        made(ReplaceTriple, tmp_path).prepare({name: Table.of(rows, Fact[Triple]) for name in ("pool", "known")})
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(st.text(st.sampled_from("甲aA1.0~-–～ 　。，Ａe\u0301٣ﬁ"), max_size=6), max_size=6),
    st.sampled_from(["", "。", "。，甲a"]),
)
def test_keys_are_made_by_the_column(texts, ignore):
    column = pa.array(["x", *texts], pa.string()).slice(1)
    assert comparison_keys(column, ignore).to_pylist() == [comparison_key(text, ignore) for text in texts]
