"""Accounting of an evaluation: how models were asked, outcomes of answers, coverage of scores, and cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from benchbuilder.core import PageTexts
from benchbuilder.evaluation.benchmark import BENCHMARK
from benchbuilder.evaluation.published import recipe_published_results
from benchbuilder.evaluation.results.columns import ItemScores
from benchbuilder.evaluation.results.context import ResultsFrame, table_line
from benchbuilder.evaluation.results.run import VERDICT, WITHOUT_VERDICT, EvaluatedSystem, EvaluationRun
from benchbuilder.evaluation.solvers import ANSWER
from benchbuilder.evaluation.steps.press import PRESSED
from benchbuilder.exporters import (
    FinishedBuild,
    PromptingStep,
    ResultTable,
    StepCounts,
    TableCell,
    TableColumn,
    TableLine,
    prompting_steps,
)
from benchbuilder.models import Receipt

_MANY_CUT, _MANY_WITHOUT = 0.05, 0.1
"""From these proportions on, a reader must know before the figures that answers were cut off, or have no verdict."""
OUTCOMES = ("complete", "truncated", "thought_out", "empty", "refused", "filtered", "missing")


def outcome_table(frame: ResultsFrame) -> ResultTable:
    """The number of answers per outcome, and their median length."""
    run, t = frame.run, frame.t
    lines: list[TableLine] = []
    thought = any("thought_out" in answers.outcomes for answers in run.answers.values())
    shown = [name for name in OUTCOMES if thought or name != "thought_out"]
    for system in run.systems:
        seen, lengths = Counter[str](), list[int]()
        if (answers := run.answers.get(system.name)) is not None:
            seen = Counter(answers.outcomes)
            lengths = answers.lengths[~answers.outcomes.among(("", "missing"))].tolist()
        counts = [seen[name] for name in shown]
        lines.append(frame.line(system, len(lengths), *counts, float(median(lengths)) if lengths else None))
    outcomes = " ".join(f"{name}:count=outcome.{name}" for name in shown[:-1])
    columns = (
        f"model:words=common.model answers:count=results.answers {outcomes} missing:count=results.not_given "
        "length:count=results.length"
    )
    return frame.table("answers", t("results.outcomes"), columns, lines, lead=t("results.outcomes_lead"))


def coverage_table(frame: ResultsFrame) -> ResultTable:
    """The number of answers that have a value, by measure."""
    run, t = frame.run, frame.t
    lines: list[TableLine] = []
    for system in run.systems:
        parts = (run.scores[measure].get(system.name) for measure in run.measures)
        lines.append(frame.line(system, *(0 if scores is None else _valued(run, system, scores) for scores in parts)))
    columns = (
        TableColumn("model", t("common.model"), "words"),
        *(TableColumn(measure.slug, frame.measure_label(measure), "count") for measure in run.measures),
    )
    return ResultTable("scored", t("results.scored"), columns, tuple(lines), t("results.scored_lead"))


def _valued(run: EvaluationRun, system: EvaluatedSystem, scores: ItemScores) -> int:
    """How many answers of a system have a value."""
    return int((scores.has_value & run.answered(system.name, scores.places)).sum())


def unscored_table(frame: ResultsFrame, finished: FinishedBuild) -> ResultTable | None:
    """The reasons for missing scores, by scorer; ``None`` if no score is missing."""
    t = frame.t
    losses: Counter[tuple[str, str, str]] = Counter()
    sentences: dict[tuple[str, str], str] = {}
    for account in finished.step_counts:
        scorer = account.step.partition(".")[0]
        if scorer.startswith(PRESSED):  # a part of what the section on pressure says
            continue
        for (outcome, reason), n in _losses(account).items():
            losses[scorer, outcome, reason] += n
            sentences[scorer, reason] = account.reasons.get(reason, "")
    if not losses:
        return None
    columns = (
        "step:words=common.step outcome:words=results.outcome reason:words=common.reason "
        "meaning:words=common.meaning n:count=results.answers"
    )
    lines = [
        table_line(scorer, t(f"results.outcome_{outcome}"), reason, sentences[scorer, reason], n)
        for (scorer, outcome, reason), n in sorted(losses.items())
    ]
    return frame.table("unscored", t("results.unscored"), columns, lines, keys=3)


def _losses(account: StepCounts) -> Counter[tuple[str, str]]:
    losses: Counter[tuple[str, str]] = Counter()
    for (_, outcome, reason), n in account.counts.items():
        if account.role in ("answer", "score") and outcome != "kept" and n:
            losses[outcome, reason] += n
    return losses


def unasked_items_note(frame: ResultsFrame, finished: FinishedBuild) -> str:
    """A note on items that are not asked, as one question of each family is; empty if every item is asked."""
    account = next((counts for counts in finished.step_counts if counts.step == finished.items), None)
    lost = 0 if account is None else sum(n for (_, outcome, _), n in account.counts.items() if outcome == "dropped")
    if account is None or not account.inputs or not lost:
        return ""
    return frame.t("results.one_of_family", n=account.rows, items=account.rows + lost)


def misleading_answers(
    t: PageTexts, name: str, *, answers: int, cut: int, limit: int | None, asked: int, without: int
) -> list[str]:
    """Sentences on answers of a model that make its figures mislead, if they are many: they belong above the figures.

    Args:
        t: The texts of the page.
        name: The name of the model to show.
        answers: The number of its answers.
        cut: How many of them reached the limit of new tokens.
        limit: The limit in tokens; None if the service sets it.
        asked: The number of its answers to true/false questions.
        without: How many of these have no verdict: invalid, abstained, refused, empty or filtered.
    """
    found: list[str] = []
    if cut > _MANY_CUT * answers:
        reached = t("results.cut_off_anywhere") if limit is None else t("results.cut_off_at", n=limit)
        found.append(t("results.cut_off", model=name, n=cut, answers=answers, limit=reached))
    if without > _MANY_WITHOUT * asked:
        found.append(t("results.without_verdict", model=name, n=without, asked=asked))
    return found


def misleading_answers_notes(frame: ResultsFrame, finished: FinishedBuild) -> list[str]:
    """`misleading_answers` of each model of a run."""
    limits = {step.step: step.settings.get("max_new_tokens") for step in prompting_steps(finished)}
    notes: list[str] = []
    for name in frame.run.system_names("model"):
        rows = frame.run.answers.get(name)
        outcomes = Counter(() if rows is None else rows.outcomes)
        verdicts = [
            scores.labels
            for measure in frame.run.measures
            if measure.aspect == VERDICT and (scores := frame.run.scores[measure].get(name)) is not None
        ]
        limit: Any = limits.get(f"{ANSWER}.{name}")
        notes += misleading_answers(
            frame.t,
            next(system.display_name for system in frame.run.systems if system.name == name),
            answers=outcomes.total() - outcomes[""] - outcomes["missing"],
            cut=outcomes["truncated"],
            limit=limit,
            asked=sum(len(labels.codes) for labels in verdicts),
            without=sum(int(labels.among(WITHOUT_VERDICT).sum()) for labels in verdicts),
        )
    return notes


def unused_rows_note(frame: ResultsFrame, finished: FinishedBuild) -> str:
    """A note on rows of the benchmark that did not become items, with reasons; empty if there are none."""
    account = _account_of_benchmark(finished)
    lost: Counter[str] = Counter()
    for (_, outcome, reason), n in account.units.items() if account else ():
        if outcome in ("dropped", "failed"):
            lost[reason] += n
    if account is None or not lost.total():
        return ""
    reasons = [
        f"{account.reasons.get(reason, '').rstrip('.') or reason} ({n:,})"
        for reason, n in sorted(lost.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return frame.t("results.unused", n=lost.total(), rows=_rows_read(account), reasons="; ".join(reasons))


def published_elsewhere_note(frame: ResultsFrame, finished: FinishedBuild) -> str:
    """A note that published figures are left out: a benchmark was given that has another number of rows than theirs."""
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    published, account = recipe_published_results(evaluation), _account_of_benchmark(finished)
    if published is None or account is None or not evaluation.get("benchmark"):
        return ""
    if (rows := _rows_read(account)) == published.items:
        return ""
    return frame.t("results.published_elsewhere", title=published.title, items=published.items, rows=rows)


def _account_of_benchmark(finished: FinishedBuild) -> StepCounts | None:
    return next((counts for counts in finished.step_counts if counts.step == BENCHMARK), None)


def _rows_read(account: StepCounts) -> int:
    return sum(n for (_, outcome, _), n in account.units.items() if outcome in ("kept", "dropped", "failed"))


def cost_table(frame: ResultsFrame, finished: FinishedBuild) -> ResultTable | None:
    """The cost of each model's answers and of scoring them; ``None`` if no model was asked."""
    run, t = frame.run, frame.t
    answering: defaultdict[str, list[Receipt]] = defaultdict(list)
    scoring: defaultdict[str, list[Receipt]] = defaultdict(list)
    for receipt in finished.receipts:
        table = finished.tables.get(receipt.step)
        role = table.row.name if table else "answer" if receipt.step.startswith("answer.") else "score"
        name = run.step_models.get(receipt.step, receipt.step.rpartition(".")[2])
        (answering if role == "answer" else scoring)[name].append(receipt)
    names = [system.name for system in run.systems if system.name in answering or system.name in scoring]
    names += sorted((answering.keys() | scoring.keys()) - set(names))
    if not names:
        return None
    lines = [line for name in names for line in _cost_lines(frame, name, answering[name], scoring[name])]
    if len(lines) > 1:
        totals = [_total(line.cells[place] for line in lines) for place in range(2, 9)]
        lines.append(table_line(t("common.total"), "", *totals, None, group="total", block="reference"))
    dates = sorted({receipt.prices_as_of for receipt in finished.receipts if receipt.prices_as_of})
    columns = (
        "model:words=common.model answering_model:words=results.answering_model replies:count=report.models_replies "
        "tokens_in:count=report.models_in tokens_out:count=report.models_out tokens_thinking:count=results.thinking "
        "usd_answers:usd=results.usd_answers usd_scores:usd=results.usd_scores usd:usd=results.usd "
        "usd_per_100:usd=results.usd_per_100"
    )
    notes = [t("report.models_prices", date=date) for date in dates]
    thinking = [receipt for receipts in answering.values() for receipt in receipts if receipt.reasoning_tokens]
    if any(receipt.reasoning_estimated for receipt in thinking):
        notes.append(t("results.thinking_estimated"))
    if not thinking:  # a column of zeros says nothing
        columns = columns.replace("tokens_thinking:count=results.thinking ", "")
        lines = [replace(line, cells=line.cells[:5] + line.cells[6:]) for line in lines]
    return frame.table("costs", t("results.costs"), columns, lines, lead=t("results.costs_lead"), notes=notes)


