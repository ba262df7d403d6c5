"""Whether the right one of two statements can be guessed: judges learn from these pairs."""

from __future__ import annotations

from collections.abc import Sequence

from benchbuilder.config import read_kind_spec
from benchbuilder.core import create_from_spec
from benchbuilder.evaluation.audit.findings import AuditSettings
from benchbuilder.evaluation.audit.run_checks import run_checks
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.targets import TargetChecks, TargetSubjects
from benchbuilder.evaluation.audit.views.base import ViewContext
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.evaluation.judge_report.held_out import JudgeReportFrame
from benchbuilder.evaluation.judge_training.predictions import ValidationRun
from benchbuilder.evaluation.results.context import table_line
from benchbuilder.exporters import ResultTable, TableCell

_VIEWS = ("length", "ending", "negation", "question_words")
_PERMUTATIONS = 199


def pair_table(frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun]) -> ResultTable | None:
    """What views of the two statements of an item tell; ``None`` if statements do not train judges of this aspect."""
    training, probes = frame.spec.training, frame.probes
    pairs = _pairs(runs)
    if training is None or aspect not in training.synthetic or len(pairs[0]) < 2:
        return None
    target = TargetSubjects("pair", pairs[0], tuple(True for _ in pairs[0]), pairs[1])
    patterns = ((), ()) if probes is None else (probes.negations, probes.harmless)
    context = ViewContext(guess_unit([subject.text for subject in pairs[0]]), *patterns)
    views = {kind: create_from_spec("view", read_kind_spec("view", {"kind": kind})) for kind in _VIEWS}
    checks = list(TargetChecks(target, ("all",)).checks(views, context, paragraphs_shown=False))
    lines = [
        table_line(frame.t(f"audit.view.{found.view}"), found.n, TableCell(found.score, low=found.low, high=found.high),
                   frame.t(f"audit.word.{found.word.replace(' ', '_')}"))
        for found in run_checks(checks, AuditSettings(frame.spec.bootstrap.seed, permutations=_PERMUTATIONS))
    ]  # fmt: skip
    return frame.table(aspect, "pairs", "view n guessed finding", lines)


def _pairs(runs: Sequence[ValidationRun]) -> tuple[tuple[AuditSubject, ...], tuple[AuditSubject, ...]]:
    """The right and the wrong statements of all items that were held out, by item."""
    examples = {
        row.example.item: row.example for run in runs for row in run.predictions
        if row.example.case.right and row.example.case.wrong and row.example.case.right != row.example.case.wrong
    }  # fmt: skip
    right, wrong = (
        tuple(
            AuditSubject(id=item, family=example.family, source=example.source, type=example.case.type, text=text)
            for item, example in sorted(examples.items())
            for text in (getattr(example.case, side),)
        )
        for side in ("right", "wrong")
    )
    return right, wrong
