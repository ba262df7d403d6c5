"""The judge report: agreement with human scores, valid uses of the scores, and robustness to probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import DEFAULT_LANGUAGE, DataError, find_kind, kinds_of_slot
from benchbuilder.evaluation.judge_report import agreement_tables as measures
from benchbuilder.evaluation.judge_report import interval_tables as intervals
from benchbuilder.evaluation.judge_report import validity_tables as validity
from benchbuilder.evaluation.judge_report.charts import (
    correlation_chart,
    forest_chart,
    judge_scatter,
    reliability_chart,
)
from benchbuilder.evaluation.judge_report.held_out import (
    SIDES,
    THRESHOLD,
    HeldOutAnswers,
    JudgeReportFrame,
    held_out_answers,
    held_out_questions,
)
from benchbuilder.evaluation.judge_report.pair_table import pair_table
from benchbuilder.evaluation.judge_report.probe_spec import load_probes
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding, probe_findings, verdict_counts
from benchbuilder.evaluation.judge_report.robustness_tables import probe_label, robustness_table
from benchbuilder.evaluation.judge_report.write import (
    JUDGE_REPORT_STEM,
    AspectSection,
    JudgePlots,
    RobustnessCard,
    write_judge_report_files,
)
from benchbuilder.evaluation.judge_training.model_card import FEW
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import AskingJudge
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.stats.errors import check_constant_predictor
from benchbuilder.evaluation.yaml_files import read_yaml
from benchbuilder.exporters import PageSpec, ResultTable

_AGREEMENT_TABLES = (
    measures.comparison_table, measures.agreement_table, measures.threshold_table, measures.simple_baseline_table,
    measures.ablation_table, measures.calibration_table,
)  # fmt: skip
_GROUPS: Mapping[str, Callable[[Prediction], str]] = {
    "source": lambda row: row.example.source,
    "type": lambda row: row.example.case.type,
    "model": lambda row: row.example.model,
}


def write_judge_report(
    runs: Sequence[ValidationRun], spec: EvaluationSpec, folder: Path, *, language: str, probes: Path | None,
    published: Path | None, texts: str | None, illustrative: bool = False, stem: str = JUDGE_REPORT_STEM,
) -> list[Path]:  # fmt: skip
    """Write ``judges.html``, ``.md``, ``.json`` and every table as CSV and LaTeX.

    Args:
        folder: Where the files are written. Tables of an earlier report with the same `stem` are removed.
        language: The language of the benchmark, which the probes must be for.
        probes: The file of probes; without one there are no robustness cards.
        published: The file of published figures.
        texts: The language of the report; ``None``: English, and a page that opens in that of the locale.
        illustrative: Whether the ratings are sample data.

    Raises:
        DataError: There is no judge, or a file is invalid or for another language.
    """
    if not runs:
        raise DataError("there is no judge to report on", next="train one first: `benchbuild judge train`")
    file = load_probes(probes) if probes is not None else None
    if file is not None and file.language != language:
        raise DataError(
            f"these probes are for answers in {file.language!r}, and the benchmark is in {language!r}",
            where=str(probes),
            next=f"use probes for {language!r}, or none",
        )
    page = PageSpec(kind="report", language=texts)
    frame = JudgeReportFrame(
        page.texts(DEFAULT_LANGUAGE), spec, file,
        read_yaml(published, PublishedJudges, "file of published figures") if published is not None else None,
    )  # fmt: skip
    by_aspect: dict[str, list[ValidationRun]] = {}
    for run in runs:
        by_aspect.setdefault(str(run.card.get("aspect", "")), []).append(run)
    found = {run.name: _findings(frame, aspect, run) for aspect, group in by_aspect.items() for run in group}

    def sections(frame: JudgeReportFrame) -> list[AspectSection]:
        return [_section(frame, aspect, group, found) for aspect, group in by_aspect.items()]

    return write_judge_report_files(
        folder, frame, sections, runs, page.reader_texts(), language=language, illustrative=illustrative, stem=stem
    )


def _section(
    frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun], found: Mapping[str, Sequence[ProbeFinding]]
) -> AspectSection:
    judges = [held_out_answers(run, synthetic=False) for run in runs]
    rated = [answers for answers in judges if len(answers)]
    statements = [held_out_answers(run, synthetic=True) for run in runs]
    tables, folded = _tables(frame, aspect, runs, rated, statements)
    cards = _cards(frame, runs, found)
    findings = {card.judge: card.findings for card in cards}
    unprobed = [run.name for run in runs if run.name not in findings and not _asks_model(run)]
    return AspectSection(
        aspect=aspect,
        label=frame.t.get(f"results.aspect.{aspect}", aspect),
        judges=judges,
        warnings=[
            *filter(None, (_constant_predictor_warning(frame, answers) for answers in judges)),
            *_general_warnings(frame, rated, runs),
        ],
        remarks=_remarks(frame, judges),
        overview=correlation_chart(tables[0], frame.t("judges.plot.overview")) if tables else None,
        plots=[_plots(frame, answers, tables) for answers in rated],
        tables=tables,
        folded=folded,
        cards=cards,
        robustness=robustness_table(frame, aspect, findings) if cards else None,
        unprobed=unprobed if frame.probes is not None else [],
    )


def _tables(
    frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun], rated_answers: Sequence[HeldOutAnswers],
    statements: Sequence[HeldOutAnswers],
) -> tuple[list[ResultTable], frozenset[str]]:  # fmt: skip
    """The tables in order, and the names of those that are folded."""
    if not rated_answers:
        return [], frozenset()
    bins = measures.reliability_table(frame, aspect, rated_answers)
    people = validity.rater_table(frame, aspect, rated_answers)
    test = validity.alternative_annotator_table(frame, aspect, rated_answers)
    questions = [answers for run in runs if len(answers := held_out_questions(run))]
    order = validity.system_ranking_table(frame, aspect, questions)
    groups = [measures.group_table(frame, aspect, name, rated_answers, of) for name, of in _GROUPS.items()]
    tables = [
        *(table(frame, aspect, rated_answers) for table in _AGREEMENT_TABLES),
        bins,
        validity.human_ceiling_table(frame, aspect, rated_answers),
        people,
        *test,
        *order,
        intervals.prediction_powered_table(frame, aspect, rated_answers),
        intervals.conformal_table(frame, aspect, rated_answers),
        *groups,
        _familiarity_table(frame, aspect, runs),
        measures.statement_table(frame, aspect, statements),
        pair_table(frame, aspect, runs),
    ]
    folded = [bins, people, *test[1:], *order[1:], groups[2]]
    return list(filter(None, tables)), frozenset(table.name for table in filter(None, folded))


def _familiarity_table(frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun]) -> ResultTable | None:
    """Unseen answers against partly seen ones; ``None`` if there are no partly seen answers."""
    answers = [held_out_answers(run, synthetic=False, sides=SIDES) for run in runs if run.left_out]
    if not answers:
        return None
    return measures.group_table(frame, aspect, "side", answers, lambda row: frame.t(f"judges.side.{row.side}"))


def _constant_predictor_warning(frame: JudgeReportFrame, answers: HeldOutAnswers) -> str:
    if not len(answers):
        return frame.t("judges.warning.unrated", judge=answers.name)
    warning = check_constant_predictor(answers.predicted, answers.targets)
    if warning is None:
        return ""
    why = "flat" if answers.predicted.std() < 0.02 else "targets"
    return frame.t(f"judges.warning.{why}", judge=answers.name, sd=f"{warning.sd:.4f}")


def _general_warnings(
    frame: JudgeReportFrame, rated_answers: Sequence[HeldOutAnswers], runs: Sequence[ValidationRun]
) -> list[str]:
    """Warnings about all judges: different held-out answers, and judges without probes."""
    letters = measures.answer_set_letters(rated_answers)
    sets: dict[str, list[str]] = {}
    for answers, letter in zip(rated_answers, letters, strict=True):
        sets.setdefault(letter, []).append(answers.name)
    listed = "; ".join(f"{letter}: {', '.join(names)}" for letter, names in sets.items())
    asking = ", ".join(run.name for run in runs if run.judge is None and _asks_model(run))
    return [
        *([frame.t("judges.warning.apart", sets=listed)] if any(letters) else []),
        *([frame.t("judges.warning.unprobed", judges=asking)] if asking else []),
    ]


def _asks_model(run: ValidationRun) -> bool:
    """Whether the judge asks a model, so that probing it would cost requests."""
    kind = str(run.card.get("kind", ""))
    return kind in kinds_of_slot("judge") and issubclass(find_kind("judge", kind).load(), AskingJudge)


def _remarks(frame: JudgeReportFrame, judges: Sequence[HeldOutAnswers]) -> list[str]:
    """A sentence about the held-out answers; judges with the same split and data share a line."""
    remarks: dict[str, list[str]] = {}
    for answers in judges:
        split = frame.t.get(f"judges.split.{answers.split}", answers.split)
        remark = frame.t(
            "judges.held_out", split=split, answers=len(answers), models=len(set(answers.models)),
            families=len(set(answers.families)),
        )  # fmt: skip
        if len(answers) < FEW:
            remark += " " + frame.t("judges.few_held_out", few=FEW)
        if answers.shared_paragraphs.get("some"):
            remark += " " + frame.t("judges.shared", **answers.shared_paragraphs)
        remarks.setdefault(remark, []).append(answers.name)
    return [frame.t("judges.of", aspect=", ".join(names), what=remark) for remark, names in remarks.items()]


def _plots(frame: JudgeReportFrame, answers: HeldOutAnswers, tables: Sequence[ResultTable]) -> JudgePlots:
    t, judge = frame.t, answers.name
    bins = next(table for table in tables if table.name.endswith("_reliability"))
    scatter = judge_scatter(answers, t("judges.plot.scatter", judge=judge), t)
    return JudgePlots(judge, scatter, reliability_chart(bins, judge, t("judges.plot.reliability", judge=judge), t))


def _findings(frame: JudgeReportFrame, aspect: str, run: ValidationRun) -> list[ProbeFinding]:
    """What the probes find of a judge; nothing without probes."""
    if frame.probes is None or run.judge is None:
        return []
    statements = frame.spec.training is None or aspect in frame.spec.training.synthetic
    examples = [prediction.example for prediction in run.predictions]
    return probe_findings(
        run.judge, examples, frame.probes, frame.bootstrap, threshold=THRESHOLD, statements=statements
    )


def _cards(
    frame: JudgeReportFrame, runs: Sequence[ValidationRun], found: Mapping[str, Sequence[ProbeFinding]]
) -> list[RobustnessCard]:
    cards: list[RobustnessCard] = []
    for run in runs:
        if frame.probes is not None and run.judge is not None:
            findings, title = found[run.name], frame.t("judges.plot.robustness", judge=run.name)
            chart = forest_chart(findings, partial(probe_label, frame), title)
            cards.append(RobustnessCard(run.name, findings, verdict_counts(findings), chart))
    return cards
