"""Assembles each question with its right and its wrong answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.config import Spec, StepSpec
from benchbuilder.core import (
    STATEMENT_FORM,
    Candidate,
    GatherPiece,
    GatherStream,
    OutcomeBatch,
    Question,
    Row,
    RowIndex,
    SpecIssue,
    Statement,
    Table,
    UnusedRows,
    child_rows,
    combined_column,
    constant_column,
    take_rows,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.lineages import joined_ancestors, joined_lists

_WINDOW = 16_384
_compute: Any = pc
FalseStatementSort = Literal["negated", "replaced"]


FormChoices = Literal["all"] | Annotated[tuple[str | tuple[str, ...], ...], Field(min_length=1)]


class FormsByType(Spec):
    """The forms of each type of question, in order: a fact is asked in the first that it has.

    A list inside the list keeps all forms in it; ``all`` keeps every form. Another form than those named is not asked.
    """

    tf: FormChoices = "all"
    oe: FormChoices = "all"


class AssembleSpec(StepSpec):
    """Which form a fact is asked in, and which false statement is the wrong answer: the first sort that it has."""

    forms: FormsByType = FormsByType()

    wrong_oe: tuple[FalseStatementSort, ...]
    """For open-ended questions."""
    wrong_tf: tuple[FalseStatementSort, ...]
    """For true/false questions; one about a replaced statement uses that statement."""


class Assemble(Gather):
    """Candidates: the right answer is the true statement of the question's fact, the wrong one a false statement.

    A question goes with statements of the form of the statement that it asks about: an answer alone is never paired
    with a sentence. Both answers are affirmed if the wrong one is a replaced statement, even where the question
    negates. So no answer is right because of its form. All questions about a fact belong to the family that any of its
    statements names.

    A true/false question about a `denied` statement has that statement and its denial instead. There, the statements of
    a fact are independent claims, and none of them answers a question about another. Statements that no candidate uses
    are listed as unused.
    """

    kind = "assemble"
    version = 3
    spec_class = AssembleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Question),
        "stated": Port(Statement, mode="whole"),
        "negated": Port(Statement, mode="whole", optional=True),
        "replaced": Port(Statement, mode="whole", optional=True),
        "denied": Port(Statement, mode="whole", optional=True),
    }
    output: ClassVar[type[Row] | None] = Candidate
    reasons: ClassVar[Mapping[str, str]] = {
        "no_right_answer": "The fact has no true statement.",
        "no_wrong_answer": "The fact has no false statement that can be the wrong answer.",
        "same_answers": "The right and the wrong answer are the same text.",
        "no_question": "No question asks about the fact of this statement.",
        "no_candidate": "Every question about the fact of this statement was dropped.",
        "not_chosen": "The questions about the fact have another wrong answer.",
        "other_form": "The fact is asked in another form, which the recipe prefers.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """No port with false statements is wired."""
        if rows.keys().isdisjoint(("negated", "replaced", "denied")):
            yield SpecIssue("from", "no port has false statements", ", ".join(rows), ("negated", "replaced"))

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """The outcome of each question, and the statements that no candidate uses."""
        questions = tables["each"]
        ports = [port for port in (*SORTS, "denied") if port in tables]
        (asked, *stated), count = fact_codes([questions, *(tables[port] for port in ports)])
        statements = Statements(tables, dict(zip(ports, stated, strict=True)), count)
        pairs = self._pair(questions, asked, statements)
        self._choose_forms(pairs, count)
        stream = GatherStream([], notes={"forms": pairs.count_forms()})
        stream.pieces = self._pieces(questions, pairs, statements, stream, count)
        return stream

    def _pair(self, questions: Table[Any], facts: Numbers, statements: Statements) -> AnswerPairs:
        """The right and the wrong statement of each question."""
        pairs = AnswerPairs(facts)
        start = 0
        for batch in questions.batches(["of", "type", "form", "expected"]):
            found = slice(start, start := start + batch.num_rows)
            of, sort, form, expected = (combined_column(batch, name) for name in ("of", "type", "form", "expected"))
            claims, denials, no = statements.with_ids(of), statements.denials_of(of), is_text(expected, "no")
            pairs.tf[found] = is_text(sort, "tf")
            pairs.forms[found] = pairs.form_codes.of_column(form)
            pairs.statement_forms[found] = statements.forms_at(claims)
            keys = [statements.key(facts[found], pairs.statement_forms[found], true) for true in (False, True)]
            right, wrong = statements.ports["stated"].first_with(keys[1]), np.full(len(claims), -1, np.int64)
            asked_wrong = statements.with_ids(of, ("replaced",))
            fits = no & (asked_wrong >= 0) & (statements.keys_at(asked_wrong) == keys[0])
            wrong[fits] = asked_wrong[fits]
            for is_tf, order in ((True, self.spec.wrong_tf), (False, self.spec.wrong_oe)):
                for port in (statements.ports[name] for name in order if name in statements.ports):
                    open_ones = (pairs.tf[found] == is_tf) & (wrong < 0)
                    wrong[open_ones] = port.first_with(keys[0][open_ones])
            own = pairs.tf[found] & (denials >= 0) & (claims >= 0)  # a claim of its own: itself and its denial
            pairs.right[found] = np.where(own, np.where(is_text(expected, "yes"), claims, denials), right)
            pairs.wrong[found] = np.where(own, np.where(is_text(expected, "yes"), denials, claims), wrong)
        pairs.find_equal_answers(statements.rows, statements.release)
        return pairs

    def _choose_forms(self, pairs: AnswerPairs, facts: int) -> None:
        """Mark the questions in forms that the recipe prefers, by fact and type."""
        for is_tf, choices in ((True, self.spec.forms.tf), (False, self.spec.forms.oe)):
            kinds = pairs.tf == is_tf
            if choices == "all":
                pairs.chosen |= kinds
                continue
            undecided = np.ones(facts, bool)
            for choice in choices:
                codes = [pairs.form_codes.of(form) for form in ((choice,) if isinstance(choice, str) else choice)]
                group, had = kinds & np.isin(pairs.forms, codes), np.zeros(facts, bool)
                had[pairs.facts[group & pairs.complete]] = True
                pairs.chosen |= group & (had & undecided)[pairs.facts]
                undecided &= ~had

    def _pieces(
        self, questions: Table[Any], pairs: AnswerPairs, statements: Statements, stream: GatherStream, facts: int
    ) -> Iterator[GatherPiece]:
        """The questions with their candidates; then the unused statements are known."""
        for first, window in questions.windows(_WINDOW):
            places = np.arange(first, first + len(window))
            kept = pairs.complete[places] & pairs.chosen[places]
            at = places[kept]
            right, wrong = (take_rows(statements.rows, side[at]) for side in (pairs.right, pairs.wrong))
            rows = self._candidates(
                window.arrow.filter(pa.array(kept)), right, wrong, statements.families_of(pairs.facts[at])
            )
            for name in ("id", "parents"):
                ids: Any = combined_column(rows.arrow, name)
                statements.mark_used(ids.flatten() if name == "parents" else ids)
            yield GatherPiece(places, window, pairs.branches(window.arrow, places, statements.rows, rows))
        stream.unused = pairs.unused_rows(statements, facts)

    def _candidates(self, questions: pa.Table, right: pa.Table, wrong: pa.Table, families: Any) -> Table[Any]:
        """A candidate of each question with its statements, which come in the same order."""
        sides = (questions, right, wrong)
        checks, tags = (joined_lists(*(combined_column(side, name) for side in sides)) for name in ("checks", "tags"))
        kept = ("type", "expected", "context", "fact", "negated", "form", "asked")
        fields: dict[str, Any] = {name: combined_column(questions, name) for name in kept}
        own = combined_column(questions, "family")
        family = _compute.coalesce(families, fields["fact"])
        joined = combined_column(wrong, "joined")
        fields |= {
            "question": combined_column(questions, "text"), "answer": combined_column(right, "text"),
            "answer_wrong": combined_column(wrong, "text"), "checks": checks, "tags": tags,
            "family": _compute.if_else(_compute.equal(own, ""), family, own),
            "wrong_from": combined_column(wrong, "wrong_from"),
            "verdict_only": _compute.equal(combined_column(right, "joined"), "verdict"),
        }  # fmt: skip
        rules = _compute.binary_join_element_wise(constant_column(self.kind, len(joined)), joined, "/")
        return child_rows(
            Candidate, questions, self.produced_by(), constant_column("", len(joined)), fields,
            joined_ancestors(*sides), rules,
        )  # fmt: skip


_PAIR_WINDOW = 65_536


class AnswerPairs:
    """For each question the code of its fact, and the positions of its statements (-1: there is none).

    `forms` are codes of the forms of questions, `statement_forms` those of the statements that they ask about. `chosen`
    are the questions in forms that the recipe prefers.
    """

    def __init__(self, facts: Numbers) -> None:
        count = len(facts)
        self.facts = facts
        self.right, self.wrong = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
        self.forms, self.statement_forms = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.tf, self.chosen, self._same = np.zeros(count, bool), np.zeros(count, bool), np.zeros(count, bool)
        self.form_codes = Codes()

    @property
    def complete(self) -> Mask:
        """Which questions have a right answer, and a wrong one that is another text."""
        return (self.right >= 0) & (self.wrong >= 0) & ~self._same

    def find_equal_answers(self, statements: pa.Table, release: Callable[[], None]) -> None:
        """Mark the questions whose answers are the same text; `release` gives memory back in between."""
        texts = statements.select(["text"])
        both = np.flatnonzero((self.right >= 0) & (self.wrong >= 0))
        for start in range(0, len(both), _PAIR_WINDOW):
            some = both[start : start + _PAIR_WINDOW]
            right, wrong = (combined_column(take_rows(texts, side[some]), "text") for side in (self.right, self.wrong))
            self._same[some] = _compute.equal(right, wrong).to_numpy(zero_copy_only=False)
            release()

    def count_forms(self) -> dict[str, int]:
        """How many candidates of each type and form there are."""
        kept = self.complete & self.chosen
        counts = {
            f"{sort} {form}": int((kept & (self.tf == is_tf) & (self.forms == code)).sum())
            for sort, is_tf in (("oe", False), ("tf", True))
            for form, code in self.form_codes.items()
        }
        return {name: count for name, count in sorted(counts.items()) if count}

    def branches(self, questions: pa.Table, places: Numbers, statements: pa.Table, made: Table[Any]) -> OutcomeBatch:
        """The outcomes of the questions at `places`; `made` are the candidates of those that are kept."""
        none, wrong, same = self.right[places] < 0, self.wrong[places] < 0, self._same[places]
        other = self.complete[places] & ~self.chosen[places]
        reasons = np.select([none, wrong, same, other], _REASONS, "").tolist()
        dropped = none | wrong | same
        outcomes = np.select([dropped, other], ["dropped", "not_applicable"], "kept").tolist()
        empty = constant_column("", len(places))
        details = _compute.if_else(pa.array(none | wrong), combined_column(questions, "text"), empty)
        repeated = take_rows(statements.select(["text"]), self.right[places[same]])
        details = _compute.replace_with_mask(details, pa.array(same), combined_column(repeated, "text"))
        positions = pa.array(np.arange(len(places)), pa.int64())
        return OutcomeBatch(
            positions, empty, pa.array(outcomes, pa.string()), pa.array(reasons, pa.string()), details, made
        )

    def unused_rows(self, statements: Statements, facts: int) -> dict[str, UnusedRows]:
        """The statements that no candidate uses, by port, with their reasons; there are so many `facts`."""
        kept, other = self.complete & self.chosen, self.complete & ~self.chosen
        asked, answered = np.zeros(facts, bool), np.zeros(facts, bool)
        asked[self.facts] = answered[self.facts[kept]] = True
        left_out = statements.key(self.facts[other], self.statement_forms[other], True)
        unused: dict[str, UnusedRows] = {}
        for name, port in statements.ports.items():
            positions = port.in_order_of_facts(np.flatnonzero(~port.used))
            own, forms = port.facts[positions], port.forms[positions]
            is_left_out = np.isin(statements.key(own, forms, True), left_out)
            codes: Any = pa.array(np.select([~asked[own], is_left_out, answered[own]], [0, 1, 2], 3), pa.int8())
            unused[name] = UnusedRows(positions, pa.DictionaryArray.from_arrays(codes, pa.array(_UNUSED)))
        return unused


_REASONS = ["no_right_answer", "no_wrong_answer", "same_answers", "other_form"]
_UNUSED = ["no_question", "other_form", "not_chosen", "no_candidate"]


SORTS = ("stated", "negated", "replaced")
"""The ports of statements that a question may ask about."""
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Codes:
    """Numbers for the different texts of a column, from 0 on."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._codes = {text: code for code, text in enumerate(texts)}

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, text: str) -> int:
        """The number of a text."""
        return self._codes.setdefault(text, len(self._codes))

    def items(self) -> Iterable[tuple[str, int]]:
        """Each text and its number."""
        return self._codes.items()

    def of_column(self, texts: Any) -> Numbers:
        """The number of each text of a column with few different texts."""
        coded = texts.dictionary_encode()
        numbers = np.array([self.of(text) for text in coded.dictionary.to_pylist()], np.int64)
        return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(texts) else np.zeros(0, np.int64)


