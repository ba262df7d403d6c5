"""What every part of the page is, and what all parts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.evaluation.analysis.answered import AnsweredItems
from benchbuilder.evaluation.analysis.run import Analysis
from benchbuilder.evaluation.results.context import CellValue, table_columns, table_line
from benchbuilder.exporters import ResultTable, TableColumn, visible_text

MOST_ROWS = 30
"""A chart shows this many models or groups; the table below it shows all."""


@dataclass(frozen=True)
class AnalysisFigure:
    """A chart: its title, what it shows, what it rests on, and the meaning of its colours (CSS class, label)."""

    title: str
    chart: Markup
    caption: str
    note: str = ""
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AnalysisPart:
    """A section of the page. `figures` need no script; `tables` stand behind them, or alone if there are none."""

    name: str
    title: str
    lead: str = ""
    sentences: Sequence[str] = ()
    figures: Sequence[AnalysisFigure] = ()
    tables: Sequence[ResultTable] = ()


@dataclass(frozen=True)
class AnalysisFrame:
    """What all parts share: the analysis, and the texts of the page."""

    analysis: Analysis
    t: PageTexts

    @cached_property
    def models(self) -> AnsweredItems:
        """The models that have a score, and the items that one of them answered."""
        return self.analysis.answered.models_only()

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each system to show."""
        return {one.name: visible_text(one.display_name) for one in self.analysis.answered.systems}

    @property
    def made_up(self) -> str:
        """What is made up of what the figures rest on, in two words; empty if nothing is."""
        if any(system.invented for system in self.models.systems):
            return self.t("analysis.page.made_up_answers")
        if any(note.key == "analysis.invented_ratings" for note in self.analysis.answered.notes):
            return self.t("analysis.page.made_up_ratings")
        return self.t("analysis.page.sample_items") if self.analysis.answered.illustrative else ""

    def caption(self, items: int, families: int, models: int) -> str:
        """What a figure rests on."""
        return self.t("analysis.page.caption", items=items, families=families, models=models)

    def shown_note(self, count: int) -> str:
        """How many lines of a longer table its chart shows; empty if it shows all."""
        return self.t("analysis.page.first_rows", shown=MOST_ROWS, n=count) if count > MOST_ROWS else ""

    def table(
        self, name: str, title: str, columns: str | Sequence[TableColumn], lines: Iterable[Sequence[CellValue]],
        note: str = "",
    ) -> ResultTable:  # fmt: skip
        """A table; see `table_columns` for `columns` as a text."""
        made = tuple(table_line(*line) for line in lines)
        heads = table_columns(self.t, columns) if isinstance(columns, str) else tuple(columns)
        return ResultTable(name, title, heads, made, notes=(note,) if note else ())
