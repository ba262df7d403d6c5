"""Writes a benchmark for evaluation harnesses: data, the harness's own form of a task, and the reader of verdicts."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchbuilder import __version__
from benchbuilder.annotation import escape_formula
from benchbuilder.config import LoadedRecipe, check_links, did_you_mean, display_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    make_folder,
    make_folder_beside,
    move_into_place,
    read_json,
)
from benchbuilder.publishing.harnesses.judge import CarriedJudge, carried_judge
from benchbuilder.publishing.harnesses.pressure import pressed_benchmark
from benchbuilder.publishing.harnesses.reader import reader_module
from benchbuilder.publishing.harnesses.tasks import HarnessBenchmark, harness_benchmark
from benchbuilder.publishing.harnesses.templates_of import render
from benchbuilder.publishing.release.items import BenchmarkToShare, read_build, read_release
from benchbuilder.publishing.release.record import MEMBER, read_record

EXPORT_FILE = "export.json"
"""The file that marks a folder as an export, and says what is in it."""
_Files = Callable[[HarnessBenchmark], Iterator[tuple[str, str]]]


@dataclass(frozen=True)
class ExportRequest:
    """What to export: the recipe, the harnesses, the folder of a release (``None``: the build), and where to.

    `folder` gets a folder for each harness; ``None`` is ``exports/NAME`` in `cwd`. `judge` is the judge of the recipe
    that the export carries for open questions; empty: none.
    """

    loaded: LoadedRecipe
    harnesses: tuple[str, ...]
    cwd: Path
    release: Path | None = None
    folder: Path | None = None
    judge: str = ""
    pressure: bool = False
    """Whether the questions are asked behind claims; see `pressed_benchmark`."""
    without_private: bool = False
    """Whether private questions may be left out of these."""


@dataclass(frozen=True)
class HarnessExport:
    """What was written for one harness. `benchmark.left_out` says what it lacks."""

    harness: str
    folder: Path
    files: tuple[Path, ...]
    benchmark: HarnessBenchmark


def export_benchmark(request: ExportRequest) -> tuple[HarnessExport, ...]:
    """Write the benchmark for each harness; what an earlier export wrote there is replaced.

    Raises:
        RecipeError: A harness is unknown, or the recipe does not say how replies are scored.
        DataError: There is no build or release, or a folder in the way holds something else.
    """
    unknown = [name for name in request.harnesses if name not in HARNESSES]
    if unknown or not request.harnesses:
        raise RecipeError([Problem(
            f"{', '.join(unknown)} is no harness that benchbuild exports to" if unknown else "no harness is named",
            key="to", allowed=", ".join(HARNESSES), hint=did_you_mean("".join(unknown[:1]), list(HARNESSES)),
        )])  # fmt: skip
    if (request.judge and request.pressure) or (request.without_private and not request.pressure):
        wrong = "carries no judge" if request.pressure else "is what --without-private belongs to"
        raise RecipeError([Problem(f"an export with --pressure {wrong}", where="command line")])
    if request.release is None:
        shared = read_build(request.loaded, request.cwd)
    else:
        shared = read_release(request.cwd / request.release)
        _check_recipe(shared, request)
    benchmark = harness_benchmark(shared, request.loaded)
    private = 0 if request.release is None else read_record(request.cwd / request.release).private_items
    if request.pressure:
        benchmark = pressed_benchmark(
            benchmark,
            shared,
            request.loaded,
            private,
            without_private=request.without_private,
            has_turns=set(request.harnesses) <= _OF_SEVERAL_TURNS,
        )
    elif request.judge:
        benchmark = replace(benchmark, judge=_judge(request, benchmark, shared))
    base = request.folder or request.cwd / "exports" / (f"{shared.name}_pressure" if request.pressure else shared.name)
    folders = {name: base / name for name in dict.fromkeys(request.harnesses)}
    for folder in folders.values():
        check_links(folder)
        _check_free(folder)
    return tuple(_write(name, benchmark, folder) for name, folder in folders.items())


def _judge(request: ExportRequest, benchmark: HarnessBenchmark, shared: BenchmarkToShare) -> CarriedJudge:
    """The judge for the open questions of the export."""
    asked = {task.config: {row["id"] for row in task.rows} for task in benchmark.tasks if task.scoring == "open"}
    every = [item for items in shared.configs.values() for item in items]
    items = {
        config: [item for item in every if item.asked_as == config and item.id in ids] for config, ids in asked.items()
    }
    return carried_judge(request.judge, request.loaded, items, shared.canary)


def _check_recipe(shared: BenchmarkToShare, request: ExportRequest) -> None:
    """RecipeError if a release is of another recipe: replies would be read by the wrong tables."""
    name = request.loaded.whole.benchmark_name
    if shared.name != name or {item.task for item in shared.items} - {part.task for part in request.loaded.by_task()}:
        raise RecipeError([Problem(
            f"{display_path(request.cwd / (request.release or ''))} is a release of {shared.name}, and this is {name}",
            where="command line: --release", hint="give the recipe and the variant that the release was made with",
        )])  # fmt: skip


def _check_free(folder: Path) -> None:
    if folder.exists() and not (folder / EXPORT_FILE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(
            f"{display_path(folder)} is in the way", where=display_path(folder),
            why="it was not written by benchbuild export", next="name another folder with --output, or move it away",
        )  # fmt: skip


def _write(harness: str, benchmark: HarnessBenchmark, folder: Path) -> HarnessExport:
    if benchmark.pushes and harness not in _OF_SEVERAL_TURNS:
        left = ", ".join(sorted({row["condition"] for task in benchmark.pushes for row in task.rows}))
        note = f"Tasks of {harness} have one turn here: pushes left out ({left})"
        benchmark = replace(benchmark, pushes=(), notes=(*benchmark.notes, note))
    scorings = {
        name: scoring if benchmark.pushes else replace(scoring, turns=None)
        for name, scoring in benchmark.scorings.items()
    }
    texts = {"verdict_reader.py": reader_module(scorings, benchmark.name, benchmark.release)}
    texts |= {name: text for task in (*benchmark.tasks, *benchmark.pushes) for name, text in task.files()}
    texts |= {} if benchmark.judge is None else dict(benchmark.judge.files())
    texts |= dict(HARNESSES[harness](benchmark))
    texts["README.md"] = render(f"{harness}/README.md.j2", **_values(benchmark), intro=_intro(benchmark))
    every = (*benchmark.tasks, *benchmark.pushes)
    record = {
        "benchbuilder": __version__,
        "harness": harness,
        "benchmark": benchmark.name,
        "release": benchmark.release,
        "canary": benchmark.canary,
        "items": {task.name: len(task.rows) for task in every},
        "files": sorted(texts),
    }
    texts[EXPORT_FILE] = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    if strange := [name for name in texts if not re.fullmatch(MEMBER, name)]:
        raise DataError(f"{strange[0]} is no name for a file of an export", where=display_path(folder),
                        why="types and splits of the items are parts of it")  # fmt: skip
    fresh = make_folder_beside(folder)
    for name, text in texts.items():
        make_folder((fresh / name).parent)
        (fresh / name).write_text(text, encoding="utf-8", newline="\n")
    _remove_earlier(folder)
    make_folder(folder)
    for name in texts:
        make_folder((folder / name).parent)
        move_into_place(fresh / name, folder / name)
    shutil.rmtree(fresh)
    return HarnessExport(harness, folder, tuple(folder / name for name in sorted(texts)), benchmark)


def _remove_earlier(folder: Path) -> None:
    """Remove the files of an earlier export, and nothing else: logs of a harness may lie beside them."""
    try:
        record = read_json(folder / EXPORT_FILE)
        names = [str(name) for name in record["files"]]
    except (OSError, ValueError, LookupError, TypeError):
        return
    for name in names:
        if (folder / name).resolve().is_relative_to(folder.resolve()):
            (folder / name).unlink(missing_ok=True)


def _values(benchmark: HarnessBenchmark) -> dict[str, object]:
    return {"benchmark": benchmark, "judge": benchmark.judge, "version": __version__, "tasks": benchmark.tasks,
            "examples": any(task.examples for task in benchmark.tasks),
            "most_examples": min((len(t.examples) for t in benchmark.tasks if t.examples), default=0)}  # fmt: skip


def _intro(benchmark: HarnessBenchmark) -> str:
    return render("intro.md.j2", **_values(benchmark))


def _lm_eval(benchmark: HarnessBenchmark) -> Iterator[tuple[str, str]]:
    values, module = _values(benchmark), f"{benchmark.name}_scoring"
    yield f"{module}.py", render("lm_eval/scoring.py.j2", **values)
    yield f"{benchmark.name}.yaml", render("lm_eval/group.yaml.j2", **values)
    for task in benchmark.tasks:
        kinds: dict[str, dict[str, object]] = {task.name: {}}
        if benchmark.judge is not None and task.scoring == "open":
            kinds[f"{task.name}_judged"] = {"judged": True}
        if len(task.sources) > 1:
            yield f"{task.name}_by_source.yaml", render("lm_eval/by_source.yaml.j2", **values, task=task)
            kinds |= {f"{task.name}_{source}": {"source": source} for source in task.sources}
        for name, kind in kinds.items():
            told = {**values, "task": task, "module": module, "name": name, "source": None, "judged": False, **kind}
            yield f"{name}.yaml", render("lm_eval/task.yaml.j2", **told)


def _inspect(benchmark: HarnessBenchmark) -> Iterator[tuple[str, str]]:
    yield f"{benchmark.name}.py", render("inspect/task.py.j2", **_values(benchmark))


def _evalscope(benchmark: HarnessBenchmark) -> Iterator[tuple[str, str]]:
    yield f"{benchmark.name}_evalscope.py", render("evalscope/adapter.py.j2", **_values(benchmark))


def _opencompass(benchmark: HarnessBenchmark) -> Iterator[tuple[str, str]]:
    yield f"{benchmark.name}_opencompass.py", render("opencompass/pieces.py.j2", **_values(benchmark))
    yield f"eval_{benchmark.name}.py", render("opencompass/config.py.j2", **_values(benchmark))


def _plain(benchmark: HarnessBenchmark) -> Iterator[tuple[str, str]]:
    yield "score.py", render("plain/score.py.j2", **_values(benchmark))
    for task in benchmark.tasks:
        yield f"data/{task.config}.test.csv", _csv(task.rows)


def _csv(rows: Sequence[Mapping[str, str]]) -> str:
    """CSV of `rows`; a cell that a spreadsheet would run as a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_formula(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


_OF_SEVERAL_TURNS = frozenset({"inspect"})
"""The harnesses in whose tasks a person can answer the model."""
HARNESSES: Mapping[str, _Files] = {
    "lm_eval": _lm_eval, "inspect": _inspect, "evalscope": _evalscope, "opencompass": _opencompass,
    "plain": _plain,
}  # fmt: skip
"""What writes the files of each harness."""
