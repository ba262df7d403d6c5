"""The benchmarks are scripts beside the package: their folder is looked in for modules, behind all others."""

import sys
from pathlib import Path

BENCHMARKS = str(Path(__file__).parents[2] / "performance")
if BENCHMARKS not in sys.path:
    sys.path.append(BENCHMARKS)
