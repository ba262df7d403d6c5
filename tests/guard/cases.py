"""What is recorded: each bundled recipe with its variants and those of the plugins, built once for all its records."""

from __future__ import annotations

import contextlib
import io
import sys
import tomllib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from record import Record
from recorder import RequestRecorder, audit_lines, file_lines, item_lines, line, step_lines, table_lines

import benchbuilder as bb
from benchbuilder.api.watching import watcher_of
from benchbuilder.authoring import open_dry_run
from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.core import find_kind, registry
from benchbuilder.evaluation import plan_evaluation
from benchbuilder.pipeline import Plan, PromptSteps, Store, plan_build

ROOT = Path(__file__).resolve().parents[2]
_SPEC = find_kind("model", "openai").load().spec_class
ASKED = _SPEC.model_validate({"kind": "openai", "name": "any-model", "unsupported": "omit"})
"""A model whose requests are noted and never sent."""


@dataclass(frozen=True)
class Case:
    """A recipe with overrides. Cases of a group share the folder of its build: a step that two of them have runs once.

    Attributes:
        name: The name of its records.
        recipe: The recipe.
        overrides: What differs from the recipe as it is.
        itemised: Whether each of its items is told; where people decide, those of the build without people are, since
            a question that changed has no votes.
        evaluated: Whether it is evaluated too.
        judges: The judges that are trained and reported.
        asks: Whether its steps may ask a model.
        prompted: Overrides for judges that ask a model.
        plugin: The plugin that it needs.
        dry: Whether only its requests are recorded, as without a model it cannot be built.
    """

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    itemised: bool = False
    evaluated: bool = False
    judges: tuple[str, ...] = ()
    asks: bool = False
    prompted: tuple[str, ...] = ()
    plugin: str = ""
    dry: bool = False


UNREVIEWED = ("annotation=none", "audit.gate=none")
"""What `annotation=none` changes is who becomes an item; the audit would take most of the time."""
PROMPTED = (
    "model@evaluation.judges.prompted_correctness.model=openai",
    "evaluation.judges.prompted_correctness.model.name=any-model",
)

GROUPS: dict[str, tuple[Case, ...]] = {
    "care_mi": (
        Case("care_mi", "care_mi", evaluated=True, judges=("ridge_interpretability",), asks=True,
             prompted=("evaluation=[zh_claims,zh_prompted]", *PROMPTED)),
        Case("care_mi-unreviewed", "care_mi", UNREVIEWED, itemised=True),
        Case("care_mi-negated", "care_mi", ("variant=negated",)),
        Case("care_mi-reference", "care_mi", ("variant=reference", *UNREVIEWED), asks=True),
    ),
    "claims_en": (
        Case("claims_en", "claims_en", evaluated=True),
        Case("claims_en-unreviewed", "claims_en", UNREVIEWED, itemised=True),
    ),
    "clinic_zu": (
        Case("clinic_zu", "clinic_zu", evaluated=True, asks=True),
        Case("clinic_zu-unreviewed", "clinic_zu", UNREVIEWED, itemised=True),
    ),
    "exam_any": (
        Case("exam_any", "exam_any", itemised=True, evaluated=True, asks=True),
        Case("exam_any-hi", "exam_any", ("variant=hi",), itemised=True, evaluated=True),
        Case("exam_any-ar", "exam_any", ("variant=ar",), itemised=True, evaluated=True),
    ),
    "guideline_en": (Case("guideline_en", "guideline_en", itemised=True, evaluated=True, asks=True),),
    "guideline_zh": (
        Case("guideline_zh", "guideline_zh", evaluated=True, asks=True),
        Case("guideline_zh-unreviewed", "guideline_zh", UNREVIEWED, itemised=True),
    ),
    "law_zh": (
        Case("law_zh", "law_zh", evaluated=True, asks=True),
        Case("law_zh-unreviewed", "law_zh", UNREVIEWED, itemised=True),
    ),
    "medicine_en": (
        Case("medicine_en", "medicine_en", evaluated=True, asks=True,
             prompted=("evaluation=[en_claims,en_prompted]", *PROMPTED)),
        Case("medicine_en-unreviewed", "medicine_en", UNREVIEWED, itemised=True),
    ),
    "medicine_parallel": (
        Case("medicine_parallel", "medicine_parallel", itemised=True, evaluated=True),
        Case("medicine_parallel-es", "medicine_parallel", ("variant=es",), itemised=True),
        Case("medicine_parallel-es_by_model", "medicine_parallel", ("variant=es_by_model",), asks=True),
        Case("medicine_parallel-zh", "medicine_parallel", ("variant=zh",), itemised=True),
    ),
    "reading_en": (Case("reading_en", "reading_en", itemised=True, evaluated=True, asks=True),),
    "cmhe": (
        Case("cmhe", "cmhe", evaluated=True, asks=True, plugin="benchbuilder-cmhe"),
        Case("cmhe-reference", "cmhe", (
            "variant=reference", "model@steps.hd_altered.model=openai", "steps.hd_altered.model.name=any-model",
        ), dry=True),
        Case("cmhe-unreviewed", "cmhe", UNREVIEWED, itemised=True, plugin="benchbuilder-cmhe"),
    ),
    "example": (
        Case("example", "clinic_zu", (
            "tokenizer=syllables", *UNREVIEWED,
            "evaluation.judges.keywords={kind: keyword_coverage, aspect: correctness}",
        ), itemised=True, evaluated=True, plugin="benchbuilder-example"),
    ),
}  # fmt: skip


