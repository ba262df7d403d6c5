"""The YAML of a file of probes: changes to answers, the expected effect on a judge, and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchbuilder.config import LanguageTag, Name, Spec
from benchbuilder.core import Conversion, Regex
from benchbuilder.evaluation.yaml_files import read_yaml


class TextChange(Spec):
    """Adds one of `texts` to the answer; the case decides which. ``{answer}`` stands for the answer itself.

    ``append`` puts the text after the answer, ``prepend`` before it, and ``wrap`` inserts the answer into the text.
    """

    change: Literal["append", "prepend", "wrap"]
    texts: Annotated[tuple[str, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _holds(self) -> TextChange:
        if self.change == "wrap" and any("{answer}" not in text for text in self.texts):
            raise ValueError("texts: each must contain {answer}")
        return self


class LinesChange(Spec):
    """Makes every sentence of the answer a line that begins with `bullet`; a sentence ends after one of `ends`."""

    change: Literal["lines"]
    ends: Annotated[str, Field(min_length=1)]
    bullet: str


class WordsChange(Spec):
    """Replaces every word that is a key of `words` by its value; answers without such a word are left out."""

    change: Literal["words"]
    words: Annotated[dict[str, str], Field(min_length=1)]


class WidthChange(Spec):
    """Converts ASCII letters, digits and punctuation to full width."""

    change: Literal["wide"]


class ScriptChange(Spec):
    """Converts the answer to another script."""

    change: Literal["script"]
    conversion: Conversion


class FalseStatementChange(Spec):
    """Replaces the item's right statement, given as the answer, by its wrong one.

    `by` picks the items. With ``negation``, the numbers of the file's `negations` in the two statements differ by an
    odd number, and otherwise the statements differ by at most `negation_edits` characters. ``swap`` picks all others
    (another entity). A pair of statements that occurs in several items is used once.
    """

    change: Literal["false_statement"]
    by: Literal["negation", "swap"]


class EvidenceChange(Spec):
    """Changes the evidence: drops it, swaps it for that of another fact, or shuffles it."""

    change: Literal["evidence_dropped", "evidence_swapped", "evidence_shuffled"]


class RepeatChange(Spec):
    """Changes nothing: the case is scored alone `runs` more times, and the delta is the largest difference."""

    change: Literal["repeat"]
    runs: Annotated[int, Field(ge=1, le=20)]


class LengthPartialChange(Spec):
    """Changes nothing: the delta is the partial correlation of score and answer length, given the human scores."""

    change: Literal["length_partial"]


ProbeChange = Annotated[
    TextChange
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

    For ``fall`` the limits are reversed: it passes from `warn` upwards, and fails below `fail`.
    """

    warn: Annotated[float, Field(ge=0, le=1)]
    fail: Annotated[float, Field(ge=0, le=1)] | None = None


class Probe(Spec):
    """A change to answers, and its expected effect on the score of a sound judge.

    `of` picks the answers: ``all``, ``good`` ones (human score at or above the threshold, or a true statement) or
    ``bad`` ones. `expect` is ``same`` (the score must not change), ``no_rise`` (it may fall) or ``fall`` (it must).
    `delta` limits the mean change, `flip` the proportion of answers that cross the threshold (for ``fall``: of those
    above it). `label` and `meaning` are texts by language of the report.
    """

    group: Name
    label: dict[LanguageTag, str]
    meaning: dict[LanguageTag, str]
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
                raise ValueError(f"{name}: with expect: {self.expect}, fail must be {order} warn")
        return self


class ValiditySpec(Spec):
    """Settings of the report that are a matter of judgement.

    `epsilon` is the advantage of a human annotator in the alternative-annotator test, and `q` its false discovery rate.
    `labelled` is the proportion of human scores that the simulation of prediction-powered intervals uses. `bins` is the
    number of bins in reliability plots. A human score within `near` of the threshold counts as close to it.
    """

    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.1
    q: Annotated[float, Field(gt=0, lt=1)] = 0.05
    labelled: Annotated[float, Field(gt=0, lt=1)] = 0.25
    bins: Annotated[int, Field(ge=2, le=50)] = 10
    near: Annotated[float, Field(gt=0, lt=0.5)] = 0.05


class ProbesSpec(Spec):
    """A file of probes for answers in one language.

    Each probe is applied to at most `cases` answers; with fewer than `min_cases` there is no verdict. `negations` are
    patterns of negations, `harmless` patterns of words that only look like one. Apart from the negation, a statement
    and its negation may differ by `negation_edits` characters; with more, they count as an exchanged entity.
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
    """Read the probes in the YAML file `path`; DataError if that is not possible."""
    return read_yaml(path, ProbesSpec, "file of probes")
