"""Where the time of a build goes: seconds and memory of each step, and processor time by module.

    python performance/profile_build.py recipe=care_mi
    python performance/profile_build.py --triples 1000000 --data DIR

The build runs twice: as users run it, for the steps, then with one worker under cProfile, which makes Python code look
slower than it is, for the modules. What it prints is Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import pstats
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from scale import builds, generate, machine, table
from scale.sizes import BIOS_SHARE, EACH_PARAGRAPH

COMPILED = ("pyarrow", "numpy", "pydantic", "zstd")
STEPS, MODULES, FUNCTIONS = 12, 15, 15
Stats = dict[tuple[str, int, str], tuple[int, int, float, float, Any]]


def steps(words: Sequence[str], folder: Path) -> str:
    """A build as users run it: the steps that take longest, in a table."""
    built = builds.build(words, folder)
    known: dict[str, dict[str, float]] = built["steps"]
    inside = sum(one["seconds"] for one in known.values())
    rows = sorted(known.items(), key=lambda one: -one[1]["seconds"])
    told = [("step", "seconds", "share", "peak memory"), ("---", "---:", "---:", "---:")]
    for name, one in rows[:STEPS]:
        told.append((name, f"{one['seconds']:.2f}", f"{one['seconds'] / built['seconds']:.0%}", _mb(one)))
    rest = sum(one["seconds"] for _, one in rows[STEPS:])
    told.append((f"{max(0, len(rows) - STEPS)} more steps", f"{rest:.2f}", f"{rest / built['seconds']:.0%}", ""))
    other = built["seconds"] - inside
    told.append(("start, plan, outputs", f"{other:.2f}", f"{other / built['seconds']:.0%}", ""))
    told.append(("all", f"{built['seconds']:.2f}", "100%", _whole(built)))
    return _drawn(told)


def _mb(step: dict[str, Any]) -> str:
    return f"{step['peak_memory_mb']:,.0f} MB" if "peak_memory_mb" in step else ""


def _whole(built: dict[str, Any]) -> str:
    return f"{built['tree_mb']:,.0f} MB" if built["tree_mb"] is not None else ""


def modules(words: Sequence[str], folder: Path) -> str:
    """The same build with one worker, in this process, under cProfile: modules and functions by their own time."""
    from benchbuilder.cli.dispatch import main as benchbuild

    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()):
        code = profile.runcall(benchbuild, [*words, "run.workers=1", f"run.dir={folder}"])
    if code:
        raise RuntimeError(f"the build ended with {code}")
    stats: Stats = pstats.Stats(profile).stats  # pyright: ignore[reportAttributeAccessIssue]
    whole = sum(own for _, _, own, _, _ in stats.values())
    by_module: dict[str, float] = {}
    for (file, _, name), (_, _, own, _, _) in stats.items():
        by_module[_module(file, name)] = by_module.get(_module(file, name), 0.0) + own
    found = [("module", "seconds of its own", "share"), ("---", "---:", "---:")]
    most = sorted(by_module.items(), key=lambda one: -one[1])[:MODULES]
    found += [(name, f"{own:.2f}", f"{own / whole:.0%}") for name, own in most]
    ranked = sorted(stats.items(), key=lambda one: -one[1][2])[:FUNCTIONS]
    calls = [("function", "calls", "seconds of its own", "with what it calls"), ("---", "---:", "---:", "---:")]
    for (file, _, name), (_, count, own, inside, _) in ranked:
        called = f"`{_module(file, name)}`: `{_plain(name)}`"
        calls.append((called, f"{count:,}", f"{own:.2f}", f"{inside:.2f}"))
    return f"{_drawn(found)}\n\n{_drawn(calls)}"


def _module(file: str, name: str) -> str:
    """``benchbuilder.steps.topic``; of others the package alone, of built-in functions the library they are of."""
    parts = Path(file).with_suffix("").parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1].removesuffix(".py")
    if "benchbuilder" in parts:
        last = len(parts) - 1 - parts[::-1].index("benchbuilder")
        return ".".join(parts[last:])
    if file == "~":
        return next((known for known in COMPILED if known in name), "built in")
    return "Python's library"


def _plain(name: str) -> str:
    return name.strip("<>").replace("|", "/")


def _drawn(rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@contextlib.contextmanager
def _data(given: argparse.Namespace) -> Generator[Path]:
    if given.data is not None:
        given.data.mkdir(parents=True, exist_ok=True)
        yield given.data.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def generated_words(count: int, data: Path) -> list[str]:
    """Write generated sources into `data`; the arguments of a build of them."""
    bios = round(count * BIOS_SHARE)
    return builds.generated(
        generate.write_bios(data / "bios", bios),
        generate.write_cpubmed(data / "cpubmed.tsv", count - bios),
        generate.write_paragraphs(data / "paragraphs.jsonl", max(200, count // EACH_PARAGRAPH)),
    )[0]


def main() -> int:
    """Print the profile of one build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="key=value", help="recipe=NAME and any override")
    parser.add_argument("--triples", type=int, metavar="N", help="generated triples instead of a recipe's own sources")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where to build; else a temporary folder")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put it there as well, between the marks of --mark")
    parser.add_argument("--mark", metavar="NAME", help="between <!-- NAME: begin --> and <!-- NAME: end -->")
    parser.add_argument("--steps-only", action="store_true", help="leave out the build under cProfile")
    given = parser.parse_args()
    if bool(given.words) == bool(given.triples):
        parser.error("give recipe=NAME, or --triples N")
    if (given.page is None) != (given.mark is None):
        parser.error("--page and --mark go together")
    with _data(given) as data:
        words = given.words or generated_words(given.triples, data)
        told = [steps(words, builds.fresh(data / "as_it_is"))]
        told += [] if given.steps_only else [modules(words, builds.fresh(data / "under_cprofile"))]
    told.append(table.measured_on(machine.describe(quick=False)))
    content = "\n\n".join(told)
    print(content)
    if given.page is not None:
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(table.filled(page, given.mark, content), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
