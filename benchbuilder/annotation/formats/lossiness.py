"""What exports lose alike: how people judge here, history, votes that nothing shown stands for."""

from __future__ import annotations

from collections.abc import Sequence

from benchbuilder.annotation.formats.models import Loss, Material, Vote


def only(values: Sequence[float | None]) -> float | None:
    """The one value that all of `values` are, or ``None``."""
    return values[0] if values and all(value == values[0] for value in values) else None


def by_task(material: Material) -> dict[str, dict[str, list[Vote]]]:
    """The votes that count on what is shown, by task and by the person's code."""
    tasks = {subject: asked.claim for subject, asked in material.asked().items()}
    found: dict[str, dict[str, list[Vote]]] = {}
    for vote in material.counting():
        if vote.subject in tasks:
            found.setdefault(tasks[vote.subject], {}).setdefault(vote.code, []).append(vote)
    return found


def about_judging(material: Material, *, hides: bool = True) -> list[Loss]:
    """Losses of tools that have no adjudication, and no thresholds; `hides` if they leave out what was not shown."""
    spec = material.project.spec
    losses = [Loss("the rule by which votes decide, gates and thresholds of the recipe")]
    if spec.rule == "adjudicate":
        losses.append(Loss("the queue of disputes, with peers that are anonymous"))
    if any(q.answer == "scalar" for q in spec.asked().values()):
        losses.append(Loss("tolerance and threshold by which numbers are in dispute"))
    if spec.suggested_seconds is not None or spec.min_seconds is not None:
        losses.append(Loss("the banner after the suggested time, and the mark of hasty work"))
    about = sum(bool(task.about) for task in material.tasks) if hides else 0
    return losses + ([Loss("what is not shown to annotators (where a task comes from)", about)] if about else [])


def about_votes(material: Material) -> list[Loss]:
    """Losses of formats that hold the votes that count, on what is shown now."""
    asked = material.asked()
    counting = material.counting()
    stale = sum(vote.subject not in asked for vote in counting)
    other = sum(one.subject not in asked for one in material.suggestions)
    doors = {vote.door for vote in counting} - {"app"}
    losses = [
        Loss("earlier votes of the same person, and votes that were taken back", len(material.votes) - len(counting)),
        Loss("votes about what is not shown or not asked any more", stale),
        Loss("suggestions about what is not shown or not asked any more", other),
        Loss("the door by which a vote came in", sum(vote.door in doors for vote in counting)),
    ]
    return [loss for loss in losses if loss.count]