def _cost_lines(frame: ResultsFrame, name: str, answers: list[Receipt], scores: list[Receipt]) -> Iterator[TableLine]:
    """A line for each model that answered as `name`, with its address if two share a name; scores are in the first."""
    models: dict[tuple[str, str], list[Receipt]] = {}
    for receipt in answers:
        models.setdefault((receipt.model, receipt.endpoint), []).append(receipt)
    names = Counter(model for model, _ in models)
    for (model, endpoint), group in models.items() or [(("", ""), [])]:
        shown = f"{model} ({endpoint})" if names[model] > 1 and endpoint else model
        yield _cost_line(frame, name, shown, (group, scores))
        scores = []


def _cost_line(frame: ResultsFrame, name: str, model: str, receipts: tuple[list[Receipt], list[Receipt]]) -> TableLine:
    answers, scores = receipts
    answered, scored = _usd(frame, answers), _usd(frame, scores)
    whole = _total([answered, scored])
    replies = sum(receipt.calls for receipt in answers)
    hundred = answered.value / replies * 100 if answered.value is not None and replies else None
    tokens_in = sum(receipt.prompt_tokens for receipt in answers)
    tokens_out = sum(receipt.completion_tokens for receipt in answers)
    thought = sum(receipt.reasoning_tokens for receipt in answers)
    return table_line(name, model, replies, tokens_in, tokens_out, thought, answered, scored, whole, hundred)