def fact_codes(tables: Iterable[Table[Any]]) -> tuple[list[Numbers], int]:
    """For each table the number of the fact of each row, and how many facts there are."""
    columns = [_chunked(table, "fact") for table in tables]
    facts = _compute.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))
    codes = [_compute.index_in(column, value_set=facts).to_numpy().astype(np.int64) for column in columns]
    return codes, len(facts)


def _chunked(table: Table[Any], name: str) -> pa.ChunkedArray[Any]:
    return pa.chunked_array(
        [chunk for batch in table.batches([name]) for chunk in batch.column(name).chunks], pa.string()
    )


@dataclass
class StatementPort:
    """The statements of a port; `first` is the position of its first one among those of all ports.

    `facts` and `forms` are their codes, `true` is their polarity; `keys` say all three in one number.
    """

    table: Table[Any]
    first: int
    facts: Numbers
    forms: Numbers
    true: Mask
    index: RowIndex
    keys: Numbers = field(init=False)
    used: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.used = np.zeros(len(self.facts), bool)

    @cached_property
    def _by_key(self) -> tuple[Numbers, Numbers]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    def first_with(self, keys: Numbers) -> Numbers:
        """For each key the position, among those of all ports, of the first statement that has it; -1 without one."""
        order, held = self._by_key
        places = np.searchsorted(held, keys)
        there = places < len(held)
        there[there] = held[places[there]] == keys[there]
        found = np.full(len(keys), -1, np.int64)
        found[there] = self.first + order[places[there]]
        return found

    def in_order_of_facts(self, positions: Numbers) -> Numbers:
        """Positions in the port, by fact: that one first whose first statement stands first."""
        firsts = np.full(int(self.facts.max(initial=-1)) + 1, len(self.facts), np.int64)
        np.minimum.at(firsts, self.facts, np.arange(len(self.facts)))
        return positions[np.lexsort((positions, firsts[self.facts[positions]]))]


