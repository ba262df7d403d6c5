"""What a recipe says about the people who judge candidates: questions, gates, thresholds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbuilder.spec.base import KindSpec, Spec

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class GuidingQuestion(Spec):
    """A question that each annotator answers with 0 or 1, about a claim or about one paragraph of its evidence.

    `text` is the wording: votes are bound to it. `label` is a short form for column headers. `order` is the place
    among the guiding questions, both in the sheets and as a gate; the gate of `min_evidence` stands where the first
    question about evidence stands.
    """

    order: int
    subject: Literal["claim", "evidence"]
    label: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]


class BootstrapSpec(Spec):
    """How intervals are drawn: `samples` resamples of candidates, a percentile interval at `level`."""

    samples: Annotated[int, Field(ge=100, le=100_000)]
    level: Annotated[float, Field(gt=0, lt=1)]
    seed: Annotated[int, Field(ge=0)]


class JudgingSpec(KindSpec):
    """Who judges what, and what is kept.

    `keep` maps guiding questions to the decision that they must have; a paragraph supports a candidate if it has
    the required decision on every question about evidence; a candidate needs `min_evidence` supporting paragraphs.
    A question that is ``null`` is neither asked nor a gate; one that is ``null`` in `keep`, or not there, is asked
    and gates nothing. Both `annotators` judge everything, the `adjudicator` only that on which they differ.
    `thresholds` are the numbers of supporting paragraphs for which survivors are counted.
    """

    questions: dict[Name, GuidingQuestion | None]
    keep: dict[Name, Literal[0, 1] | None]
    min_evidence: Annotated[int, Field(ge=0)]
    annotators: tuple[Name, Name]
    adjudicator: Name
    thresholds: tuple[Annotated[int, Field(ge=0)], ...]
    bootstrap: BootstrapSpec

    @model_validator(mode="after")
    def _fits(self) -> JudgingSpec:
        asked = self.asked()
        if not asked:
            raise ValueError("questions: at least one guiding question must be asked")
        for what, values in (("order", [q.order for q in asked.values()]), ("text", [q.text for q in asked.values()])):
            if len(set(values)) < len(values):
                raise ValueError(f"questions: two guiding questions have the same {what}")
        if unknown := sorted(set(self.keep) - set(self.questions)):
            raise ValueError(f"keep: there is no question {', '.join(unknown)} (questions: {', '.join(asked)})")
        if len({*self.annotators, self.adjudicator}) < 3:
            raise ValueError("annotators: the two annotators and the adjudicator must be three different people")
        return self

    def asked(self, subject: str = "") -> dict[str, GuidingQuestion]:
        """The guiding questions that are asked (about `subject`, if given), in their order."""
        found = [(name, q) for name, q in self.questions.items() if q is not None and subject in ("", q.subject)]
        return dict(sorted(found, key=lambda pair: pair[1].order))

    def required(self, subject: str) -> dict[str, int]:
        """The gating questions about `subject` in their order, with the decision that keeps."""
        pairs: list[tuple[str, Any]] = [(name, self.keep.get(name)) for name in self.asked(subject)]
        return {name: value for name, value in pairs if value is not None}

    def people(self) -> tuple[str, ...]:
        """The annotators and the adjudicator."""
        return (*self.annotators, self.adjudicator)
