"""The part of the page that says how many items show which difference."""

from __future__ import annotations

from benchbuilder.evaluation.analysis.page.parts import AnalysisFrame, AnalysisPart
from benchbuilder.evaluation.analysis.plan import PlanRequest, plan_items

_DIFFERENCES = (0.01, 0.02, 0.03, 0.05, 0.1)


def plan_part(frame: AnalysisFrame) -> AnalysisPart | None:
    """How many items and families show differences of some sizes, estimated from these answers."""
    t, models = frame.t, frame.models
    level = frame.analysis.loaded.recipe.analysis.level
    plans = [plan_items(PlanRequest(size, level=level), models.items.families, models) for size in _DIFFERENCES]
    first = plans[0]
    if not first.estimated:
        return None
    said = [
        t("analysis.page.plan_present", n=first.present, families=models.family_count,
          points=t.number(first.visible * 100)),
        t("analysis.page.plan_basis", mean=t.percent(first.mean), correlation=f"{first.correlation:.2f}",
          likeness=f"{first.likeness:.2f}"),
    ]  # fmt: skip
    lines = [
        (t("analysis.page.points", n=round(plan.request.difference * 100)), plan.items, plan.families) for plan in plans
    ]
    table = frame.table(
        "item_plan", t("analysis.page.plan_table"), "difference:words=analysis.page.difference "
        "items:count=analysis.page.items_needed families:count=analysis.page.families_needed", lines,
    )  # fmt: skip
    return AnalysisPart("plan", t("analysis.page.plan"), t("analysis.page.plan_lead"), said, (), [table])
