"""What it costs that a power cut loses nothing: builds of the sample with syncs and without, in turn.

    python performance/syncs.py [--quick] [--pairs 7]

Each build has a process and a folder of its own; those without syncs replace `os.fsync`. See README.md for what the
numbers mean. 1 if the target is missed (never with --quick).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = 0.05
"""The share of the time of a build that syncs may take."""
_BUILD = """
import contextlib, io, json, os, sys, time
calls = [0]
real = os.fsync
def fsync(handle):
    calls[0] += 1
    if sys.argv[1] == "with":
        real(handle)
os.fsync = fsync
from benchbuilder.cli.dispatch import main
began = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    code = main(["recipe=care_mi", "run.dir=" + sys.argv[2]])
print(json.dumps({"code": code, "seconds": time.perf_counter() - began, "syncs": calls[0]}))
"""


def seconds(way: str, folder: Path) -> tuple[float, int]:
    """Seconds of a build ``with`` or ``without`` syncs, and how many there were."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, way, str(folder)], capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    if found["code"]:
        raise RuntimeError(done.stderr)
    return found["seconds"], found["syncs"]


def main() -> int:
    """Measure pairs of builds; 1 if the median share of the syncs is over the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two pairs: rough numbers")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="on the disk that is measured; else a temporary folder")
    given = parser.parse_args()
    shares: list[float] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        for pair in range(2 if given.quick else given.pairs):
            ways = ("with", "without") if pair % 2 else ("without", "with")
            took = {way: seconds(way, Path(place, f"{pair}-{way}")) for way in ways}
            shares.append(took["with"][0] / took["without"][0] - 1)
            print(
                f"{took['with'][0]:.2f} s with {took['with'][1]} syncs, {took['without'][0]:.2f} s without", flush=True
            )
    middle = statistics.median(shares)
    print(f"syncs take {middle:.1%} of the build (median of {len(shares)} pairs; target: at most {TARGET:.0%})")
    return int(middle > TARGET and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
