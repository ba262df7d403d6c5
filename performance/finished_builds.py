"""Memory and time of the commands that read a finished build, and of the results page, by the number of items.

    python performance/finished_builds.py [--quick] [--items 20000 100000] [--only results release] [--folder DIR]

The bundled sample is built and evaluated. Its items, the answers and scores of its ten systems, and the rows in which a
word list looks for words are repeated under other ids. Every copy has item families and wordings of its own. The audit
of the sample counts for its copies: the audit of a real build is kept from that build. Each command then runs in a
process of its own: its peak is that of the resident memory, with Python and its libraries. It is never below that of
this program, which is small if the builds are there already (`--folder`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from explorer_items import grow_step

from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import create_from_spec
from benchbuilder.evaluation import Analysis, plan_evaluation, write_analysis
from benchbuilder.evaluation.analysis.read_answers import answered_items, evaluated_items
from benchbuilder.evaluation.analysis.run import SECTIONS
from benchbuilder.evaluation.analysis.section import AnalysisSettings
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.exporters import Exporter
from benchbuilder.pipeline import Store, finished_build
from benchbuilder.pipeline.outputs import (
    _manifest_hashes,  # pyright: ignore[reportPrivateUsage]
    _OutputsMark,  # pyright: ignore[reportPrivateUsage]
)

ITEMS, QUICK = (20_000, 100_000), (2_000,)
SEARCHED = ("medqa", "mlecqa", "cpubmed", "bios", "cmeie")
"""The sources in which the word list looks for words."""
FAMILIES = ("family", "fact")
OUTPUTS = ("answers", "results", "analyse")
RELEASE = "releases/care_mi/1.0.0"
LARGE = "recipe=care_mi run.dir=large"
COMMANDS = {
    "words show": f"words show {LARGE}",
    "release": f"release {LARGE} version=1.0.0 --despite measured",
    "publish --dry-run": f"publish {RELEASE} --dry-run --repository a/b",
    "export": f"export {LARGE} to=all --output exported",
    "view --export": f"view {RELEASE} --export site",
    "scorecard": f"scorecard {LARGE}",
    "diff": "diff large other",
    "why": f"why ITEM {LARGE}",
    "peek": f"peek items {LARGE}",
}


def write(folder: Path, items: int) -> None:
    """Build and evaluate the sample; grow a copy of it, and one whose items are half the same."""
    for words in ([], ["evaluate"]):
        run(folder, [*words, "recipe=care_mi", "run.dir=sample"])
    large, other = (shutil.copytree(folder / "sample", folder / name) for name in ("large", "other"))
    stores = (Store(large, sync=False), Store(large / "evaluation", sync=False))
    manifest = stores[0].latest("items")
    assert manifest is not None
    copies = -(-items // manifest.rows)
    for store in stores:
        for step in sorted(path.name for path in store.steps.iterdir()):
            of_step, searched = store.latest(step), step in SEARCHED
            if of_step is not None and (searched or of_step.row.partition("[")[0] in ("item", "answer", "score")):
                also = ("id", "out") if searched else FAMILIES
                grow_step(store, of_step, copies, also, reworded if step == "items" else None)
    grow_step(Store(other, sync=False), manifest, copies, FAMILIES, reworded, first=copies // 2)
    for build in (large, other):
        mark_outputs(build)


def mark_outputs(build: Path) -> None:
    """Say that the outputs of a build were made of its items as they are now, which a comparison asks for."""
    mark = _OutputsMark(build)
    state, manifest = json.loads(mark.state), Store(build).latest("items")
    assert manifest is not None
    state["steps"] |= _manifest_hashes({"items": manifest})
    mark.write(json.dumps(state), mark.files)


def reworded(items: pa.Table, number: int) -> pa.Table:
    """The items as copy `number`: a third of their characters are others, so that no two copies say the same."""
    field = items.schema.get_field_index("payload")
    column: Any = items.column(field).combine_chunks()
    cells = {name: column.field(name).to_pylist() for name in ("context", "question", "answer", "answer_wrong")}
    written = sorted({c for values in cells.values() for text in values for c in text if "\u4e00" <= c <= "\u9fa5"})
    draw = random.Random(number)
    other = {
        ord(c): draw.randrange(0x4E00, 0x9FA5) for c in (draw.sample(written, len(written) // 3) if number else ())
    }
    fields = [column.type.field(place) for place in range(column.type.num_fields)]
    arrays = [
        pa.array([text.translate(other) for text in cells[part.name]], pa.string())
        if part.name in cells else column.field(part.name)
        for part in fields
    ]  # fmt: skip
    return items.set_column(field, items.schema.field(field), pa.StructArray.from_arrays(arrays, fields=fields))


def run(folder: Path, words: Sequence[str]) -> tuple[int, float, float, str]:
    """Run a command in a folder: exit code, seconds of processor, megabytes, and the last line of what it said."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "benchbuilder", *words]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        said.seek(0)
        lines = said.read().strip().splitlines()
    seconds, megabytes = measured(usage)
    return os.waitstatus_to_exitcode(status), seconds, megabytes, lines[-1] if lines else ""


