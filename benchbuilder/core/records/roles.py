"""The roles of rows without a payload: statement, question, passage, candidate, evidence, answer, score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from benchbuilder.core.records.payloads import STATEMENT_FORM, Item
from benchbuilder.core.records.row import FrozenModel, ProducedBy, Row, Span


class Statement(Row):
    """A sentence that is true (made from a fact) or false (made from a true statement).

    `answer` is the span of `text` that answers the fact's question, `seam` the span of the predicate that joins
    question and answer (``None`` without one). `joined` says how the text was made. `context` precedes a question about
    the statement. `checks` names every check that the text passed. `fact` is the id of its fact. `family` names the
    item family, which no fold, sample or split divides (empty: the fact alone). `negated` says whether the proposition
    stands in its negated form. A question goes with statements of one `form`: ``statement``; ``answer`` if the text is
    the answer to a question that is shown; or another name. `wrong_from` says where the answer of a false statement
    comes from (empty: unknown). `tags` name what people should look at, such as ``near_answer``.
    """

    name: ClassVar[str] = "statement"
    identity: ClassVar[tuple[str, ...]] = ("polarity", "text")

    polarity: Literal["true", "false"]
    text: str
    joined: Literal["seam", "template", "model", "negation", "replacement", "induced", "answer", "verdict"]
    answer: Span | None = None
    seam: Span | None = None
    context: str = ""
    fact: str
    family: str = ""
    negated: bool = False
    checks: tuple[str, ...] = ()
    form: str = STATEMENT_FORM
    wrong_from: str = ""
    tags: tuple[str, ...] = ()


class Question(Row):
    """A true/false (`tf`) or open-ended (`oe`) question about one statement (`of`).

    `text` is the question alone, after its `context`. `expected` is the verdict of a right answer to a tf question
    (``yes`` or ``no``); empty for oe. `family` and `negated` are those of its statement. `form` names how it asks:
    ``statement``, or the sentence of the recipe that shows a question. `asked` is that question alone (empty: `text`).
    `tags` name what people should look at, such as ``list_like``.
    """

    name: ClassVar[str] = "question"
    identity: ClassVar[tuple[str, ...]] = ("type", "context", "text")

    type: Literal["tf", "oe"]
    text: str
    context: str = ""
    expected: Literal["yes", "no", ""] = ""
    fact: str
    family: str = ""
    negated: bool = False
    checks: tuple[str, ...] = ()
    form: str = STATEMENT_FORM
    asked: str = ""
    tags: tuple[str, ...] = ()

    @classmethod
    def true_or_false(
        cls, statement: Statement, *, produced_by: ProducedBy, text: str, checks: tuple[str, ...], family: str = ""
    ) -> Self:
        """A tf question about `statement`, whose polarity is the expected verdict; `family` if it names none."""
        return cls.child(
            statement,
            produced_by=produced_by,
            type="tf",
            text=text,
            context=statement.context,
            expected="yes" if statement.polarity == "true" else "no",
            fact=statement.fact,
            family=statement.family or family,
            negated=statement.negated,
            checks=checks,
            form=statement.form,
        )


class Passage(Row):
    """A page or paragraph of knowledge base `base` (which is also its partition)."""

    name: ClassVar[str] = "passage"
    identity: ClassVar[tuple[str, ...]] = ("base", "document", "title", "text")

    base: str
    document: str
    title: str = ""
    text: str


class Candidate(Row):
    """A question with its right and its wrong answer; its id does not depend on evidence.

    `family` is its item family, never empty after assembly. `negated` says whether the question negates its
    proposition. `form` and `asked` are those of the question, `wrong_from` that of the wrong answer. With
    `verdict_only`, both answers are verdicts and nothing else. `tags` are those of the question and of both answers.
    """

    name: ClassVar[str] = "candidate"
    identity: ClassVar[tuple[str, ...]] = ("type", "expected", "context", "question", "answer", "answer_wrong")

    type: Literal["tf", "oe"]
    expected: Literal["yes", "no", ""] = ""
    context: str = ""
    question: str
    answer: str
    answer_wrong: str
    fact: str
    family: str = ""
    negated: bool = False
    checks: tuple[str, ...] = ()
    form: str = STATEMENT_FORM
    asked: str = ""
    wrong_from: str = ""
    verdict_only: bool = False
    tags: tuple[str, ...] = ()


class Evidence(Row):
    """A passage found for a candidate (`of`), with score and rank (from 1) within its knowledge base.

    Rank 0 is for a passage that the fact of the candidate names.
    """

    name: ClassVar[str] = "evidence"
    identity: ClassVar[tuple[str, ...]] = ("passage",)

    passage: str
    base: str
    document: str
    title: str = ""
    text: str
    score: float
    rank: int

    @property
    def place(self) -> tuple[bool, str, int, str, str]:
        """Where it stands among the evidence of its candidate: passages that the fact names come first."""
        return self.rank > 0, self.base, self.rank, self.slot, self.id


AnswerOutcome = Literal["complete", "truncated", "thought_out", "empty", "refused", "filtered", "missing"]


class Answer(Row):
    """One answer to one item. `model` is the model's name in the recipe.

    The item is the driving parent, or an ancestor if a model answers in several phases. `outcome` is the result of the
    request: ``complete``, ``truncated`` at the limit of new tokens, ``thought_out`` at that limit before the answer
    began, ``empty``, ``refused`` by the model, ``filtered`` by the service, or ``missing`` in a file of answers. An
    answer without text is scored and counted too.
    """

    name: ClassVar[str] = "answer"
    identity: ClassVar[tuple[str, ...]] = ("model", "text")

    model: str
    text: str
    outcome: AnswerOutcome = "complete"

    def find_item(self, items: Mapping[str, Item[Any]]) -> Item[Any]:
        """Its item, from `items` by id; KeyError if it is not among them."""
        for parent in self.parents:
            if parent in items:
                return items[parent]
        raise KeyError(self.id)


PartKind = Literal["claim", "reported", "condition", "none", "abstains", "refuses"]
ClaimVerdict = Literal["supported", "contradicted", "not_addressed", ""]
Stance = Literal["says", "denies", "none"]


class AnswerClaim(Row):
    """A part of an answer, which is its driving parent, and what a verifier says of it.

    `number` is its place in the answer, from 1, and ``[start, end)`` its range there in code points, in the text
    without reasoning; `text` are the words. `kind` is ``claim``, ``reported`` (speech of others), ``condition``
    alone, ``none`` (nothing that paragraphs could support), ``abstains`` or ``refuses``. `verdict` is what the item's
    paragraphs say of a claim; it is empty for other kinds, and for a claim whose `reason` says why it has none.
    `paragraph` is the place of the paragraph that shows it, and ``[quote_start, quote_end)`` the range there. `right`
    and `wrong` say what the part does with the item's statements. `taken_back_by` is the number of a later part that
    takes it back. `near` is the verifier's own measure. A row with the number 0 stands for an answer that was not
    read, and its `reason` says why.
    """

    name: ClassVar[str] = "answer_claim"
    identity: ClassVar[tuple[str, ...]] = ("number",)

    item: str
    model: str
    number: int
    start: int = 0
    end: int = 0
    text: str = ""
    kind: PartKind = "none"
    verdict: ClaimVerdict = ""
    reason: str = ""
    note: str = ""
    paragraph: int | None = None
    quote_start: int | None = None
    quote_end: int | None = None
    right: Stance = "none"
    wrong: Stance = "none"
    taken_back_by: int | None = None
    verifier: str
    near: float | None = None


class Rating(FrozenModel):
    """One person's rating of an answer, from 0 to 1."""

    rater: str
    value: float


class Score(Row):
    """The score of one answer, which is its driving parent, in one `aspect`, by one `scorer`.

    `value` lies between 0 and 1, or is ``None`` if there is none. `label` is the finding of the scorer (the verdict
    parser: ``right``, ``wrong``, ``invalid``), `detail` its evidence. `ratings` has each person's value if the score is
    their mean. `counts` is for partly right answers; a metric adds it up: how many things are both given and expected,
    how many are given, how many are expected.
    """

    name: ClassVar[str] = "score"
    identity: ClassVar[tuple[str, ...]] = ("scorer", "aspect")

    item: str
    model: str
    scorer: str
    aspect: str
    value: float | None
    label: str = ""
    detail: str = ""
    ratings: tuple[Rating, ...] = ()
    counts: tuple[int, ...] = ()
