"""The judge report: agreement with human scores, valid uses of the scores, and robustness to probes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchbuilder.config import EvaluationSpec, read_kind_spec
from benchbuilder.core import (
    DEFAULT_LANGUAGE,
    DataError,
    PageTexts,
    create_from_spec,
    find_kind,
    kinds_of_slot,
    read_json,
    write_atomically,
)
from benchbuilder.evaluation.audit.findings import AuditSettings
from benchbuilder.evaluation.audit.run_checks import run_checks
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.targets import TargetChecks, TargetSubjects
from benchbuilder.evaluation.audit.views.base import ViewContext
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.evaluation.judge_report import PACKAGES
from benchbuilder.evaluation.judge_report import agreement_tables as measures
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
from benchbuilder.evaluation.judge_report.probe_spec import load_probes
from benchbuilder.evaluation.judge_report.robustness_card import (
    ProbeFinding,
    ProbeVerdict,
    probe_findings,
    probe_label,
    probe_meaning,
    robustness_table,
    verdict_counts,
)
from benchbuilder.evaluation.judge_training.model_card import FEW
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import AskingJudge
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS, table_line
from benchbuilder.evaluation.stats.agreement import check_constant_predictor
from benchbuilder.evaluation.yaml_files import read_yaml
from benchbuilder.exporters import (
    LanguageLink,
    PageSpec,
    ResultTable,
    TableCell,
    render_html,
    render_markdown,
    table_as_csv,
    table_as_data,
    table_as_latex,
    write_pages,
)

JUDGE_REPORT_SCHEMA = 1
"""Version of the data file."""
JUDGE_REPORT_STEM = "judges"
"""First part of the file names of a full report."""
_TABLE = re.compile(r"[a-z0-9_]+")
_OF_JUDGE = ("kind", "aspect", "language", "evidence", "split", "data_sha256", "rubric_sha256", "artefact_sha256")


@dataclass(frozen=True)
class JudgePlots:
    """The two plots of one judge."""

    judge: str
    scatter: Markup
    reliability: Markup


@dataclass(frozen=True)
class RobustnessCard:
    """The robustness card of one judge, with the number of probes per verdict."""

    judge: str
    findings: Sequence[ProbeFinding]
    counts: Mapping[ProbeVerdict, int]
    forest: Markup


@dataclass(frozen=True)
class AspectSection:
    """Everything about the judges of one aspect.

    `warnings` are sentences that a reader must know first. `folded` names the tables that the page hides until they are
    opened. `unprobed` are the judges without a robustness card.
    """

    aspect: str
    label: str
    judges: Sequence[HeldOutAnswers]
    warnings: Sequence[str]
    remarks: Sequence[str]
    overview: Markup | None
    plots: Sequence[JudgePlots]
    tables: Sequence[ResultTable]
    folded: frozenset[str]
    cards: Sequence[RobustnessCard]
    robustness: ResultTable | None
    unprobed: Sequence[str]

    def all_tables(self) -> list[ResultTable]:
        """All tables, the robustness cards last."""
        return [*self.tables, *([self.robustness] if self.robustness is not None else [])]


def write_judge_report_files(
    folder: Path, frame: JudgeReportFrame, sections_in: Callable[[JudgeReportFrame], Sequence[AspectSection]],
    runs: Sequence[ValidationRun], texts: Sequence[PageTexts], *, language: str, illustrative: bool,
    stem: str = JUDGE_REPORT_STEM,
) -> list[Path]:  # fmt: skip
    """Write all files of the report and return their paths; tables that only an earlier report of this `stem` had are
    removed. The page is written in each language of `texts`, all else in that of `frame`."""
    sections = sections_in(frame)

    def context(t: PageTexts) -> dict[str, Any]:
        own = replace(frame, t=t)
        chapters = sections if t.language == frame.t.language else sections_in(own)
        said = {"language": language, "illustrative": illustrative, "threshold": f"{THRESHOLD:g}", "stem": stem}
        probes = {"label": partial(probe_label, own), "meaning": partial(probe_meaning, own)}
        tables = f"{stem}_tables"
        return {"t": t, "frame": own, "chapters": chapters, "tables": tables, **said, **probes, **PAGE_FUNCTIONS}

    def page(t: PageTexts, languages: Sequence[LanguageLink]) -> str:
        return render_html("judges.html.j2", PACKAGES, languages=languages, **context(t))

    files = {
        f"{stem}.md": render_markdown("judges.md.j2", PACKAGES, **context(frame.t)),
        f"{stem}.json": _data(frame, sections, runs, language),
    }
    for chapter in sections:
        stamp = _stamp(chapter)
        for sheet in chapter.all_tables():
            files[f"{stem}_tables/{sheet.name}.csv"] = table_as_csv(sheet, stamp)
            files[f"{stem}_tables/{sheet.name}.tex"] = table_as_latex(sheet, stamp)
    for name in _written_before(folder, stem) - set(files):
        (folder / name).unlink(missing_ok=True)
    return [
        *write_pages(folder, f"{stem}.html", texts, page),
        *(write_atomically(folder / name, text) for name, text in files.items()),
    ]


def _written_before(folder: Path, stem: str) -> set[str]:
    """The tables that the last report with this stem wrote, according to its data file."""
    try:
        data: Any = read_json(folder / f"{stem}.json")
        names = [str(sheet["name"]) for aspect in data["aspects"] for sheet in aspect["tables"]]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    kept = [name for name in names if _TABLE.fullmatch(name)]
    return {f"{stem}_tables/{name}.{suffix}" for name in kept for suffix in ("csv", "tex")}


def _stamp(chapter: AspectSection) -> dict[str, str]:
    """The provenance that every line of a table names."""
    splits = dict.fromkeys(answers.split for answers in chapter.judges)
    data = dict.fromkeys(str(answers.card.get("data_sha256", ""))[:12] for answers in chapter.judges)
    return {"split": " ".join(splits), "data": " ".join(data).strip()}


def _data(
    frame: JudgeReportFrame, chapters: Sequence[AspectSection], trials: Sequence[ValidationRun], language: str
) -> str:
    data: dict[str, Any] = {
        "schema": JUDGE_REPORT_SCHEMA,
        "language": language,
        "bootstrap": dict(frame.bootstrap),
        "threshold": THRESHOLD,
        "numbers": frame.numbers.model_dump(),
        "judges": {
            trial.name: {name: trial.card[name] for name in _OF_JUDGE if name in trial.card} for trial in trials
        },
        "aspects": [
            {
                "aspect": chapter.aspect,
                "warnings": list(chapter.warnings),
                "tables": [table_as_data(sheet) for sheet in chapter.all_tables()],
                "robustness": {card.judge: list(map(_finding_data, card.findings)) for card in chapter.cards},
            }
            for chapter in chapters
        ],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _finding_data(finding: ProbeFinding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "probe": finding.name, "group": finding.probe.group, "expect": finding.probe.expect,
        "verdict": finding.verdict, "why": finding.why, "delta": vars(finding.delta), "flips": vars(finding.flips),
        "limits": {
            "delta": finding.probe.delta.model_dump(),
            "flip": finding.probe.flip.model_dump() if finding.probe.flip is not None else None,
        },
    }  # fmt: skip


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
    if any(run.card["split"] == "elsewhere" for run in runs):  # its sources there stand beside those of here
        both = [held_out_answers(run, synthetic=False, sides=("held_out", "elsewhere")) for run in runs]
        groups[0] = measures.group_table(frame, aspect, "source", both, partial(_source_of, frame))
    tables = [
        *(table(frame, aspect, rated_answers) for table in _AGREEMENT_TABLES),
        bins,
        validity.human_ceiling_table(frame, aspect, rated_answers),
        people,
        *test,
        *order,
        validity.prediction_powered_table(frame, aspect, rated_answers),
        validity.conformal_table(frame, aspect, rated_answers),
        *groups,
        _familiarity_table(frame, aspect, runs),
        measures.statement_table(frame, aspect, statements),
        pair_table(frame, aspect, runs),
    ]
    folded = [bins, people, *test[1:], *order[1:], groups[2]]
    return list(filter(None, tables)), frozenset(table.name for table in filter(None, folded))


def _source_of(frame: JudgeReportFrame, row: Prediction) -> str:
    source = row.example.source
    return f"{source} ({frame.t('judges.side.elsewhere')})" if row.side == "elsewhere" else source


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
