"""Shows a question with a proposed answer, and asks whether it is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import AmongSentence, AnswerSentence, StepSpec, VerifySentence
from benchbuilder.core import (
    AnsweredQuestion,
    Dropped,
    Fact,
    Kept,
    NotApplicable,
    Outcome,
    Question,
    Regex,
    Row,
    SpecIssue,
    Statement,
    Table,
    content_id,
    drawn_name,
    fill_template,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import answer_text
from benchbuilder.steps.language.option_texts import (
    CASE_SIZE,
    OptionNames,
    issues_of_payload,
    stem_size,
    texts_of_options,
)
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.language.questions import shown_context
from benchbuilder.steps.language.statement_choice import CHOICE_REASONS, StatementChoice

_FEWEST = 3


class AskVerifySpec(StepSpec):
    """The sentences, and which of them shows a question."""

    verify: VerifySentence
    """Shows question and proposed answer, over ``{question}`` and ``{answer}``."""
    verify_among: AmongSentence = ""
    """The same with all options, over ``{options}``; empty: such questions are not asked."""
    option: AnswerSentence = "- {answer}"
    """One line of the options, over ``{answer}``."""
    polarity: Literal["even", "both"] = "even"
    """``even``: a wrong answer is proposed for half of the facts, drawn by seed; ``both``: a right and a wrong one."""
    ranks: tuple[Regex, ...] = ()
    """Patterns of questions that rank their options (most, best, next). Without a case before them, which
    takes 120 letters, nobody can judge one answer alone."""
    options_named: tuple[Regex, ...] | None = ()
    """Patterns of questions that speak of their options (which of these five); ``null``: no fact has options."""
    needs_options: Literal["verify_among", "drop", "verify"] = "verify_among"
    """What becomes of such questions, and of those that rank."""
    exceptions: tuple[Regex, ...] = ()
    """Patterns of questions that ask for what is not so (all except, which is false). They are not asked: that the
    right answer to them is a wrong statement confuses."""
    compare: bool = False
    """Whether every question is asked in both forms, to compare them on the same facts."""


class AskVerify(Map):
    """True/false questions that show the question of a fact with a right or a wrong answer, letter for letter.

    Options that are shown stand in an order that the seed draws for each fact, whatever that of the file. With the port
    `facts`, translated ones draw as their originals do: the same verdict, and the same order of options.
    """

    kind: ClassVar[str] = "ask_verify"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = AskVerifySpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact, mode="parent"),
        "statements": Port(Statement, mode="lookup"),
        "facts": Port(Fact, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "other_polarity": CHOICE_REASONS["other_polarity"],
        "ranks_options": "The question ranks its options, so one answer cannot be judged without the others.",
        "speaks_of_options": "The question speaks of its options, so one answer cannot be judged without the others.",
        "asks_for_exception": "The question asks for what is not so.",
        "few_options": "The question has fewer than three options, so they are not listed.",
        "options_named": "An option names other options by letters or numbers that are not shown.",
    }

    spec: AskVerifySpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """Missing sentences, and facts without a question and answers."""
        yield from issues_of_payload(rows, "fact")
        missing = {"verify": not self.spec.verify}
        spec = self.spec
        among = spec.compare or (bool(spec.ranks or spec.options_named) and spec.needs_options == "verify_among")
        missing["verify_among"] = among and not self.spec.verify_among
        held = {"verify": "{question} and {answer}", "verify_among": "{question}, {options} and {answer}"}
        for name in (name for name, is_missing in missing.items() if is_missing):
            yield SpecIssue(
                name, f"forms.{name} is empty: write one sentence with {held[name]}, see recipes/forms/en.yaml", "", ()
            )

    def remarks(self) -> Iterator[SpecIssue]:
        """Which lists of words the language lacks, so that what they find is asked."""
        lacking = {"ranks": "rank their options", "exceptions": "ask for what is not so"}
        if self.spec.options_named is not None:
            lacking["options_named"] = "speak of their options"
        for name, what in lacking.items():
            if not getattr(self.spec, name):
                yield SpecIssue(name, f"no words find questions that {what} (forms.{name})", "", ())

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Draw the facts that get a wrong answer, and read the options' shapes."""
        facts: Iterable[Fact[Any]] = lookups.get("facts", ())
        self._drawn = {fact.id: name for fact in facts if (name := drawn_name(fact)) != fact.id}
        self._choice = StatementChoice("even", self.context.seed, lookups["statements"], self._drawn)
        self._names = OptionNames(())

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The questions about one answer."""
        statement: Statement = row
        if self.spec.polarity == "even" and (excluded := self._choice.exclusion(statement)) is not None:
            return [excluded]
        payload: AnsweredQuestion = parents["fact"].payload
        text = payload.context + payload.question
        if (found := first_match(self.spec.exceptions, payload.question)) is not None:
            return [Dropped("asks_for_exception", found)]
        needy = self._needs_options(payload, text)
        if needy is None or self.spec.needs_options == "verify":
            alone = self._ask(statement, payload, "verify", self.spec.verify, "")
            return [alone, *([self._among(statement, payload, text)] if self.spec.compare else ())]
        return [needy if self.spec.needs_options == "drop" else self._among(statement, payload, text)]

    def _needs_options(self, payload: AnsweredQuestion, text: str) -> Dropped | None:
        """Why one answer to a question cannot be judged alone."""
        ranks = self.spec.ranks if stem_size(text) < CASE_SIZE else ()
        named = self.spec.options_named or () if texts_of_options(payload) else ()
        for reason, patterns in (("ranks_options", ranks), ("speaks_of_options", named)):
            if (found := first_match(patterns, payload.question)) is not None:
                return Dropped(reason, found)
        return None

    def _among(self, statement: Statement, payload: AnsweredQuestion, text: str) -> Outcome:
        """The question with all of its options."""
        slot, options = "verify_among", texts_of_options(payload)
        if len(options) < _FEWEST:
            return NotApplicable("few_options", slot=slot) if self.spec.compare else Dropped("few_options", slot=slot)
        if any(self._names.fits(option, text) for option in options):
            return Dropped("options_named", " | ".join(options), slot=slot)
        # files put the right option first, or under some letters only: a place must not tell
        name, seed = self._drawn.get(statement.fact, statement.fact), str(self.context.seed)
        drawn = sorted(enumerate(options), key=lambda one: content_id(seed, [name, one[0]], ""))
        lines = "\n".join(fill_template(self.spec.option, {"answer": option})[0] for _, option in drawn)
        return self._ask(statement, payload, slot, self.spec.verify_among, lines)

    def _ask(self, statement: Statement, payload: AnsweredQuestion, form: str, sentence: str, options: str) -> Outcome:
        values = {"question": payload.question, "answer": answer_text(statement), "options": options}
        question = Question.child(
            statement, produced_by=self.produced_by(form), slot=form, type="tf",
            text=fill_template(sentence, values)[0], context=shown_context(payload.context),
            expected="yes" if statement.polarity == "true" else "no", fact=statement.fact,
            family=statement.family, checks=("one_proposal", "shown_whole"), form=form, asked=payload.question,
        )  # fmt: skip
        return Kept(question, form)
