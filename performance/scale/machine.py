"""What is measured, on which machine, with which versions."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DECIDES = ("machine", "cores", "python", "versions", "commit", "quick")
"""What has to be equal for two measurements to be of one run."""
LIBRARIES = ("benchbuilder", "jieba", "jieba-next", "numpy", "pandas", "pyarrow", "rank-bm25", "hydra-core", "opencc")
ROOT = Path(__file__).parents[2]


def describe(*, quick: bool) -> dict[str, Any]:
    """The machine, the versions, the commit and the time."""
    return {
        "date": datetime.now(UTC).date().isoformat(), "quick": quick, "machine": _processor(),
        "system": platform.platform(), "cores": len(os.sched_getaffinity(0)) if _linux() else os.cpu_count(),
        "memory_gb": _memory(), "python": platform.python_version(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--", "benchbuilder", "recipes")),
        "load": load(),
    }  # fmt: skip


def load() -> float | None:
    """How many processes wanted to work in the last minute, on average."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _linux() -> bool:
    return hasattr(os, "sched_getaffinity")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> float | None:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _git(*words: str) -> str:
    """What git says of the checkout; empty where there is none."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
