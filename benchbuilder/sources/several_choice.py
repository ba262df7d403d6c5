"""The source kind `several_choice`: questions with options of which one or more are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.core import Dropped, Fact, MultipleAnswerChoice, Row
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.options import find_keys
from benchbuilder.sources.multiple_choice import MultipleChoice

_FACT = Fact[MultipleAnswerChoice]


class SeveralChoices(MultipleChoice):
    """Multiple-choice questions whose key names one option or more: a list, several letters, or numbers with commas.

    What becomes of those with more than one is said by the stage `split_answers`, not here. Beside an `answer_key`
    the text of `answer` is not read.
    """

    kind: ClassVar[str] = "several_choice"
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        name: said for name, said in MultipleChoice.reasons.items() if name != "answer_mismatch"
    } | {"multiple_answers": "The text of the answer is that of several options."}

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row: the first thing that is wrong with it gives the reason."""
        asked = self.parse_question(values, source_file)
        if isinstance(asked, Dropped):
            return asked
        column, key_as = (
            ("answer", "text") if self.spec.columns.answer_key is None else ("answer_key", self.spec.key_as)
        )
        keys = find_keys(asked.raw[column], key_as, asked.options, self.normalise_text)
        if isinstance(keys, Dropped):
            return keys
        if (drop := self.find_problem(asked)) is not None:
            return drop
        choice = MultipleAnswerChoice(
            context=asked.context, question=asked.question, options=asked.options, answer_keys=keys, **asked.labels
        )
        return _FACT.build(payload=choice, **self.row_header(source_file, line))
