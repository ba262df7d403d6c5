"""What exports lose alike: how people judge here, history, votes that nothing shown stands for."""

from __future__ import annotations

from collections.abc import Sequence

from benchbuilder.annotation.formats.models import ExportInput, ExportLoss, VoteRecord


def single_value(values: Sequence[float | None]) -> float | None:
    """The one value that all of `values` are, or ``None``."""
    return values[0] if values and all(value == values[0] for value in values) else None


def votes_by_task(export: ExportInput) -> dict[str, dict[str, list[VoteRecord]]]:
    """The votes that count on what is shown, by task and by the person's code."""
    tasks = {subject: asked.task_key for subject, asked in export.judgement_requests().items()}
    found: dict[str, dict[str, list[VoteRecord]]] = {}
    for vote in export.counting_votes():
        if vote.subject in tasks:
            found.setdefault(tasks[vote.subject], {}).setdefault(vote.code, []).append(vote)
    return found


def judging_losses(export: ExportInput, *, hides_metadata: bool = True) -> list[ExportLoss]:
    """Losses of tools that have no adjudication, and no thresholds; `hides_metadata` if they leave out what was not shown."""
    spec = export.project.spec
    losses = [ExportLoss("the rule by which votes decide, gates and thresholds of the recipe")]
    if spec.rule == "adjudicate":
        losses.append(ExportLoss("the queue of disputes, with peers that are anonymous"))
    if any(q.answer == "scalar" for q in spec.questions_about().values()):
        losses.append(ExportLoss("tolerance and threshold by which numbers are in dispute"))
    if spec.suggested_seconds is not None or spec.min_seconds is not None:
        losses.append(ExportLoss("the banner after the suggested time, and the mark of hasty work"))
    about = sum(bool(task.about) for task in export.tasks) if hides_metadata else 0
    return losses + ([ExportLoss("what is not shown to annotators (where a task comes from)", about)] if about else [])


def vote_losses(export: ExportInput) -> list[ExportLoss]:
    """Losses of formats that hold the votes that count, on what is shown now."""
    asked = export.judgement_requests()
    counting = export.counting_votes()
    stale = sum(vote.subject not in asked for vote in counting)
    other = sum(one.subject not in asked for one in export.suggestions)
    losses = [
        ExportLoss(
            "earlier votes of the same person, and votes that were taken back", len(export.votes) - len(counting)
        ),
        ExportLoss("votes about what is not shown or not asked any more", stale),
        ExportLoss("suggestions about what is not shown or not asked any more", other),
        ExportLoss("the channel of votes that were imported", sum(vote.channel != "app" for vote in counting)),
    ]
    return [loss for loss in losses if loss.count]
