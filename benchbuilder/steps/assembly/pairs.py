"""The right and the wrong statement of each question, and what becomes of the question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import OutcomeBatch, Table, UnusedRows, combined_column, constant_column, take_rows
from benchbuilder.steps.assembly.statements import Codes, Mask, Numbers, Statements

_compute: Any = pc
_WINDOW = 65_536


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
        for start in range(0, len(both), _WINDOW):
            some = both[start : start + _WINDOW]
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
