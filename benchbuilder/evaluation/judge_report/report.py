"""The judge report: agreement with human scores, valid uses of the scores, and robustness to probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import DataError, check_constant_predictor, find_kind, kinds_of_slot
from benchbuilder.evaluation.judge_report import PACKAGES
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
from benchbuilder.evaluation.judge_report.probe_spec import ProbesSpec, ValiditySpec, load_probes
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding, probe_findings, verdict_counts
from benchbuilder.evaluation.judge_report.robustness_tables import probe_label, robustness_table
from benchbuilder.evaluation.judge_report.section import AspectSection, JudgePlots, RobustnessCard
from benchbuilder.evaluation.judge_report.write import JUDGE_REPORT_STEM, write_judge_report_files
from benchbuilder.evaluation.judge_training.model_card import FEW
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import AskingJudge
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.results.context import BootstrapSettings
from benchbuilder.evaluation.yaml_files import read_yaml
from benchbuilder.exporters import Language, ReportTexts, ResultTable


def write_judge_report(
    runs: Sequence[ValidationRun], spec: EvaluationSpec, folder: Path, *, language: str, probes: Path | None,
    published: Path | None, texts: Language, illustrative: bool = False, stem: str = JUDGE_REPORT_STEM,
) -> list[Path]:  # fmt: skip
    """Write ``judges.html``, ``.md``, ``.json`` and every table as CSV and LaTeX.

    Args:
        runs: The validation runs to report on.
        spec: The evaluation settings of the recipe.
        folder: Where the files are written. Tables of an earlier report with the same `stem` are removed.
        language: The language of the benchmark, which the probes must be for.
        probes: The file of probes; without one there are no robustness cards.
        published: The file of published figures.
        texts: The language of the report.
        illustrative: Whether the ratings are sample data.
        stem: The first part of the file names.

    Returns:
        The paths of all files.

    Raises:
        DataError: There is no judge, or a file is invalid or for another language.
    """
    if not runs:
        raise DataError("there is no judge to report on", next="train one first: `benchbuild judge train`")
    file = load_probes(probes) if probes is not None else None
    if file is not None and file.language != language:
        raise DataError(
            f"these probes are for answers in {file.language!r}, and the benchmark is in {language!r}",
            where=str(probes), next=f"use probes for {language!r}, or none",
        )  # fmt: skip
    drawn: BootstrapSettings = {**spec.bootstrap.model_dump()}  # pyright: ignore[reportAssignmentType]
    numbers = file.validity if file is not None else ValiditySpec()
    frame = JudgeReportFrame(
        ReportTexts(texts, PACKAGES),
        texts,
        drawn,
        numbers,
        read_yaml(published, PublishedJudges, "file of published figures") if published is not None else None,
    )
    aspects = dict.fromkeys(str(trial.card.get("aspect", "")) for trial in runs)
    given = _ReportOptions(spec, file)
    chapters = [
        _section(frame, aspect, [trial for trial in runs if trial.card.get("aspect", "") == aspect], given)
        for aspect in aspects
    ]
    return write_judge_report_files(
        folder, frame, chapters, runs, language=language, illustrative=illustrative, stem=stem
    )


@dataclass(frozen=True)
class _ReportOptions:
    """Settings of a report, apart from the validation runs."""

    spec: EvaluationSpec
    file: ProbesSpec | None


def _section(
    frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun], options: _ReportOptions
) -> AspectSection:
    judges = [held_out_answers(trial, synthetic=False) for trial in runs]
    rated = [held for held in judges if len(held)]
    statements = [held_out_answers(trial, synthetic=True) for trial in runs]
    sheets, folded = _tables(frame, aspect, runs, rated, statements)
    cards = _cards(frame, aspect, runs, options)
    found = {card.judge: card.findings for card in cards}
    return AspectSection(
        aspect=aspect,
        label=frame.t.get(f"results.aspect.{aspect}", aspect),
        judges=judges,
        warnings=[
            *(warning for held in judges if (warning := _constant_predictor_warning(frame, held))),
            *_general_warnings(frame, rated, runs),
        ],
        remarks=_remarks(frame, judges),
        overview=correlation_chart(sheets[0], frame.t("judges.plot.overview")) if sheets else None,
        plots=[_plots(frame, held, sheets) for held in rated],
        tables=sheets,
        folded=folded,
        cards=cards,
        robustness=robustness_table(frame, aspect, found) if cards else None,
        unprobed=[trial.name for trial in runs if trial.name not in found and not _asks_model(trial)]
        if options.file is not None
        else [],
    )


def _tables(
    frame: JudgeReportFrame,
    aspect: str,
    runs: Sequence[ValidationRun],
    rated_answers: Sequence[HeldOutAnswers],
    statements: Sequence[HeldOutAnswers],
) -> tuple[list[ResultTable], frozenset[str]]:
    """The tables in order, and the names of those that are folded."""
    if not rated_answers:
        return [], frozenset()
    bins = measures.reliability_table(frame, aspect, rated_answers)
    people = validity.rater_table(frame, aspect, rated_answers)
    test = validity.alternative_annotator_table(frame, aspect, rated_answers)
    order = validity.system_ranking_table(
        frame, aspect, [held for trial in runs if len(held := held_out_questions(trial))]
    )
    groups = [
        measures.group_table(frame, aspect, "source", rated_answers, lambda row: row.example.source),
        measures.group_table(frame, aspect, "type", rated_answers, lambda row: row.example.case.type),
        measures.group_table(frame, aspect, "model", rated_answers, lambda row: row.example.model),
        _familiarity_table(frame, aspect, runs),
    ]
    made = [
        measures.comparison_table(frame, aspect, rated_answers),
        measures.agreement_table(frame, aspect, rated_answers),
        measures.threshold_table(frame, aspect, rated_answers),
        measures.simple_baseline_table(frame, aspect, rated_answers),
        measures.ablation_table(frame, aspect, rated_answers),
        measures.calibration_table(frame, aspect, rated_answers),
        bins,
        validity.human_ceiling_table(frame, aspect, rated_answers),
        people,
        *test,
        *order,
        intervals.prediction_powered_table(frame, aspect, rated_answers),
        intervals.conformal_table(frame, aspect, rated_answers),
        *groups,
        measures.statement_table(frame, aspect, statements),
    ]
    folded = [bins, people, *test[1:], *order[1:], groups[2]]
    return [sheet for sheet in made if sheet is not None], frozenset(
        sheet.name for sheet in folded if sheet is not None
    )


def _familiarity_table(frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun]) -> ResultTable | None:
    """Unseen answers against partly seen ones; ``None`` if there are no partly seen answers."""
    both = [held_out_answers(trial, synthetic=False, sides=SIDES) for trial in runs if trial.left_out]

    def named(row: Prediction) -> str:
        return frame.t(f"judges.side.{row.side}")

    return measures.group_table(frame, aspect, "side", both, named) if both else None


def _constant_predictor_warning(frame: JudgeReportFrame, answers: HeldOutAnswers) -> str:
    if not len(answers):
        return frame.t("judges.warning.unrated", judge=answers.name)
    warning = check_constant_predictor(answers.predicted, answers.targets)
    if warning is None:
        return ""
    flat = answers.predicted.std() < 0.02
    return frame.t(
        "judges.warning.flat" if flat else "judges.warning.targets", judge=answers.name, sd=f"{warning.sd:.4f}"
    )


def _general_warnings(
    frame: JudgeReportFrame, rated_answers: Sequence[HeldOutAnswers], runs: Sequence[ValidationRun]
) -> list[str]:
    """Warnings about all judges: different held-out answers, and judges without probes."""
    letters = measures.answer_set_letters(rated_answers)
    sets: dict[str, list[str]] = {}
    for held, letter in zip(rated_answers, letters, strict=True):
        sets.setdefault(letter, []).append(held.name)
    told = "; ".join(f"{letter}: {', '.join(names)}" for letter, names in sets.items())
    found = [frame.t("judges.warning.apart", sets=told)] if any(letters) else []
    asking = [trial.name for trial in runs if trial.judge is None and _asks_model(trial)]
    return found + ([frame.t("judges.warning.unprobed", judges=", ".join(asking))] if asking else [])


def _asks_model(run: ValidationRun) -> bool:
    """Whether the judge asks a model, so that probing it would cost requests."""
    kind = str(run.card.get("kind", ""))
    return kind in kinds_of_slot("judge") and issubclass(find_kind("judge", kind).load(), AskingJudge)


def _remarks(frame: JudgeReportFrame, judges: Sequence[HeldOutAnswers]) -> list[str]:
    """A sentence about the held-out answers; judges with the same split and data share a line."""
    found: dict[str, list[str]] = {}
    for held in judges:
        said = frame.t(
            "judges.held_out", split=frame.t.get(f"judges.split.{held.split}", held.split), answers=len(held),
            models=len(set(held.models)), families=len(set(held.families)),
        )  # fmt: skip
        if len(held) < FEW:
            said += " " + frame.t("judges.few_held_out", few=FEW)
        shared = held.shared_paragraphs
        if shared.get("some"):
            said += " " + frame.t("judges.shared", **shared)
        found.setdefault(said, []).append(held.name)
    return [frame.t("judges.of", aspect=", ".join(names), what=said) for said, names in found.items()]


def _plots(frame: JudgeReportFrame, answers: HeldOutAnswers, tables: Sequence[ResultTable]) -> JudgePlots:
    t = frame.t
    bins = next(sheet for sheet in tables if sheet.name.endswith("_reliability"))
    return JudgePlots(
        answers.name,
        judge_scatter(answers, t("judges.plot.scatter", judge=answers.name), t),
        reliability_chart(bins, answers.name, t("judges.plot.reliability", judge=answers.name), t),
    )


def _cards(
    frame: JudgeReportFrame, aspect: str, runs: Sequence[ValidationRun], options: _ReportOptions
) -> list[RobustnessCard]:
    spec, file = options.spec, options.file
    statements = spec.training is None or aspect in spec.training.synthetic
    cards: list[RobustnessCard] = []
    for trial in runs:
        if file is None or trial.judge is None:
            continue
        told = [row.example for row in trial.predictions]
        findings = probe_findings(trial.judge, told, file, spec.bootstrap, threshold=THRESHOLD, statements=statements)
        title = frame.t("judges.plot.robustness", judge=trial.name)
        cards.append(RobustnessCard(trial.name, findings, verdict_counts(findings), _forest(frame, findings, title)))
    return cards


def _forest(frame: JudgeReportFrame, findings: Sequence[ProbeFinding], title: str) -> Markup:
    def named(finding: ProbeFinding) -> str:
        return probe_label(frame, finding)

    return forest_chart(findings, named, title)
