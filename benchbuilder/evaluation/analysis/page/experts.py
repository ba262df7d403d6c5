"""The items that go back to experts and the wrong answers that attract, with their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchbuilder.core import Item, split_characters
from benchbuilder.evaluation.analysis.item_sections import ItemsForExperts, WrongAnswerTable
from benchbuilder.evaluation.analysis.page.parts import AnalysisFigure, AnalysisFrame, AnalysisPart
from benchbuilder.exporters import ChartDot, ChartRow, ReportEntry, entry_of, row_chart, visible_text

MOST_ITEMS = 40
"""So many items are shown in full; the file of items to send back holds all."""
_MOST_ATTRACTING = 20
_EVIDENCE, _LONGEST, _SHORT = 3, 600, 90


@dataclass(frozen=True)
class ReturnedItem:
    """An item that goes back: its place in the list, its texts, and why it goes back."""

    place: int
    entry: ReportEntry
    difficulty: float
    item_rest: float
    why: tuple[str, ...]

    @property
    def short(self) -> str:
        """The beginning of its question."""
        return shortened(visible_text(self.entry.question), _SHORT)


@dataclass(frozen=True)
class AttractingAnswer:
    """A wrong answer that attracts: its number in the chart, its item, its text, and what models say of it."""

    place: int
    entry: ReportEntry
    text: str
    said: str


def shortened(text: str, most: int) -> str:
    """`text` with an ellipsis after `most` characters.

    >>> shortened("abcdef", 4)
    'abcd…'
    """
    kept = split_characters(text[: most * 4])
    return text if len(text) <= most or len(kept) <= most else f"{''.join(kept[:most])}…"


def page_entry(row: Item[Any]) -> ReportEntry:
    """An item with its texts, of which the page shows the beginning: a source may hold a whole book."""
    entry = entry_of(row)
    evidence = tuple(
        one.model_copy(update={"text": shortened(one.text, _LONGEST)}) for one in entry.evidence[:_EVIDENCE]
    )
    cells = {name: shortened(text, _LONGEST) for name, text in entry.cells.items()}
    return replace(entry, cells=cells, evidence=evidence)


def entries(frame: AnalysisFrame, ids: Sequence[str]) -> Mapping[str, ReportEntry]:
    """The entries of items, by id."""
    return {row.id: page_entry(row) for row in frame.analysis.rows.find(ids)}


def returned_items(frame: AnalysisFrame) -> list[ReturnedItem]:
    """The first items that go back, the most suspicious first."""
    found, t = frame.analysis.section(ItemsForExperts), frame.t
    ids = found.ids[:MOST_ITEMS].tolist()
    known = entries(frame, ids)
    returned: list[ReturnedItem] = []
    for place, name in enumerate(ids):
        miss, rest, mean = (float(values[place]) for values in (found.best_miss, found.item_rest, found.difficulty))
        key = "unknown" if np.isnan(rest) else "against" if rest < 0 else "with"
        why = (
            t("analysis.page.why_miss", share=t.percent(miss)),
            t("analysis.page.why_mean", share=t.percent(mean), n=int(found.n[place])),
            t(f"analysis.page.why_rest_{key}", r=f"{rest:.2f}".replace("-", "\N{MINUS SIGN}")),
        )
        returned.append(ReturnedItem(place + 1, known[name], mean, rest, why))
    return returned


def experts_part(frame: AnalysisFrame, shown: int) -> AnalysisPart | None:
    """What stands above the items that go back; `shown` of them are on the page."""
    t, found = frame.t, frame.analysis.section(ItemsForExperts)
    if not shown:
        return None
    said = [*found.sentences(t)]
    if len(found.ids) > shown:
        said.append(t("analysis.page.experts_shown", n=shown))
    return AnalysisPart("experts", t("analysis.page.experts"), t("analysis.page.experts_lead"), said)


def _attracting(found: WrongAnswerTable) -> list[int]:
    """The places of wrong answers that attract, those said most often first."""
    places = np.flatnonzero(found.attracts & ~found.weak)
    return places[np.argsort(-(found.said - found.right)[places], kind="stable")].tolist()


def attracting_answers(frame: AnalysisFrame) -> list[AttractingAnswer]:
    """The wrong answers that attract most, with their texts."""
    found, t = frame.analysis.section(WrongAnswerTable), frame.t
    places = _attracting(found)[:_MOST_ATTRACTING]
    known = entries(frame, found.ids[places].tolist())
    answers: list[AttractingAnswer] = []
    for number, place in enumerate(places, 1):
        entry = known[found.ids[place]]
        said = t("analysis.page.said_wrong", wrong=t.percent(float(found.said[place])),
                 right=t.percent(float(found.right[place])), n=int(found.n[place]))  # fmt: skip
        text = found.texts[place] or _option(entry, str(found.options[place]))
        answers.append(AttractingAnswer(number, entry, shortened(text, _LONGEST), said))
    return answers


def _option(entry: ReportEntry, key: str) -> str:
    """The option with its text."""
    options: Any = getattr(getattr(entry.row, "payload", None), "options", None) or ()
    return next((f"{key}. {option.text}" for option in options if option.key == key), key)


def wrong_answers_part(frame: AnalysisFrame) -> AnalysisPart:
    """How often models say the wrong answers that attract, and the right ones."""
    t, found = frame.t, frame.analysis.section(WrongAnswerTable)
    title, places = t("analysis.page.wrong_answers"), _attracting(found)
    if found.why is not None or not places:
        return AnalysisPart("wrong-answers", title, sentences=found.sentences(t))
    rows = [
        ChartRow(str(number), [ChartDot(float(found.said[place]), None, None, "c5"),
                               ChartDot(float(found.right[place]), None, None, "c2")])
        for number, place in enumerate(places[:_MOST_ATTRACTING], 1)
    ]  # fmt: skip
    heading = t("analysis.page.attracting_chart")
    ticks = {part / 4: f"{part * 25} %" for part in range(5)}
    figure = AnalysisFigure(
        heading,
        row_chart(rows, heading, ticks, margin=18, label=20.0),
        frame.caption(found.items, frame.models.families_of(found.ids), len(frame.models.systems)),
        legend=(("c5", t("analysis.page.says_wrong")), ("c2", t("analysis.page.says_right"))),
    )
    return AnalysisPart("wrong-answers", title, t("analysis.page.wrong_answers_lead"), found.sentences(t), [figure])
