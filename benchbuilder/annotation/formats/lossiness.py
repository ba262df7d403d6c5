"""Losses that several exports share: the settings of annotation, the history, and stale votes."""

from __future__ import annotations

from collections.abc import Sequence

from benchbuilder.annotation.formats.models import ExportInput, ExportLoss, VoteRecord


def single_value(values: Sequence[float | None]) -> float | None:
    """The value that all `values` have, or ``None``."""
    return values[0] if values and all(value == values[0] for value in values) else None


def votes_by_task(export: ExportInput) -> dict[str, dict[str, list[VoteRecord]]]:
    """The votes that count on current tasks, by task and by the person's code."""
    tasks = {subject: asked.task_key for subject, asked in export.judgement_requests().items()}
    found: dict[str, dict[str, list[VoteRecord]]] = {}
    for vote in export.counting_votes():
        if vote.subject in tasks:
            found.setdefault(tasks[vote.subject], {}).setdefault(vote.code, []).append(vote)
    return found


def judging_losses(export: ExportInput, *, hides_metadata: bool = True) -> list[ExportLoss]:
    """Losses of tools without adjudication and thresholds; `hides_metadata` if they omit what is not shown."""
    spec = export.project.spec
    losses = [ExportLoss("the aggregation rule, gates and thresholds of the recipe")]
    if spec.rule == "adjudicate":
        losses.append(ExportLoss("the queue of disputes with anonymous peers"))
    if any(q.answer == "scalar" for q in spec.questions_about().values()):
        losses.append(ExportLoss("tolerance and threshold for disputes about numbers"))
    if spec.suggested_seconds is not None or spec.min_seconds is not None:
        losses.append(ExportLoss("the banner after the suggested time, and the mark of too fast work"))
    about = sum(bool(task.about) for task in export.tasks) if hides_metadata else 0
    return losses + (
        [ExportLoss("metadata that annotators do not see (such as the source of a task)", about)] if about else []
    )


def vote_losses(export: ExportInput) -> list[ExportLoss]:
    """Losses of formats that hold only votes that count on current tasks."""
    asked = export.judgement_requests()
    counting = export.counting_votes()
    stale = sum(vote.subject not in asked for vote in counting)
    other = sum(one.subject not in asked for one in export.suggestions)
    losses = [
        ExportLoss("earlier votes of the same person, and withdrawn votes", len(export.votes) - len(counting)),
        ExportLoss("votes on texts or questions that are no longer asked", stale),
        ExportLoss("suggestions on texts or questions that are no longer asked", other),
        ExportLoss("the channel of votes that were imported", sum(vote.channel != "app" for vote in counting)),
    ]
    return [loss for loss in losses if loss.count]