def records(group: str, folder: Path, *overrides: str) -> dict[str, Record]:
    """The records of a group by name, built in an empty folder; `overrides` change no result."""
    plugin = GROUPS[group][0].plugin
    found: dict[str, Record] = {}
    known: dict[str, list[str]] = {}
    with contextlib.chdir(folder), plugged(plugin, folder) if plugin else contextlib.nullcontext():
        for case in GROUPS[group]:
            words = (*case.overrides, *overrides)
            if case.dry:
                found[case.name] = Record.of_lines(_of_steps(case, words))
                continue
            built = bb.build(case.recipe, words, progress=False)
            found[case.name] = Record.of_lines(_of_build(case, built, words, known))
            if case.evaluated:
                found[f"{case.name} evaluated"] = Record.of_lines(_until_error(_of_evaluation(case, built, words)))
    return found


def _until_error(lines: Iterator[str]) -> Iterator[str]:
    """The lines, and what ended them early: a benchmark that waits for votes cannot be evaluated."""
    try:
        yield from lines
    except bb.BenchbuilderError as error:
        yield line("stopped", type(error).__name__, why=error.what)


def _of_build(case: Case, built: bb.BuildResult, words: Sequence[str], known: dict[str, list[str]]) -> Iterator[str]:
    """What a build came out as; `known` holds the lines of steps that another case made."""
    store, parts = Store(built.folder), built.recipe.by_task()
    for name, manifest in built.report.manifests.items():
        known.setdefault(manifest.key, list(step_lines(name, manifest, store)))
        yield from known[manifest.key]
    for part in parts.values() if case.itemised else ():
        yield from item_lines(part.items, built.report.manifests, store)
    yield from (line("waits", name, why=waiting.what) for name, waiting in built.waiting.items())
    yield from file_lines(built.folder, parts)
    for task, result in built.audits.items():
        yield from audit_lines(task, result)
    if case.asks:
        yield from _of_steps(case, words)


def _of_steps(case: Case, words: Sequence[str]) -> Iterator[str]:
    """What the steps of a build would ask a model, if each that could had one."""
    recipe = load_recipe([f"recipe={case.recipe}", *words]).recipe
    steps: dict[str, Any] = dict(recipe.steps)
    for name, spec in steps.items():
        if getattr(spec, "model", None) is not None and spec.model.kind == "none":
            steps[name] = spec.model_copy(update={"model": ASKED})
    asked = recipe.model_copy(update={"steps": steps})
    store = Store(asked.build_folder(Path.cwd()))
    yield from _request_lines(plan_build(asked, store), store)


def _of_evaluation(case: Case, built: bb.BuildResult, words: Sequence[str]) -> Iterator[str]:
    """What an evaluation and its judges came out as, and what a model under evaluation or a judge would be asked."""
    for judge in case.judges:
        _judge("train", judge, case.recipe, *words)
    for evaluated in bb.evaluate(case.recipe, words, progress=False):
        for name, manifest in evaluated.report.manifests.items():
            yield from step_lines(name, manifest, evaluated.evaluation.store)
        yield from table_lines(evaluated.task, evaluated.folder / "results_tables")
    for judge in case.judges:
        _judge("report", judge, case.recipe, *words)
        yield from table_lines(judge, built.folder / "judges" / f"judges_{judge}_tables")
    loaded = load_recipe([f"recipe={case.recipe}", *words])
    for part in loaded.by_task():
        asked = replace(part, recipe=part.recipe.model_copy(update={"model": ASKED}))
        planned = plan_evaluation(asked, Path.cwd(), with_model=True)
        yield from _request_lines(planned.plan, planned.store)
    if case.prompted:
        planned = plan_evaluation(load_recipe([f"recipe={case.recipe}", *words, *case.prompted]), Path.cwd())
        yield from _judge_requests(planned.plan, planned.store)


def _judge(action: str, judge: str, recipe: str, *words: str) -> None:
    """Run `benchbuild judge`."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(["judge", action, judge, f"recipe={recipe}", *words])
    if code:
        raise RuntimeError(f"benchbuild judge {action} {judge} ended with {code}: {said.getvalue()}")


def _request_lines(plan: Plan, store: Store) -> Iterator[str]:
    """What the steps of a plan would ask models, as far as people need not decide before."""
    recorder = RequestRecorder()
    asking = {name for name, node in plan.nodes.items() if node.model_spec is not None}
    with open_dry_run(plan, store, recorder, watcher_of(False), only=plan.ancestors_of(asking)):
        yield from recorder.lines()


def _judge_requests(plan: Plan, store: Store) -> Iterator[str]:
    """What judges would ask about the answers of one system: ratings of people count, so a dry run leaves them out."""
    recorder = RequestRecorder()
    manifests = {name: found for name, node in plan.nodes.items() if (found := store.manifest(name, node.key))}
    steps = PromptSteps(plan, store, manifests)
    for name, node in plan.nodes.items():
        if node.model_spec is not None and name.endswith(".best_evidence"):
            for _, conversation in steps.worker(name).conversations(steps.input_rows(name).arrow).conversations():
                recorder.drive(name, node.model_spec, conversation)
    yield from recorder.lines()


@contextlib.contextmanager
def plugged(plugin: str, folder: Path) -> Generator[None]:
    """A plugin of this repository as if it were installed."""
    place, project = (
        ROOT / "plugins" / plugin,
        tomllib.loads((ROOT / "plugins" / plugin / "pyproject.toml").read_text()),
    )
    name, version = project["project"]["name"], project["project"]["version"]
    info = folder / "installed" / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["project"]["entry-points"]
    entries = ((f"[{group}]", *(f"{key} = {value}" for key, value in kinds.items())) for group, kinds in groups.items())
    (info / "entry_points.txt").write_text("".join(f"{text}\n" for lines in entries for text in lines))
    before = sys.path[:]
    sys.path[:0] = [str(info.parent), str(place)]
    registry.kinds_of_slot.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = before
        registry.kinds_of_slot.cache_clear()