def _usd(frame: ResultsFrame, receipts: list[Receipt]) -> TableCell:
    known = [receipt.usd for receipt in receipts if receipt.usd is not None]
    if len(known) < len(receipts):
        return TableCell(why=frame.t("report.models_no_price"))
    return TableCell(sum(known))


def _total(cells: Iterable[TableCell]) -> TableCell:
    """The sum; missing if one of the summands is missing."""
    summands = list(cells)
    unknown = next((cell for cell in summands if cell.value is None), None)
    return unknown if unknown is not None else TableCell(sum(cell.value or 0.0 for cell in summands))


def settings_table(frame: ResultsFrame, finished: FinishedBuild) -> ResultTable | None:
    """The steps that prompt a model, with their settings; ``None`` if there are none."""
    t = frame.t
    lines = [_line(step, t) for step in prompting_steps(finished)]
    if not lines:
        return None
    columns = (
        "step:words=common.step model:words=common.model prompts:words=card.models_prompts "
        "settings:words=card.models_sampling omitted:words=results.settings_omitted"
    )
    return frame.table("settings", t("results.settings"), columns, lines, lead=t("results.settings_lead"))


def _line(step: PromptingStep, t: PageTexts) -> TableLine:
    model = t("card.models_recorded", model=step.model, file=step.recorded_in) if step.recorded_in else step.model
    if step.answered_by not in ((), (step.model,)):
        model = t("results.settings_answered", model=model, names=", ".join(step.answered_by))
    settings = "; ".join(f"{name} {value}" for name, value in step.settings.items()) or t("card.models_left")
    return table_line(step.step, model, ", ".join(step.prompts), settings, ", ".join(step.omitted), group="model")
