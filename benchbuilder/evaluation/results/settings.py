"""How models were asked: by which steps, prompts and settings, and what was not sent."""

from __future__ import annotations

from benchbuilder.evaluation.results.context import Frame
from benchbuilder.exporters.base import Finished
from benchbuilder.exporters.render.i18n import Wording
from benchbuilder.exporters.render.tables import Column, Line, Sheet, words
from benchbuilder.exporters.report.authors import Author, authors


def asked(frame: Frame, finished: Finished) -> Sheet | None:
    """The steps that put prompts to a model, with their settings; ``None`` where there is none."""
    t = frame.t
    lines = [_line(one, t) for one in authors(finished)]
    if not lines:
        return None
    return Sheet(
        name="asked",
        title=t("results.asked"),
        lead=t("results.asked_lead"),
        columns=(
            Column("step", t("common.step"), "words"),
            Column("model", t("common.model"), "words"),
            Column("prompts", t("card.models_prompts"), "words"),
            Column("settings", t("card.models_sampling"), "words"),
            Column("omitted", t("results.asked_omitted"), "words"),
        ),
        lines=tuple(lines),
    )


def _line(one: Author, t: Wording) -> Line:
    model = t("card.models_recorded", model=one.model, file=one.recorded_in) if one.recorded_in else one.model
    settings = "; ".join(f"{name} {value}" for name, value in one.settings.items()) or t("card.models_left")
    cells = (one.step, model, ", ".join(one.prompts), settings, ", ".join(one.omitted))
    return Line(tuple(words(cell) for cell in cells), "model")
