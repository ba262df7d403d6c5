"""What commands over the sample cost beside the imports of the libraries, in the same run.

    python performance/commands.py [--quick] [--rounds 7]

Each command has a process of its own. The ways take turns. See README.md for what the numbers mean. The exit code is 1
if a target is missed (never with --quick).
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORTS = "import hydra, pydantic, pyarrow, jinja2, numpy"
COMMAND = "import sys; from benchbuilder.cli.dispatch import main; sys.exit(main())"
TARGETS = {"unchanged": 1.6, "changed": 6.0}
"""How many times the imports a command may cost."""
_AGED_S = 2.5
"""After so long, files count as old enough for what is said about them to be kept."""


def seconds(folder: Path, program: str, *words: str) -> float:
    """Seconds of the processor, in user mode, of a program in `folder`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = {**os.environ, "BENCHBUILDER_CACHE": str(folder.parent / "cache")}
    subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(place: Path, rounds: int) -> dict[str, list[float]]:
    """The seconds of every way in every round."""
    same, other = place / "same", place / "other"
    same.mkdir()
    seconds(same, COMMAND, "recipe=care_mi")
    shutil.copytree(same, other)
    time.sleep(_AGED_S)
    seconds(same, COMMAND, "recipe=care_mi")
    took: dict[str, list[float]] = {}
    for number in range(rounds):
        another = f"steps.state_choice.max_length={25 - number}"
        ways = {
            "imports": lambda: seconds(same, IMPORTS),
            "unchanged": lambda: seconds(same, COMMAND, "recipe=care_mi"),
            "whole way": lambda: _without_repeats(same),
            "changed": lambda another=another: seconds(other, COMMAND, "recipe=care_mi", another),
        }
        for name, way in (ways if number % 2 else dict(reversed(ways.items()))).items():
            took.setdefault(name, []).append(way())
            print(f"{name}: {took[name][-1]:.2f} s", flush=True)
    return took


def _without_repeats(folder: Path) -> float:
    """The unchanged command when nothing is kept of what it said; it keeps it again."""
    shutil.rmtree(folder.parent / "cache" / "repeats")
    return seconds(folder, COMMAND, "recipe=care_mi")


def main() -> int:
    """Measure, and print the medians and their ratios; 1 if one is over its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two rounds: rough numbers")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        took = measure(Path(place), 2 if given.quick else given.rounds)
    medians = {name: statistics.median(times) for name, times in took.items()}
    missed = False
    for name in ("imports", "unchanged", "whole way", "changed"):
        ratio = medians[name] / medians["imports"]
        target = TARGETS.get(name)
        missed |= target is not None and ratio > target
        print(f"{name}: {medians[name]:.2f} s, {ratio:.1f} x the imports{f' (target: {target} x)' if target else ''}")
    return int(missed and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
