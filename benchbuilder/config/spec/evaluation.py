"""The evaluation of models on a benchmark, and the judges that score their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from benchbuilder.config.spec.annotation import BootstrapSpec, Name
from benchbuilder.config.spec.base import FileRef, FolderPath, PromptRef, RuntimeOption, Slot, Spec
from benchbuilder.config.spec.forms import ClaimSentence
from benchbuilder.config.spec.model import Sampling
from benchbuilder.config.spec.pressure import PressureSpec
from benchbuilder.core import template_faults

Proportion = Annotated[float, Field(gt=0, lt=1)]


class TrainingSpec(Spec):
    """The training of judges, and how they are validated.

    Judges learn the scores of `scorer`. In the aspects of `synthetic`, true and false statements count as answers too,
    with targets 1 and 0 and the weight `synthetic_weight`; a rated answer has the weight 1. `split` names what is held
    out: ``by_model`` (models; every question is on both sides), ``by_question`` (questions with everything that belongs
    to them), or ``both`` (held-out models on held-out questions). `held_out` is the proportion of questions, and of
    models unless `models` names them. Items with texts whose character trigrams overlap by more than `near` (Jaccard)
    are of one family. Each of `ablations` trains the judge again on less, to see what it learns from: without the
    paragraphs, from the answer alone, from everything but the answer.
    """

    scorer: Name
    split: Literal["by_model", "by_question", "both"] = "both"
    models: tuple[str, ...] = ()
    held_out: Proportion
    near: Annotated[float, Field(gt=0, le=1)]
    synthetic: tuple[Name, ...] = ()
    synthetic_weight: Annotated[float, Field(gt=0, le=1)]
    reference_drop: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Proportion of the examples that lose their paragraphs in training, so that the judge works without them."""
    ablations: tuple[Literal["without_evidence", "answer_only", "question_only"], ...] = ()


BUILT_WORDING = "built"
"""The wording of a question as the benchmark has it."""
_FEWEST_WORDINGS = 3


def _wording(text: str) -> str:
    """A sentence with ``{question}`` or ``{claim}``, one of them once."""
    faults = template_faults(text, ("question", "claim"))
    if text.count("{question}") + text.count("{claim}") != 1:
        faults.append("{question} or {claim} must stand in it, one of them once")
    if faults:
        raise ValueError("; ".join(faults))
    return text


class WordingsSpec(Spec):
    """Further wordings in which a sample of the true/false questions is asked, to see how far scores hang on wording.

    `sentences` are the wordings by name, over ``{question}`` (the question with its context, as it is built) or
    ``{claim}`` (what it asks about); ``null`` removes one. Yes must mean the same in all of them. The question as it is
    built counts as one more, so that two sentences make three wordings. `frames` say how questions hold their claim,
    over ``{claim}``; the first that fits counts.
    """

    sentences: dict[Name, Annotated[str, AfterValidator(_wording)] | None]
    frames: tuple[ClaimSentence, ...] = ()
    families: Annotated[int, Field(ge=2)] = 100
    """How many whole item families are asked, drawn by the recipe's seed."""
    repeats: Annotated[int, Field(ge=1, le=20)] = 1
    """How often each of these questions is asked in each wording: more than once shows the noise of sampling."""

    @field_validator("sentences")
    @classmethod
    def _enough(cls, sentences: dict[str, str | None]) -> dict[str, str | None]:
        count = 1 + sum(text is not None for text in sentences.values())
        if count < _FEWEST_WORDINGS:
            raise ValueError(f"with the built question these are {count} wordings; {_FEWEST_WORDINGS} are needed")
        if BUILT_WORDING in sentences:
            raise ValueError(f"{BUILT_WORDING!r} is the name of the question as it is built; choose another name")
        return sentences


class PenaltySpec(Spec):
    """What the answers to a yes/no question weigh in the penalty score: a wrong one may cost more than none.

    A refusal weighs what an abstention does; an empty or filtered answer weighs what an invalid one does.
    """

    right: float = 1
    abstained: float = 0
    wrong: float = -1
    invalid: float = 0

    def of(self, label: str) -> float:
        """The weight of an answer by the label of its verdict."""
        return {"right": self.right, "wrong": self.wrong, "abstained": self.abstained, "refused": self.abstained}.get(
            label, self.invalid
        )


class EvaluationSpec(Spec):
    """How models are evaluated.

    `benchmark` is a source of items that were built elsewhere; ``null``: the recipe's own items. `models` are asked,
    and `baselines` answer by rule. The file `answers` (JSON Lines, CSV or Parquet: ``id`` or ``question``, ``model``,
    ``answer``) contains answers of further models. The prompt of `prompt` sees ``question`` and ``type``; ``null``: the
    question alone. `sampling_of` overrides `sampling` for single models.
    """

    benchmark: Annotated[Any, Slot("source")] = None
    one_of_family: bool = False
    """Whether only one question of each item family is asked, drawn by the recipe's seed."""
    models: Annotated[dict[str, Any], Slot("model")] = {}
    solver: Annotated[Any, Slot("solver")] = None
    """The phases in which a model answers; ``null``: it is asked once."""
    baselines: Annotated[dict[str, Any], Slot("baseline")] = {}
    answers: FileRef | None = None
    prompt: PromptRef | None = None
    system: PromptRef | None = None
    sampling: Sampling = Sampling()
    sampling_of: dict[str, Sampling] = {}
    wordings: WordingsSpec | None = None
    """Further wordings in which models are asked a sample of the true/false questions; ``null``: none."""
    pressure: PressureSpec | None = None
    """Claims that models are told before the questions, to see whether they keep the truth; ``null``: none."""
    answer_claims: Annotated[Any, Slot("verifier")] = None
    """Who says of each claim in an answer whether the item's paragraphs support it; ``null``: claims are not read."""
    claim_ratings: FileRef | None = None
    """What people say of the claims in ``claims_to_rate``; ``null``: no person has checked the verifier."""
    scorers: Annotated[dict[str, Any], Slot("scorer")] = {}
    metrics: Annotated[dict[str, Any], Slot("metric")] = {}
    """Summaries of scores for each model, in total and by partition, under the name of their table."""
    penalty: PenaltySpec = PenaltySpec()
    """The weights of the penalty score, which is stated beside the accuracy and the abstention rate."""
    judges: Annotated[dict[str, Any], Slot("judge")] = {}
    training: TrainingSpec | None = None
    rubric: FileRef | None = None
    """The meaning of the aspects, in words; judges are bound to it."""
    any_rubric: bool = False
    """Whether judges for another rubric or language may score."""
    published: FileRef | None = None
    """Figures published by others, shown beside the results and marked as theirs."""
    published_judges: Annotated[FileRef | None, RuntimeOption()] = None
    """The same for judges."""
    probes: Annotated[FileRef | None, RuntimeOption()] = None
    """The texts of the probes of the robustness card."""
    outputs: Annotated[dict[str, Any], Slot("exporter")] = {}
    bootstrap: BootstrapSpec
    dir: Annotated[FolderPath | None, RuntimeOption()] = None
    """Folder of the evaluation; default ``evaluation`` in the folder of the build."""
