"""Says in words where the agreement on a question stands against its floor."""

from __future__ import annotations

from benchbuilder.core.stats.agreement.floors import FloorStanding
from benchbuilder.core.text.page_texts import PageTexts


def floor_word(t: PageTexts, standing: FloorStanding) -> str:
    """Its word: reached, weak, or cannot tell."""
    return t(f"labels.word.{standing.word}")


def floor_reason(t: PageTexts, standing: FloorStanding) -> str:
    """Why it is weak or cannot be told, and that AC1 counts where one answer is so frequent."""
    parts: list[str] = []
    if standing.word == "weak":
        parts = [
            t(
                "labels.below",
                measure=t(f"labels.measure.{check.measure}"),
                low=_number(check.low, check.floor),
                floor=check.floor,
            )
            for check in standing.checks
            if check.low is not None and not check.reached
        ]
    elif standing.word == "unknown":
        few = standing.judged < standing.needed
        parts = [t("labels.few", n=standing.judged, needed=standing.needed) if few else t("labels.no_interval")]
    if standing.one_sided and standing.word != "unknown":
        parts.append(t("labels.one_sided", share=f"{(standing.base_rate or 0) * 100:.1f} %"))
    return t("labels.semicolon").join(parts)


def _number(value: float, floor: float) -> str:
    """A value below `floor`, with as many digits as show that it is."""
    digits = next((n for n in (2, 3) if round(value, n) < floor), 4)
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def floor_lead(t: PageTexts, alpha: float | None, raw: float | None) -> str:
    """What the floor is, and what its words mean."""
    named = [("alpha", alpha), ("raw", raw)]
    floors = [t(f"labels.floor_{name}", value=value) for name, value in named if value is not None]
    return t("labels.floor_lead", floors=t("labels.and").join(floors))