class Statements:
    """The statements of all ports: `ports` by name, and `rows` one port after the other."""

    def __init__(self, tables: Mapping[str, Table[Any]], facts: Mapping[str, Numbers], fact_count: int) -> None:
        self.forms = Codes([STATEMENT_FORM])
        self.ports: dict[str, StatementPort] = {}
        self._families = np.full(fact_count, -1, np.int64)
        first = 0
        for port in (name for name in (*SORTS, "denied") if name in tables):
            self.ports[port] = self._port(port, tables[port], first, facts[port])
            first += len(facts[port])
        for port in self.ports.values():  # all forms are known now
            port.keys = self.key(port.facts, port.forms, port.true)
        denied = tables.get("denied")
        self._denials = RowIndex(_chunked(denied, "of").chunks if denied is not None else [])
        ports = self.ports.values()
        self._form_of = np.concatenate([*(port.forms for port in ports), [self.forms.of(STATEMENT_FORM)]])
        self._keys = np.concatenate([*(port.keys for port in ports), [-1]])

    def _port(self, name: str, table: Table[Any], first: int, facts: Numbers) -> StatementPort:
        forms, true = list[Numbers]([np.zeros(0, np.int64)]), list[Mask]([np.zeros(0, bool)])
        start = 0
        for batch in table.batches(["form", "polarity", "family"]):
            forms.append(self.forms.of_column(combined_column(batch, "form")))
            polarity: Any = combined_column(batch, "polarity")
            true.append(is_text(polarity, "true"))
            if name in SORTS:
                named = start + np.flatnonzero(~is_text(combined_column(batch, "family"), ""))
                self._families[facts[named]] = first + named
            start += batch.num_rows
        index = RowIndex(_chunked(table, "id").chunks)
        return StatementPort(table, first, facts, np.concatenate(forms), np.concatenate(true), index)

    def key(self, facts: Numbers, forms: Numbers, true: Mask | bool) -> Numbers:
        """Fact, form and polarity in one number."""
        return (facts * len(self.forms) + forms) * 2 + np.asarray(true, np.int64)

    def with_ids(self, ids: Any, sorts: Sequence[str] = SORTS) -> Numbers:
        """The positions of statements by their ids, -1 for others; the last port that has one counts."""
        found = np.full(len(ids), -1, np.int64)
        for port in (self.ports[name] for name in sorts if name in self.ports):
            places = port.index.positions(ids)
            found = np.where(places >= 0, port.first + places, found)
        return found

    def denials_of(self, ids: Any) -> Numbers:
        """The positions of the denials of statements, given by their ids; -1 without one."""
        places = self._denials.positions(ids)
        return np.where(places >= 0, self.ports["denied"].first + places, -1) if "denied" in self.ports else places

    def forms_at(self, positions: Numbers) -> Numbers:
        """The codes of the forms of statements; that of sentences for position -1."""
        return self._form_of[positions]

    def keys_at(self, positions: Numbers) -> Numbers:
        """Fact, form and polarity of statements; -1 for position -1."""
        return self._keys[positions]

    def families_of(self, facts: Numbers) -> Any:
        """The family of each fact, of which the last statement that names one counts; null if none does."""
        positions = self._families[facts]
        named = take_rows(self.rows.select(["family"]), positions[positions >= 0])
        places: Any = pa.array(np.cumsum(positions >= 0) - 1, mask=positions < 0)
        return combined_column(named, "family").take(places)

    @cached_property
    def rows(self) -> pa.Table:
        """The statements of all ports; large ones are memory-mapped."""
        return pa.concat_tables([port.table.arrow for port in self.ports.values()])

    def mark_used(self, ids: Any) -> None:
        """Statements with these ids are parents of a candidate."""
        for port in self.ports.values():
            places = port.index.positions(ids)
            port.used[places[places >= 0]] = True

    def release(self) -> None:
        """Give back memory that only holds what can be read again."""
        for port in self.ports.values():
            port.table.release()


def is_text(column: Any, text: str) -> Mask:
    """Which values of a column are this text."""
    return _compute.equal(column, text).to_numpy(zero_copy_only=False)
