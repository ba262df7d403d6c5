"""Makes a true answer untrue: by a model under an instruction, or by rules whose tables the recipe brings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, Name, Slot
from benchbuilder.core import (
    Fact,
    Kept,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    SpecIssue,
    Table,
    create_from_spec,
    find_all,
    word_boundaries,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps import MODEL_REASONS, NeedsModel, Port, ReplyFault, Writer, WriterSpec, single_edit
from pydantic import Field
from rapidfuzz.distance import Indel

from benchbuilder_cmhe.hd.alterations import (
    Alteration,
    NumberRule,
    StatementInversion,
    SwapRule,
    SwapTable,
    change_numbers,
    draw_alteration,
    invert_statements,
)
from benchbuilder_cmhe.hd.dialogue import AnswerChange, Dialogue

Share = Annotated[float, Field(ge=0, le=1)]
_FACT = Fact[Dialogue]


class TamperSpec(WriterSpec):
    """How answers are altered. By rule one thing is altered: of those that can be, one is drawn by seed.

    A model's text must differ from the answer, have between `shortest` and `longest` of its length, share at least
    `kept` of its characters with it (2 × the longest common subsequence ÷ both lengths), and hold none of `telltales`
    that the answer does not hold.
    """

    swaps: dict[Name, SwapRule | None]
    """Tables of terms by name (drugs, parts of the body): one is swapped for one of another group."""
    numbers: dict[Name, NumberRule | None]
    """What numbers stand for, by name (a dose, how often): one becomes another."""
    turns: tuple[StatementInversion, ...]
    """What turns a statement round, the first that matches at a place; recorded as ``negation``."""
    shortest: Share
    longest: Annotated[float, Field(ge=1)]
    kept: Share
    telltales: tuple[Regex, ...]
    """What a model may say of what it did, so that the answer gives itself away."""
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Tamper(Writer):
    """The dialogue with an answer that is no longer true; what was changed is recorded with it.

    That it is untrue is not known before people have confirmed it: a swapped drug may help as well.
    """

    kind = "tamper"
    version = 2
    spec_class = TamperSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "unchanged": "The model's text is the answer itself.",
        "length_changed": "The model's text is much shorter or longer than the answer.",
        "form_changed": "The model's text shares too little with the answer: it is another one.",
        "telltale": "The model's text says that something was altered.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "what the patient asks",
        "answer": "what the doctor answers",
        "department": "the department (may be empty)",
    }
    reply_field = "answer"

    def fingerprint(self) -> Mapping[str, str]:
        """The versions of the model and the tokenizer."""
        return {**super().fingerprint(), **(self._make_tokenizer().fingerprint() if self._cuts_words() else {})}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """What any writer has to complain of, and a tokenizer that does not cut words."""
        found = super().validate_inputs(rows)
        if self._cuts_words():
            found += list(word_boundary_problem(self._make_tokenizer() if self.spec.tokenizer is not None else None))
        return found

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the tables and the prompts, and open the tokenizer if words count."""
        super().open(lookups)
        spec: TamperSpec = self.spec
        self._swaps = {
            name: (rule, SwapTable(rule.table.file)) for name, rule in spec.swaps.items() if rule is not None
        }
        self._tokenizer: Tokenizer | None = None
        if self._cuts_words():
            self._tokenizer = self._make_tokenizer()
            self._tokenizer.open()

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Every dialogue may be altered."""
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """One alteration that the rules know, drawn by seed."""
        made = self._draw_alteration(row)
        if made is None:
            return NeedsModel("nothing that the tables know stands in the answer")
        name, altered = made
        change = AnswerChange(rule=name, before=altered.before, after=altered.after)
        return Kept(self._dialogue(row, altered.text, change, self.produced_by(f"rules/{name}")))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Question, answer and department."""
        said: Dialogue = row.payload
        return {"question": said.question, "answer": said.answer, "department": said.department}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """What the rules make of it, else the answer with its beginning at its end."""
        made = self._draw_alteration(row)
        answer: str = row.payload.answer
        return made[1].text if made is not None else answer[1:] + answer[:1]

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The dialogue with the model's text, if it differs and keeps the form of the answer."""
        spec: TamperSpec = self.spec
        answer: str = row.payload.answer
        edit = single_edit(answer, text, None)
        if edit is None or (edit[0].start == edit[0].end and not edit[1]):
            return ReplyFault("unchanged")
        share = len(text) / len(answer)
        if not spec.shortest <= share <= spec.longest:
            return ReplyFault("length_changed", f"{share:.2f} of the length")
        kept = Indel.normalized_similarity(answer, text)
        if kept < spec.kept:
            return ReplyFault("form_changed", f"{kept:.2f} kept")
        for pattern in spec.telltales:
            if len(found := find_all(pattern, text)) > len(find_all(pattern, answer)):
                return ReplyFault("telltale", found[0].slice_of(text))
        change = AnswerChange(rule="model", before=edit[0].slice_of(answer), after=edit[1])
        return self._dialogue(row, text, change, produced_by)

    def _draw_alteration(self, row: Fact[Dialogue]) -> tuple[str, Alteration] | None:
        spec: TamperSpec = self.spec
        said, chance = row.payload, Random(f"{self.context.seed}:{row.id}")
        found = {
            name: swaps.alterations(
                said.answer, said.question, chance, self._word_boundaries if rule.whole_words else None
            )
            for name, (rule, swaps) in self._swaps.items()
        }
        found |= {
            name: change_numbers(said.answer, rule, chance) for name, rule in spec.numbers.items() if rule is not None
        }
        found["negation"] = invert_statements(said.answer, spec.turns)
        return draw_alteration(found, chance)

    def _dialogue(self, row: Fact[Dialogue], text: str, change: AnswerChange, produced_by: ProducedBy) -> Row:
        payload = row.payload.model_copy(update={"answer": text, "changes": (*row.payload.changes, change)})
        return _FACT.child(row, produced_by=produced_by, payload=payload)

    def _word_boundaries(self, text: str) -> Collection[int]:
        assert self._tokenizer is not None
        return word_boundaries(text, self._tokenizer.tokens(text))

    def _cuts_words(self) -> bool:
        return any(rule is not None and rule.whole_words for rule in self.spec.swaps.values())

    def _make_tokenizer(self) -> Tokenizer:
        return create_from_spec("tokenizer", self.spec.tokenizer)
