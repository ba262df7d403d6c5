"""How models were asked: steps, prompts and settings, and settings that were not sent."""

from __future__ import annotations

from benchbuilder.evaluation.results.context import ResultsFrame
from benchbuilder.exporters import (
    FinishedBuild,
    PromptingStep,
    ReportTexts,
    ResultTable,
    TableColumn,
    TableLine,
    prompting_steps,
    text_cell,
)


def settings_table(frame: ResultsFrame, finished: FinishedBuild) -> ResultTable | None:
    """The steps that prompt a model, with their settings; ``None`` if there are none."""
    t = frame.t
    lines = [_line(one, t) for one in prompting_steps(finished)]
    if not lines:
        return None
    return ResultTable(
        name="settings",
        title=t("results.settings"),
        introduction=t("results.settings_lead"),
        columns=(
            TableColumn("step", t("common.step"), "words"),
            TableColumn("model", t("common.model"), "words"),
            TableColumn("prompts", t("card.models_prompts"), "words"),
            TableColumn("settings", t("card.models_sampling"), "words"),
            TableColumn("omitted", t("results.settings_omitted"), "words"),
        ),
        lines=tuple(lines),
    )


def _line(step: PromptingStep, t: ReportTexts) -> TableLine:
    model = t("card.models_recorded", model=step.model, file=step.recorded_in) if step.recorded_in else step.model
    settings = "; ".join(f"{name} {value}" for name, value in step.settings.items()) or t("card.models_left")
    cells = (step.step, model, ", ".join(step.prompts), settings, ", ".join(step.omitted))
    return TableLine(tuple(text_cell(cell) for cell in cells), "model")
