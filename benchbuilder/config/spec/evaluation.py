"""What a recipe says of evaluating models on its benchmark, and of the judges that score their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config.spec.annotation import BootstrapSpec, Name
from benchbuilder.config.spec.base import FileRef, PromptRef, RuntimeOption, Slot, Spec
from benchbuilder.config.spec.model import Sampling

Proportion = Annotated[float, Field(gt=0, lt=1)]


class TrainingSpec(Spec):
    """What judges are trained on and how they are held to account.

    `scorer` is the scorer whose scores are learned. In the aspects of `synthetic`, true and false statements count as
    answers too, with targets 1 and 0 and the weight `synthetic_weight` against 1 of a rated answer. `split` names what
    is held out: ``by_model`` (models; every question is on both sides), ``by_question`` (questions with all that
    belongs to them), or ``both`` (held-out models on held-out questions). `held_out` is the share of questions, and of
    models unless `models` names them. Items of which any texts have character trigrams that overlap by more than
    `near` (Jaccard) are of one family. Each of `ablations` trains the judge once more on less, to see what it learns
    from: without the paragraphs, from the answer alone, from everything but the answer.
    """

    scorer: Name
    split: Literal["by_model", "by_question", "both"] = "both"
    models: tuple[str, ...] = ()
    held_out: Proportion
    near: Annotated[float, Field(gt=0, le=1)]
    synthetic: tuple[Name, ...] = ()
    synthetic_weight: Annotated[float, Field(gt=0, le=1)]
    reference_drop: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the examples that lose their paragraphs in training, so that the judge can do without them."""
    ablations: tuple[Literal["without_evidence", "answer_only", "question_only"], ...] = ()


class EvaluationSpec(Spec):
    """How models are evaluated.

    `benchmark` is a source of items that were not built here; ``null``: the recipe's own items. `models` are asked,
    `baselines` answer by rule, and every model of the file `answers` (JSON Lines, CSV or Parquet: ``id`` or
    ``question``, ``model``, ``answer``) is scored by what stands there. The prompt of `prompt` sees ``question`` and
    ``type``; ``null``: the question alone. `sampling_of` says what of `sampling` is otherwise for single models.
    """

    benchmark: Annotated[Any, Slot("source")] = None
    models: Annotated[dict[str, Any], Slot("model")] = {}
    solver: Annotated[Any, Slot("solver")] = None
    """In what phases a model comes to its answer; ``null``: it is asked once."""
    baselines: Annotated[dict[str, Any], Slot("baseline")] = {}
    answers: FileRef | None = None
    prompt: PromptRef | None = None
    system: PromptRef | None = None
    sampling: Sampling = Sampling()
    sampling_of: dict[str, Sampling] = {}
    scorers: Annotated[dict[str, Any], Slot("scorer")] = {}
    metrics: Annotated[dict[str, Any], Slot("metric")] = {}
    """What scores come to, for each model in all and for each partition, by the name of the figure's table."""
    judges: Annotated[dict[str, Any], Slot("judge")] = {}
    training: TrainingSpec | None = None
    rubric: FileRef | None = None
    """What the aspects mean, in words: judges are bound to it."""
    any_rubric: bool = False
    """Whether judges score although they were made for another rubric or another language."""
    published: FileRef | None = None
    """Figures that others published, shown beside ours and marked as theirs."""
    published_judges: Annotated[FileRef | None, RuntimeOption()] = None
    """The same of judges."""
    probes: Annotated[FileRef | None, RuntimeOption()] = None
    """By what texts judges are probed for bias."""
    outputs: Annotated[dict[str, Any], Slot("exporter")] = {}
    bootstrap: BootstrapSpec
    dir: Annotated[str | None, RuntimeOption()] = None
    """Folder of the evaluation; default ``evaluation`` in the folder of the build."""