def measured(usage: resource.struct_rusage) -> tuple[float, float]:
    """The seconds of processor and the most megabytes of a process."""
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def written(name: str, folder: Path) -> str:
    """Write an output of the evaluation, or its analysis, in this process; what it needed, as JSON."""
    loaded = load_recipe(["recipe=care_mi", "run.dir=sample"])
    evaluation = plan_evaluation(loaded, folder, asking=False)
    evaluation = replace(evaluation, store=Store(folder / "large" / "evaluation"))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        write = analysed if name == "analyse" else exported
        size = sum(file.stat().st_size for file in write(name, loaded, evaluation, Path(place)))
    return json.dumps([0, *measured(resource.getrusage(resource.RUSAGE_SELF)), f"{size / 1e6:,.1f} MB"])


def exported(name: str, _: LoadedRecipe, evaluation: Evaluation, place: Path) -> list[Path]:
    """Write an output."""
    plan, store = evaluation.plan, evaluation.store
    manifests = {step: manifest for step in plan.nodes if (manifest := store.latest(step)) is not None}
    exporter: Exporter = create_from_spec("exporter", plan.recipe.outputs[name])
    return exporter.write(finished_build(plan, store, manifests, ""), place)


def analysed(_: str, loaded: LoadedRecipe, evaluation: Evaluation, place: Path) -> list[Path]:
    """Analyse the answers as `benchbuild analyse` does; a build that was repeated has other keys than it plans."""
    spec = loaded.recipe.analysis
    answered = answered_items(evaluation, Store(place.parent / "large"), spec.scores)
    sections = {name: make(answered, AnalysisSettings(spec, loaded.recipe.seed)) for name, make in SECTIONS.items()}
    found = Analysis(loaded, "large", place, answered, sections, evaluated_items(evaluation), {})
    return write_analysis(found)


def line(name: str, folder: Path, item: str) -> str:
    """The cells of a command or an output."""
    if name in OUTPUTS:
        command = [sys.executable, str(Path(__file__).absolute()), "--one", name, str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        _, seconds, megabytes, said = json.loads(ended.stdout)
    else:
        if name == "release":
            shutil.rmtree(folder / "releases", ignore_errors=True)
        code, seconds, megabytes, last = run(folder, COMMANDS[name].replace("ITEM", item).split())
        said = f"exit code {code}: {last}" if code else ""
    return f"`{name}` | {megabytes:,.0f} MB | {seconds:.1f} s | {said} |"


def main() -> int:
    """Print a line for each number of items and each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few items: shows that it runs")
    parser.add_argument("--items", type=int, nargs="+", metavar="N", help="numbers of items")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[*OUTPUTS, *COMMANDS], help="outputs, commands")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to keep the builds; else a temporary folder")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(written(given.one[0], Path(given.one[1])))
        return 0
    print("| items | what | peak memory | processor time | |\n| ---: | --- | ---: | ---: | --- |")
    for count in given.items or (QUICK if given.quick else ITEMS):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (Path(temporary) if given.folder is None else given.folder.absolute()) / str(count)
            if not (folder / "large").exists():
                folder.mkdir(parents=True)
                write(folder, count)
            store = Store(folder / "large")
            manifest = store.latest("items")
            assert manifest is not None
            item = str(pq.read_table(store.parts(manifest)[-1], columns=["id"]).column("id")[-1])
            for name in given.only:
                print(f"| {count:,} | {line(name, folder, item)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
