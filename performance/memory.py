"""Whether the gateway's memory grows with the number of requests: peak resident size after few and after many.

    python performance/memory.py [--quick]

Each count runs in a process of its own; the service is another one.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

from throughput import REPLY, by_gateway

from benchbuilder.testing import fake_openai_server

COUNTS, QUICK = (2_000, 50_000), (500, 5_000)
IN_FLIGHT = 64
FLAT_MB = 16.0
"""Growth up to which memory counts as flat: caches of libraries and of SQLite that fill up once."""


def peak_mb(base_url: str, count: int) -> float:
    """Megabytes that a process with `count` requests had at most."""
    command = [sys.executable, __file__, "--one", base_url, str(count)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    """Measure; 1 if memory is not flat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        by_gateway(given.one[0], int(given.one[1]), IN_FLIGHT)
        unit = 2**20 if sys.platform == "darwin" else 2**10
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
        return 0
    peaks: list[float] = []
    with fake_openai_server({"latency_s": 0.01, "fixed": REPLY}) as server:
        for count in QUICK if given.quick else COUNTS:
            peaks.append(peak_mb(server.base_url, count))
            server.reset()
            print(f"{count:6} requests: {peaks[-1]:6.1f} MB at most", flush=True)
    growth = peaks[-1] - peaks[0]
    print(f"growth: {growth:.1f} MB (flat: up to {FLAT_MB:g})")
    return int(growth > FLAT_MB)


if __name__ == "__main__":
    sys.exit(main())
