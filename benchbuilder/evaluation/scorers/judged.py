"""The scorer kind `judged`: a judge scores answers in its aspect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchbuilder.config import FileRef, KindSpec, RuntimeOption, Slot
from benchbuilder.core import Answer, DataError, Dropped, Item, NotApplicable, StepContext, create_from_spec, is_blank
from benchbuilder.evaluation.judges.base import AskingJudge, Case, Judge, JudgeSpec, ScoringJudge, case_hash, make_case
from benchbuilder.evaluation.judges.card import (
    FINAL,
    judge_mismatches,
    plain_spec,
    read_learned_hashes,
    read_trained_judge_card,
    rubric_digest,
    verify_judge_part,
)
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult, ScoringConversation
from benchbuilder.evaluation.stats.accuracy import conformal_interval


class JudgedSpec(KindSpec):
    """The judge, and what it scores.

    `folder` is the folder of a trained judge; only its content affects keys, not its path. A judge made for another
    `language` or `rubric` does not score, unless `anyway` is set.
    """

    judge: Annotated[Any, Slot("judge")]
    folder: Annotated[str | None, RuntimeOption()] = None
    language: str
    rubric: FileRef | None = None
    anyway: bool = False

    @property
    def looks_elsewhere(self) -> bool:
        """The folder of a trained judge is not a file of the recipe."""
        return self.folder is not None


class JudgedScorer(Scorer):
    """Scores answers by a judge.

    The judge sees answers without the reasoning before them. An answer without text (only white space and invisible
    characters) scores 0 without asking the judge. The label is the outcome of the request if it was not a complete
    answer, or ``learned`` if the judge was trained on this answer, so that its score is not independent. The detail is
    the judge's interval, if it has one.
    """

    kind: ClassVar[str] = "judged"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = JudgedSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "missing": "The model has no answer to this item.",
        "other_type": "The judge scores answers to other types of questions.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: JudgedSpec = spec
        self._spec: JudgeSpec = spec.judge
        self._judge: Judge = create_from_spec("judge", spec.judge)
        self._half: float | None = None
        self._learned: frozenset[str] = frozenset()
        self._opened = False
        if isinstance(self._judge, AskingJudge):
            self.reasons = {**type(self).reasons, **self._judge.reasons}  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that the judge asks, if any. A fine-tuned judge is opened, because its folder names the model."""
        if not isinstance(self._judge, AskingJudge):
            return None
        if self._judge.trains:
            self.open()
        return self._judge.model_spec

    def fingerprint(self) -> Mapping[str, str]:
        """Versions that affect the judge's scores, and digests of its training; DataError if it does not fit."""
        parts = dict(self._judge.fingerprint())
        if self._judge.trains:
            card = self._card()
            parts["what the judge learned"] = str(card["artefact_sha256"])
            parts["what it learned from"] = str(card["data_sha256"])
            parts["half width of its intervals"] = str(card["conformal"]["half_width"])
        return parts

    def _card(self) -> dict[str, Any]:
        """The card of the judge; DataError unless it fits the recipe and the benchmark."""
        place = Path(self.spec.folder or "")
        name = place.name
        card = read_trained_judge_card(place.parent, name)
        if card.get("spec") != plain_spec(self._spec):
            raise DataError(
                f"the judge {name!r} was trained with other settings than the recipe has now",
                where=f"evaluation.judges.{name}",
                next=f"benchbuild judge train {name} recipe=..., or change the settings back",
            )
        mismatches = judge_mismatches(card, language=self.spec.language, rubric=rubric_digest(self.spec.rubric))
        if mismatches and not self.spec.anyway:
            raise DataError(
                f"the judge {name!r} was not made for this benchmark",
                why="; ".join(mismatches),
                next="train one for it, or set evaluation.any_rubric=true and do not compare the scores with others",
            )
        return card

    def open(self) -> None:
        """Open the judge; DataError if it does not fit the benchmark, or was changed since its training."""
        if self._opened:
            return
        self._judge.ready()
        if self._judge.trains:
            card, folder = self._card(), Path(self.spec.folder or "")
            self._half = card["conformal"]["half_width"]
            self._judge.open(verify_judge_part(folder, FINAL, card))
            self._learned = read_learned_hashes(folder)
        else:
            self._judge.open(None)
        self._opened = True

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The judge's score of each answer."""
        if not isinstance(self._judge, ScoringJudge):
            raise TypeError(f"the judge {self._judge.kind!r} asks a model: it is driven by conversations")
        cases = [self._case(answer, item) for answer, item in pairs]
        places = [at for at, case in enumerate(cases) if not is_blank(case.answer) and self._judge.reads(case.type)]
        values = dict(zip(places, self._judge.score([cases[place] for place in places]), strict=True))
        return [self._scored(*pair, values.get(place)) for place, pair in enumerate(pairs)]

    def converse(self, answer: Answer, item: Item[Any]) -> ScoringConversation:
        """The judge's score of an answer, by asking its model."""
        if not isinstance(self._judge, AskingJudge):
            raise TypeError(f"the judge {self._judge.kind!r} asks no model")
        value: float | None = None
        case = self._case(answer, item)
        if not is_blank(case.answer) and self._judge.reads(case.type):
            result = yield from self._judge.converse(case)
            if isinstance(result, Dropped):
                return result
            value = result
        return self._scored(answer, item, value)

    def _case(self, answer: Answer, item: Item[Any]) -> Case:
        case = make_case(item, answer.text)
        return case if self._spec.evidence else case.without_evidence()

    def _scored(self, answer: Answer, item: Item[Any], value: float | None) -> ScorerResult:
        """The score of an answer with the judge's `value`; ``None`` is an answer without text."""
        if answer.outcome == "missing":
            return NotApplicable("missing")
        if not self._judge.reads(str(getattr(item.payload, "type", ""))):
            return NotApplicable("other_type")
        label = "" if answer.outcome == "complete" else answer.outcome
        if value is None:
            return (AspectScore(self._spec.aspect, 0.0, label or "empty"),)
        if not label and self._learned and case_hash(make_case(item, answer.text)) in self._learned:
            label = "learned"
        detail = "" if self._half is None else "{:.3f}..{:.3f}".format(*conformal_interval(value, self._half))
        return (AspectScore(self._spec.aspect, value, label, detail),)
