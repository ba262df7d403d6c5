"""Speed at the size of the real sources: everything, beside the plain way in the same run.

    python performance/all.py --real DIR --output performance/results.json --plots docs/explanation/growth

Every measurement has a process of its own; what it found is in the output as soon as it is done, so that a run that
was interrupted goes on with --continue. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scale import machine, plots, table
from scale.sizes import FULL, QUICK
from scale.tasks import Place, tasks


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``), 2 if a measurement failed."""
    given = _arguments()
    sizes = QUICK if given.quick else FULL
    if given.one is not None:
        print(json.dumps(tasks(sizes)[given.one](Place(given.data, given.real, sizes))))
        return 0
    if given.write_readme:
        return table.write_readme(json.loads(given.output.read_text(encoding="utf-8")))
    if given.data is not None:
        given.data.mkdir(parents=True, exist_ok=True)
        return _measure(given, given.data.resolve())
    with tempfile.TemporaryDirectory() as folder:
        return _measure(given, Path(folder))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it runs, no more")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measurements or groups: retrieval, triples.10000")
    parser.add_argument("--real", type=Path, metavar="DIR", help="the real files; without it their build is left out")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where to generate files: some 10 GB")
    parser.add_argument("--output", type=Path, default=Path("results.json"), metavar="FILE")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw growth as SVG there")
    parser.add_argument("--continue", dest="resume", action="store_true", help="keep what the output has already")
    parser.add_argument("--list", action="store_true", help="names of the measurements")
    parser.add_argument("--write-readme", action="store_true", help="only put the table of the output into README.md")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.real is not None:
        given.real = given.real.resolve()
    return given


def _measure(given: argparse.Namespace, data: Path) -> int:
    named = tasks(QUICK if given.quick else FULL)
    if given.list:
        print("\n".join(named))
        return 0
    results: dict[str, Any] = {"run": machine.describe(quick=given.quick), "tasks": {}}
    if given.resume and given.output.exists():
        results = _former(json.loads(given.output.read_text(encoding="utf-8")), results)
    failed: list[str] = []
    for name in named:
        if name in results["tasks"] or (given.only and not any(_is(name, wanted) for wanted in given.only)):
            continue
        found = _elsewhere(name, given, data)
        if found is None:
            failed.append(name)
            continue
        results["tasks"][name] = found
        _write(given.output, results)
        print(f"{name:24} {table.short(found)}", flush=True)
    _write(given.output, results)
    lines = table.lines(results)
    print(f"\n{table.text(lines)}")
    if given.plots is not None:
        print("\n".join(f"drawn: {path}" for path in plots.write(results, given.plots)))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 2
    return int(not given.quick and any(line.met is False for line in lines))


def _is(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.")


def _former(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What was measured before; nothing, where it was another machine, program or size: ratios are of one run."""
    same = all(before["run"].get(key) == now["run"][key] for key in machine.DECIDES)
    if not same:
        print("the output is of another machine, program or size; beginning anew", file=sys.stderr)
    return before if same else now


def _elsewhere(name: str, given: argparse.Namespace, data: Path) -> dict[str, Any] | None:
    """Measure in a process of its own; None if that fails."""
    command = [sys.executable, __file__, "--one", name, "--data", str(data)]
    command += ["--quick"] if given.quick else []
    command += ["--real", str(given.real)] if given.real is not None else []
    before, began = machine.load(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: {done.stdout[-500:]}{done.stderr[-3_000:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "load": [before, machine.load()], "in_all_s": time.perf_counter() - began}


def _write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(_rounded(results), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def _rounded(value: Any) -> Any:
    """Figures to five digits: the rest is noise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    sys.exit(main())
