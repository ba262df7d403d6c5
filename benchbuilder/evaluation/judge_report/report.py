"""The judge report: how well judges score as people do, what their scores may be used for, and how they are fooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import find, known
from benchbuilder.core.stats.constant_predictor import constant_predictor
from benchbuilder.evaluation.judge_report import PACKAGES
from benchbuilder.evaluation.judge_report import agreement_tables as measures
from benchbuilder.evaluation.judge_report import interval_tables as intervals
from benchbuilder.evaluation.judge_report import validity_tables as validity
from benchbuilder.evaluation.judge_report.bias_card import Finding, bias_card, summary
from benchbuilder.evaluation.judge_report.bias_tables import card_sheet, label
from benchbuilder.evaluation.judge_report.charts import correlations, forest, reliability_plot, scatter
from benchbuilder.evaluation.judge_report.held_out import SIDES, THRESHOLD, Frame, Held, held_rows, of_every_model
from benchbuilder.evaluation.judge_report.probe_spec import ProbesSpec, ValiditySpec, load_probes
from benchbuilder.evaluation.judge_report.published import load_published
from benchbuilder.evaluation.judge_report.section import Card, Chapter, Plots
from benchbuilder.evaluation.judge_report.write import STEM, write_files
from benchbuilder.evaluation.judge_training.model_card import FEW
from benchbuilder.evaluation.judge_training.predictions import Prediction, Trial
from benchbuilder.evaluation.judges.base import AskingJudge
from benchbuilder.evaluation.results.context import Drawn
from benchbuilder.exporters.render.i18n import Language, Wording
from benchbuilder.exporters.render.tables import Sheet


def write_report(
    trials: Sequence[Trial], spec: EvaluationSpec, folder: Path, *, language: str, probes: Path | None,
    published: Path | None, words: Language, illustrative: bool = False, stem: str = STEM,
) -> list[Path]:  # fmt: skip
    """Write ``judges.html``, ``.md``, ``.json`` and every table as CSV and LaTeX into `folder`; gives their paths.

    `language` is that of the benchmark, which the file of `probes` must be for; without one there are no bias cards.
    `words` is the language of the report. `illustrative` says that the ratings are sample data. `stem` is what
    the names of its files begin with; what an earlier report of this name left there is cleared away. DataError if
    there is no judge, or a file is wrong.
    """
    if not trials:
        raise DataError("there is no judge to report on", next="train one first: `benchbuild judge train`")
    file = load_probes(probes) if probes is not None else None
    if file is not None and file.language != language:
        raise DataError(
            f"these probes are for answers in {file.language!r}, and the benchmark is in {language!r}",
            where=str(probes), next=f"take the probes for {language!r}, or go without",
        )  # fmt: skip
    drawn: Drawn = {**spec.bootstrap.model_dump()}  # pyright: ignore[reportAssignmentType]
    numbers = file.validity if file is not None else ValiditySpec()
    frame = Frame(
        Wording(words, PACKAGES), words, drawn, numbers, load_published(published) if published is not None else None
    )
    aspects = dict.fromkeys(str(trial.card.get("aspect", "")) for trial in trials)
    given = _Given(spec, file)
    chapters = [
        _chapter(frame, aspect, [trial for trial in trials if trial.card.get("aspect", "") == aspect], given)
        for aspect in aspects
    ]
    return write_files(folder, frame, chapters, trials, language=language, illustrative=illustrative, stem=stem)


@dataclass(frozen=True)
class _Given:
    """What the report is made of besides trials."""

    spec: EvaluationSpec
    file: ProbesSpec | None


def _chapter(frame: Frame, aspect: str, trials: Sequence[Trial], given: _Given) -> Chapter:
    judges = [held_rows(trial, synthetic=False) for trial in trials]
    rated = [held for held in judges if len(held)]
    statements = [held_rows(trial, synthetic=True) for trial in trials]
    sheets, folded = _sheets(frame, aspect, trials, rated, statements)
    cards = _cards(frame, aspect, trials, given)
    found = {card.judge: card.findings for card in cards}
    return Chapter(
        aspect=aspect,
        label=frame.t.get(f"results.aspect.{aspect}", aspect),
        judges=judges,
        alarms=[*(alarm for held in judges if (alarm := _alarm(frame, held))), *_general(frame, rated, trials)],
        remarks=_remarks(frame, judges),
        overview=correlations(sheets[0], frame.t("judges.plot.overview")) if sheets else None,
        plots=[_plots(frame, held, sheets) for held in rated],
        sheets=sheets,
        folded=folded,
        cards=cards,
        bias=card_sheet(frame, aspect, found) if cards else None,
        unprobed=[trial.name for trial in trials if trial.name not in found and not _asks(trial)]
        if given.file is not None
        else [],
    )


def _sheets(
    frame: Frame, aspect: str, trials: Sequence[Trial], rated: Sequence[Held], statements: Sequence[Held]
) -> tuple[list[Sheet], frozenset[str]]:
    """The tables in their order, and the names of those behind a fold."""
    if not rated:
        return [], frozenset()
    bins = measures.reliability_sheet(frame, aspect, rated)
    people = validity.raters(frame, aspect, rated)
    test = validity.alternative(frame, aspect, rated)
    order = validity.systems(frame, aspect, [held for trial in trials if len(held := of_every_model(trial))])
    groups = [
        measures.by_group(frame, aspect, "source", rated, lambda row: row.example.source),
        measures.by_group(frame, aspect, "type", rated, lambda row: row.example.case.type),
        measures.by_group(frame, aspect, "model", rated, lambda row: row.example.model),
        _familiarity(frame, aspect, trials),
    ]
    made = [
        measures.comparison(frame, aspect, rated),
        measures.agreement(frame, aspect, rated),
        measures.casting(frame, aspect, rated),
        measures.baselines(frame, aspect, rated),
        measures.ablation(frame, aspect, rated),
        measures.calibration(frame, aspect, rated),
        bins,
        validity.ceiling(frame, aspect, rated),
        people,
        *test,
        *order,
        intervals.powered(frame, aspect, rated),
        intervals.conformal(frame, aspect, rated),
        *groups,
        measures.statements(frame, aspect, statements),
    ]
    folded = [bins, people, *test[1:], *order[1:], groups[2]]
    return [sheet for sheet in made if sheet is not None], frozenset(
        sheet.name for sheet in folded if sheet is not None
    )


def _familiarity(frame: Frame, aspect: str, trials: Sequence[Trial]) -> Sheet | None:
    """What is new to the judge in both ways against what is half known; ``None`` where nothing is left out."""
    both = [held_rows(trial, synthetic=False, sides=SIDES) for trial in trials if trial.left_out]

    def named(row: Prediction) -> str:
        return frame.t(f"judges.side.{row.side}")

    return measures.by_group(frame, aspect, "side", both, named) if both else None


def _alarm(frame: Frame, held: Held) -> str:
    if not len(held):
        return frame.t("judges.alarm.unrated", judge=held.name)
    alarm = constant_predictor(held.predicted, held.targets)
    if alarm is None:
        return ""
    flat = held.predicted.std() < 0.02
    return frame.t("judges.alarm.flat" if flat else "judges.alarm.targets", judge=held.name, sd=f"{alarm.sd:.4f}")


def _general(frame: Frame, rated: Sequence[Held], trials: Sequence[Trial]) -> list[str]:
    """That judges were not tried on the same answers, and which of them nobody tried to fool."""
    letters = measures.apart(rated)
    sets: dict[str, list[str]] = {}
    for held, letter in zip(rated, letters, strict=True):
        sets.setdefault(letter, []).append(held.name)
    told = "; ".join(f"{letter}: {', '.join(names)}" for letter, names in sets.items())
    found = [frame.t("judges.alarm.apart", sets=told)] if any(letters) else []
    asking = [trial.name for trial in trials if trial.judge is None and _asks(trial)]
    return found + ([frame.t("judges.alarm.unprobed", judges=", ".join(asking))] if asking else [])


def _asks(trial: Trial) -> bool:
    """Whether the judge is of a kind that asks a model, and so is not probed in passing."""
    kind = str(trial.card.get("kind", ""))
    return kind in known("judge") and issubclass(find("judge", kind).load(), AskingJudge)


def _remarks(frame: Frame, judges: Sequence[Held]) -> list[str]:
    """What was held out, in words; judges of the same split and data share a line."""
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


def _plots(frame: Frame, held: Held, sheets: Sequence[Sheet]) -> Plots:
    t = frame.t
    bins = next(sheet for sheet in sheets if sheet.name.endswith("_reliability"))
    return Plots(
        held.name,
        scatter(held, t("judges.plot.scatter", judge=held.name), t),
        reliability_plot(bins, held.name, t("judges.plot.reliability", judge=held.name), t),
    )


def _cards(frame: Frame, aspect: str, trials: Sequence[Trial], given: _Given) -> list[Card]:
    spec, file = given.spec, given.file
    statements = spec.training is None or aspect in spec.training.synthetic
    cards: list[Card] = []
    for trial in trials:
        if file is None or trial.judge is None:
            continue
        told = [row.example for row in trial.predictions]
        findings = bias_card(trial.judge, told, file, spec.bootstrap, threshold=THRESHOLD, statements=statements)
        title = frame.t("judges.plot.bias", judge=trial.name)
        cards.append(Card(trial.name, findings, summary(findings), _forest(frame, findings, title)))
    return cards


def _forest(frame: Frame, findings: Sequence[Finding], title: str) -> Markup:
    def named(finding: Finding) -> str:
        return label(frame, finding)

    return forest(findings, named, title)
