"""Shows the tasks of a benchmark side by side: what each system comes to in the first metric of each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchbuilder.config import LoadedRecipe, Recipe
from benchbuilder.core import PageTexts, write_atomically
from benchbuilder.evaluation.plan import folder_of_evaluation
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.charts import types_chart
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.stated_metrics import (
    FIGURE_OF,
    StatedMetric,
    load_results,
    results_in_language,
    stated_metrics,
)
from benchbuilder.exporters import (
    ChartColours,
    LanguageLink,
    ResultTable,
    TableBlock,
    TableCell,
    TableColumn,
    TableLine,
    render_html,
    table_as_csv,
    write_pages,
)

_GROUPS = ("model", "people", "rule")
_FOLDER = "evaluation"
"""The folder of the build for what is of all tasks."""
_System = tuple[TableBlock, str, str]


class _Task(NamedTuple):
    """A task with results: its name, title and first metric, the data, and the settings of its page."""

    name: str
    title: str
    metric: StatedMetric
    results: Mapping[str, Any]
    page: ResultsSpec

    def in_language(self, language: str) -> _Task:
        """The task as its results are translated into a language."""
        return self._replace(metric=stated_metrics(results_in_language(self.results, language))[0])

    def lines(self) -> dict[_System, TableLine]:
        """The line of each system, by the kind of line, the kind of system and its name."""
        return {(line.block, line.group, line.cells[0].words): line for line in self.metric.lines}


def write_task_results(loaded: LoadedRecipe, cwd: Path) -> list[Path]:
    """Write the page and the table of all tasks that have results; nothing if fewer than two have.

    An override of ``evaluation.dir`` makes a trial in a folder of its own: then the page stays as it is.

    Args:
        loaded: The recipe, or that of one of its tasks.
        cwd: The folder that builds are in.

    Raises:
        DataError: The results of a task cannot be read.
    """
    whole = loaded.whole
    is_trial = any(word.partition("=")[0].endswith("evaluation.dir") for word in loaded.overrides)
    tasks = [] if is_trial else list(_with_results(whole, cwd))
    if len(tasks) < 2:
        return []
    page = tasks[0].page
    folder = whole.build_folder(cwd) / _FOLDER
    folder.mkdir(exist_ok=True)
    pages = write_pages(folder, "tasks.html", page.reader_texts(), partial(_page, whole, tasks))
    table = table_as_csv(_beside(tasks, page.texts(whole.language)), {})
    return [*pages, write_atomically(folder / "tasks.csv", table)]


def _page(whole: Recipe, tasks: Sequence[_Task], t: PageTexts, languages: Sequence[LanguageLink]) -> str:
    tasks = [task.in_language(t.language) for task in tasks]
    missing = [name for name in whole.tasks if name not in {task.name for task in tasks}]
    notes = [t("task_results.missing", names=t("report.list_comma").join(missing))] if missing else []
    if len({task.results["recipe"] for task in tasks}) > 1:
        notes.append(t("task_results.recipes_differ"))
    table, colours = _beside(tasks, t), ChartColours([task.name for task in tasks], ())
    own = ResultTable(
        table.name,
        table.title,
        (table.columns[0], *table.columns[1::2]),
        tuple(TableLine((line.cells[0], *line.cells[1::2])) for line in table.lines if line.block == "own"),
    )
    context = {
        "t": t,
        "languages": languages,
        "card": whole.card,
        "recipe": whole,
        "tasks": tasks,
        "table": table,
        "notes": notes,
        "colours": colours,
        "chart": types_chart(own, [colours.source(task.name) for task in tasks]),
        "sources": [_by_source(task, t) for task in tasks if _has_sources(task)],
        **PAGE_FUNCTIONS,
    }
    return render_html("tasks.html.j2", PACKAGES, **context)


def _with_results(whole: Recipe, cwd: Path) -> Iterator[_Task]:
    """The tasks that have results on the items of their own."""
    build = whole.build_folder(cwd)
    for name, part in whole.by_task().items() if whole.tasks else ():
        spec = part.evaluation
        page = next((one for one in spec.outputs.values() if isinstance(one, ResultsSpec)), None) if spec else None
        if spec is None or page is None or spec.benchmark is not None:
            continue
        file = folder_of_evaluation(spec, build / name, cwd) / f"{page.file}.json"
        results = load_results(file) if file.exists() else None
        if results and (metrics := stated_metrics(results)):
            yield _Task(name, whole.tasks[name].title or name, metrics[0], results, page)


def _beside(tasks: Sequence[_Task], t: PageTexts) -> ResultTable:
    """A line for each system, with the figure of each task and its number of items."""
    lines = [task.lines() for task in tasks]
    systems = sorted(dict.fromkeys(key for known in lines for key in known), key=_order)
    columns = [TableColumn("model", t("common.model"), "words")]
    for task in tasks:
        columns += [
            TableColumn(task.name, FIGURE_OF.join((task.title, task.metric.label)), task.metric.format),
            TableColumn(f"{task.name}_items", t("results.items"), "count"),
        ]
    rows: list[TableLine] = []
    for system in systems:
        cells = [TableCell(words=system[2])]
        for known in lines:
            none = (TableCell(why=t("task_results.no_figure")), TableCell())
            cells += (known[system].cells[1], known[system].cells[-1]) if system in known else none
        rows.append(TableLine(tuple(cells), system[1], _tag(system, t), system[0]))
    notes = [note for task in tasks if not _has_sources(task) for note in task.metric.notes]
    return ResultTable("tasks", t("task_results.kicker"), tuple(columns), tuple(rows), notes=tuple(notes))


def _has_sources(task: _Task) -> bool:
    """Whether the task has a table of its own, by source."""
    return len(task.metric.sources) > 1


def _by_source(task: _Task, t: PageTexts) -> ResultTable:
    """The metric of a task over all its items and over those of each source."""
    metric = task.metric
    columns = (
        TableColumn("model", t("common.model"), "words"),
        TableColumn("all", t("report.all_sources"), metric.format),
        *(TableColumn(f"source_{name}", name, metric.format) for name in metric.sources),
        TableColumn("n", t("results.items"), "count"),
    )
    lines = (
        TableLine(line.cells, line.group, _tag((line.block, line.group, ""), t), line.block) for line in metric.lines
    )
    return ResultTable(
        f"tasks_{task.name}", FIGURE_OF.join((task.title, metric.label)), columns, tuple(lines), notes=metric.notes
    )


def _order(system: _System) -> tuple[bool, int]:
    """Published lines come last, and rules behind people and models."""
    return system[0] == "published", _GROUPS.index(system[1]) if system[1] in _GROUPS else len(_GROUPS)


def _tag(system: _System, t: PageTexts) -> str:
    """What follows the name of a system."""
    if system[0] == "published":
        return t("results.published")
    return "" if system[1] == "model" else t.get(f"results.group.{system[1]}", "")
