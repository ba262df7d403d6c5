"""The books of an evaluation: what became of the answers, what was scored, what it cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median

from benchbuilder.evaluation.results.context import Frame
from benchbuilder.evaluation.results.run import Measure
from benchbuilder.exporters.base import Finished, StepAccount
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, count, words
from benchbuilder.models.base import Receipt

OUTCOMES = ("complete", "truncated", "empty", "refused", "filtered", "missing")


def outcomes(frame: Frame) -> Sheet:
    """How many answers there are of each outcome, and how long they are."""
    run, t = frame.run, frame.t
    lines: list[Line] = []
    for one in run.contenders:
        said = run.answers.get(one.name, {})
        seen = Counter(answer.outcome for answer in said.values())
        lengths = [len(answer.text) for answer in said.values() if answer.outcome != "missing"]
        middle = Cell(float(median(lengths))) if lengths else Cell()
        cells = [count(seen[name]) for name in OUTCOMES]
        lines.append(frame.line(one, count(len(said) - seen["missing"]), *cells, middle))
    return Sheet(
        name="answers",
        title=t("results.outcomes"),
        lead=t("results.outcomes_lead"),
        columns=(
            Column("model", t("common.model"), "words"),
            Column("answers", t("results.answers"), "count"),
            *(Column(name, t(f"outcome.{name}"), "count") for name in OUTCOMES[:-1]),
            Column("missing", t("results.not_given"), "count"),
            Column("length", t("results.length"), "count"),
        ),
        lines=tuple(lines),
    )


def coverage(frame: Frame) -> Sheet:
    """How many answers each measure has a value for."""
    run, t = frame.run, frame.t
    lines = [
        frame.line(one, *(_valued(frame, measure, one.name) for measure in run.measures)) for one in run.contenders
    ]
    return Sheet(
        name="scored",
        title=t("results.scored"),
        lead=t("results.scored_lead"),
        columns=(
            Column("model", t("common.model"), "words"),
            *(Column(measure.slug, frame.title(measure), "count") for measure in run.measures),
        ),
        lines=tuple(lines),
    )


def _valued(frame: Frame, measure: Measure, model: str) -> Cell:
    given = frame.run.scores[measure].get(model, {})
    return count(sum(one.value is not None and frame.run.given(model, item) for item, one in given.items()))


def unscored(frame: Frame, finished: Finished) -> Sheet | None:
    """Why answers have no score, by scorer; ``None`` where every one has."""
    t = frame.t
    seen: Counter[tuple[str, str, str]] = Counter()
    sentences: dict[tuple[str, str], str] = {}
    for account in finished.accounts:
        scorer = account.step.partition(".")[0]
        for (fate, reason), n in _losses(account).items():
            seen[scorer, fate, reason] += n
            sentences[scorer, reason] = account.reasons.get(reason, "")
    if not seen:
        return None
    return Sheet(
        name="unscored",
        title=t("results.unscored"),
        columns=(
            Column("step", t("common.step"), "words"),
            Column("fate", t("results.fate"), "words"),
            Column("reason", t("common.reason"), "words"),
            Column("meaning", t("common.meaning"), "words"),
            Column("n", t("results.answers"), "count"),
        ),
        lines=tuple(
            Line((words(scorer), words(t(f"results.fate_{fate}")), words(reason), words(sentences[scorer, reason]),
                  count(n)))
            for (scorer, fate, reason), n in sorted(seen.items())
        ),
        keys=3,
    )  # fmt: skip


def _losses(account: StepAccount) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for (_, fate, reason), n in account.counts.items():
        if account.role in ("answer", "score") and fate != "kept" and n:
            found[fate, reason] += n
    return found


def unused(frame: Frame, finished: Finished) -> str:
    """What is said of rows of the benchmark that became no items, with the reasons; nothing where all did."""
    account = next((one for one in finished.accounts if one.step == finished.items), None)
    if account is None:
        return ""
    lost: Counter[str] = Counter()
    for (_, fate, reason), n in account.units.items():
        if fate in ("dropped", "failed"):
            lost[reason] += n
    if not lost.total():
        return ""
    rows = sum(n for (_, fate, _), n in account.units.items() if fate in ("kept", "dropped", "failed"))
    told = [
        f"{account.reasons.get(reason, '').rstrip('.') or reason} ({n:,})"
        for reason, n in sorted(lost.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return frame.t("results.unused", n=lost.total(), rows=rows, reasons="; ".join(told))


def costs(frame: Frame, finished: Finished) -> Sheet | None:
    """What the answers of each model cost, and what it cost to have them scored; ``None`` where nobody was asked."""
    run, t = frame.run, frame.t
    answering: defaultdict[str, list[Receipt]] = defaultdict(list)
    scoring: defaultdict[str, list[Receipt]] = defaultdict(list)
    for receipt in finished.receipts:
        table = finished.tables.get(receipt.step)
        role = table.row.name if table else "answer" if receipt.step.startswith("answer.") else "score"
        name = run.step_models.get(receipt.step, receipt.step.rpartition(".")[2])
        (answering if role == "answer" else scoring)[name].append(receipt)
    names = [one.name for one in run.contenders if one.name in answering or one.name in scoring]
    names += sorted((answering.keys() | scoring.keys()) - set(names))
    if not names:
        return None
    lines = [_cost_line(frame, name, answering[name], scoring[name]) for name in names]
    if len(lines) > 1:
        totals = [_total(line.cells[place] for line in lines) for place in range(2, 8)]
        lines.append(Line((words(t("common.total")), words(""), *totals, Cell()), "total", block="reference"))
    dates = sorted({receipt.prices_as_of for receipt in finished.receipts if receipt.prices_as_of})
    return Sheet(
        name="costs",
        title=t("results.costs"),
        lead=t("results.costs_lead"),
        columns=(
            Column("model", t("common.model"), "words"),
            Column("asked", t("results.asked_model"), "words"),
            Column("replies", t("report.models_replies"), "count"),
            Column("tokens_in", t("report.models_in"), "count"),
            Column("tokens_out", t("report.models_out"), "count"),
            Column("usd_answers", t("results.usd_answers"), "usd"),
            Column("usd_scores", t("results.usd_scores"), "usd"),
            Column("usd", t("results.usd"), "usd"),
            Column("usd_per_100", t("results.usd_per_100"), "usd"),
        ),
        lines=tuple(lines),
        notes=tuple(t("report.models_prices", date=date) for date in dates),
    )


def _cost_line(frame: Frame, name: str, answers: list[Receipt], scores: list[Receipt]) -> Line:
    answered, scored = _usd(frame, answers), _usd(frame, scores)
    whole = _total([answered, scored])
    replies = sum(receipt.calls for receipt in answers)
    hundred = Cell(answered.value / replies * 100) if answered.value is not None and replies else Cell()
    return Line((
        words(name), words(", ".join(dict.fromkeys(receipt.model for receipt in answers))), count(replies),
        count(sum(receipt.prompt_tokens for receipt in answers)),
        count(sum(receipt.completion_tokens for receipt in answers)), answered, scored, whole, hundred,
    ))  # fmt: skip


def _usd(frame: Frame, receipts: list[Receipt]) -> Cell:
    known = [receipt.usd for receipt in receipts if receipt.usd is not None]
    if len(known) < len(receipts):
        return Cell(why=frame.t("report.models_no_price"))
    return Cell(sum(known))


def _total(cells: Iterable[Cell]) -> Cell:
    """The sum; nothing where one of the summands is not known."""
    found = list(cells)
    unknown = next((cell for cell in found if cell.value is None), None)
    return unknown if unknown is not None else Cell(sum(cell.value or 0.0 for cell in found))
