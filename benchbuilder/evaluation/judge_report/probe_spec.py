"""What a file of probes says: how answers are changed, what a judge should make of that, and the limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchbuilder.config import Name, Spec
from benchbuilder.core import Conversion, Regex
from benchbuilder.evaluation.judge_report.read_spec import read_yaml_spec
from benchbuilder.exporters import Language

Texts = Annotated[tuple[str, ...], Field(min_length=1)]


class AppendChange(Spec):
    """One of `texts`, drawn by the case, is put behind the answer; ``{answer}`` in it is the answer itself."""

    change: Literal["append"]
    texts: Texts


class PrependChange(Spec):
    """One of `texts`, drawn by the case, is put before the answer."""

    change: Literal["prepend"]
    texts: Texts


class WrapChange(Spec):
    """The answer stands inside one of `texts`, at ``{answer}``."""

    change: Literal["wrap"]
    texts: Texts

    @model_validator(mode="after")
    def _holds(self) -> WrapChange:
        if any("{answer}" not in text for text in self.texts):
            raise ValueError("texts: each must hold {answer}")
        return self


class LinesChange(Spec):
    """Every sentence of the answer, cut behind each of `ends`, becomes a line that begins with `bullet`."""

    change: Literal["lines"]
    ends: Annotated[str, Field(min_length=1)]
    bullet: str


class WordsChange(Spec):
    """Every word that `words` holds becomes the word beside it; answers with none of them are left out."""

    change: Literal["words"]
    words: Annotated[dict[str, str], Field(min_length=1)]


class WidthChange(Spec):
    """Letters, digits and marks of ASCII become full-width ones."""

    change: Literal["wide"]


class ScriptChange(Spec):
    """The answer is converted to another script."""

    change: Literal["script"]
    conversion: Conversion


class FalseStatementChange(Spec):
    """The item's right statement as the answer becomes its wrong one.

    `by` picks the items: those whose two statements differ by a ``negation`` (they are an odd number of the file's
    `negations` apart, and without these at most `negation_edits` characters), or by something else (``swap``: the
    entity). Two statements that stand in several items are asked about once.
    """

    change: Literal["false_statement"]
    by: Literal["negation", "swap"]


class EvidenceChange(Spec):
    """What is known: ``evidence_dropped``, ``evidence_swapped`` for that of another fact, ``evidence_shuffled``."""

    change: Literal["evidence_dropped", "evidence_swapped", "evidence_shuffled"]


class RepeatChange(Spec):
    """Nothing changes: the case is scored again, alone, `runs` times; the delta is the largest difference."""

    change: Literal["repeat"]
    runs: Annotated[int, Field(ge=1, le=20)]


class LengthPartialChange(Spec):
    """Nothing changes: the delta is the partial correlation of score and length of the answer, given human scores."""

    change: Literal["length_partial"]


ProbeChange = Annotated[
    AppendChange
    | PrependChange
    | WrapChange
    | LinesChange
    | WordsChange
    | WidthChange
    | ScriptChange
    | FalseStatementChange
    | EvidenceChange
    | RepeatChange
    | LengthPartialChange,
    Field(discriminator="change"),
]


class ProbeLimits(Spec):
    """Limits of a mean change. A judge passes up to `warn` and fails beyond `fail` (``null``: it never fails).

    For ``fall`` it is the other way round: it passes from `warn` on, and fails below `fail`.
    """

    warn: Annotated[float, Field(ge=0, le=1)]
    fail: Annotated[float, Field(ge=0, le=1)] | None = None


class Probe(Spec):
    """A change of answers, and what a sound judge makes of it.

    `of` picks the answers: ``all``, ``good`` ones (human score on or above the threshold, or a true statement) or
    ``bad`` ones. `expect`: ``same`` (the score stays), ``no_rise`` (it may fall), ``fall`` (it must).
    `delta` limits the mean change, `flip` the share of answers that change sides of the threshold (for ``fall``: of
    those above it). `label` and `meaning` are texts by language of the report.
    """

    group: Name
    label: dict[Language, str]
    meaning: dict[Language, str]
    of: Literal["all", "good", "bad"] = "all"
    expect: Literal["same", "no_rise", "fall"]
    by: ProbeChange
    delta: ProbeLimits
    flip: ProbeLimits | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Probe:
        for name, limits in (("delta", self.delta), ("flip", self.flip)):
            if limits is None or limits.fail is None:
                continue
            if (limits.fail > limits.warn) == (self.expect == "fall"):
                order = "below" if self.expect == "fall" else "above"
                raise ValueError(f"{name}: with expect: {self.expect}, fail must lie {order} warn")
        return self


class ValiditySpec(Spec):
    """Numbers of the report that are a matter of judgement.

    `epsilon` and `q`: advantage that a human annotator is given in the alternative-annotator test, and its false
    discovery rate. `labelled` is the share of the human scores that the rehearsal of prediction-powered intervals
    pretends to have; `bins` the number of bins of reliability plots; `near` how close to the threshold a human score
    counts as close.
    """

    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.1
    q: Annotated[float, Field(gt=0, lt=1)] = 0.05
    labelled: Annotated[float, Field(gt=0, lt=1)] = 0.25
    bins: Annotated[int, Field(ge=2, le=50)] = 10
    near: Annotated[float, Field(gt=0, lt=0.5)] = 0.05


class ProbesSpec(Spec):
    """A file of probes for answers in one language.

    At most `cases` answers are put to each probe, and fewer than `min_cases` decide nothing. `negations` and
    `harmless` are patterns that find negations, and words that only look like one; `negation_edits` is how many
    characters a statement and its negation may differ by besides: more, and another word was put in.
    """

    language: str
    cases: Annotated[int, Field(ge=1)]
    min_cases: Annotated[int, Field(ge=1)]
    negations: tuple[Regex, ...] = ()
    harmless: tuple[Regex, ...] = ()
    negation_edits: Annotated[int, Field(ge=0)] = 0
    validity: ValiditySpec = ValiditySpec()
    probes: dict[Name, Probe | None]


def load_probes(path: Path) -> ProbesSpec:
    """The probes of the YAML file `path`; DataError if it is missing, no YAML, or says what it may not."""
    return read_yaml_spec(path, ProbesSpec, "file of probes")
