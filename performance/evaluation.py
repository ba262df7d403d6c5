"""Ten models on a benchmark of the published size: how much of the service's speed arrives, and whether memory is flat.

    python performance/evaluation.py [--quick]

The fake service and each evaluation have a process of their own. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchbuilder.cli.dispatch import main as benchbuild
from benchbuilder.testing import fake_openai_server

ITEMS, QUICK = 1_612, 200
MODELS = (2, 10)
LATENCY_S, IN_FLIGHT = 0.2, 64
TARGET = 0.85
"""Share of the ideal that answering has to reach: that of the gateway at this latency and number in flight."""
FLAT_MB = 24.0
"""Growth from two models to ten up to which memory counts as flat: answers and scores are made one model at a time. The
results page is left out of that: it holds every score at once, and is measured for itself."""
REPLY = "是的。每日补充0.4毫克叶酸可以预防胎儿神经管缺陷，从孕前三个月开始最好。"


def write_benchmark(path: Path, count: int) -> None:
    """Questions that are all different, in the published columns."""
    lines = ["q-type\tsource\tfull-question\tanswer\tanswer-wrong\tevidence"]
    for n in range(count):
        kind = ("TF", "OE")[n % 2]
        asked = f"第{n}号检查应在妊娠早期进行吗？" if kind == "TF" else f"第{n}号检查应在什么时候进行？"
        right, wrong = f"第{n}号检查应在妊娠早期进行。", f"第{n}号检查不应在妊娠早期进行。"
        lines.append("\t".join((kind, f"source_{n % 4}", asked, right, wrong, f"教材写明：{right}" * 3)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def evaluate(base_url: str, models: int, benchmark: str, report: bool) -> int:
    """One evaluation in this process: prints seconds of answering, seconds in all, and megabytes at most."""
    words = ["recipe=care_mi", "evaluation.answers=null", "evaluation.baselines=null", "evaluation.judges=null"]
    words += [] if report else ["evaluation.outputs=null"]
    for n in range(models):
        key = f"evaluation.models.model_{n}"
        words += [f"{key}.kind=openai", f"{key}.name=model-{n}", f"{key}.base_url={base_url}",
                  f"{key}.concurrency={IN_FLIGHT}"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.perf_counter()
        code = benchbuild(["evaluate", *words, "--benchmark", benchmark, "--expected", "yes"])
        took = time.perf_counter() - began
        (log,) = Path(folder).glob("builds/*/*/run.jsonl")
        steps = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["steps"]
        answering = sum(step["seconds"] for name, step in steps.items() if name.startswith("answer."))
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(json.dumps([answering, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit]))
    return code


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer questions")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        return evaluate(given.one[0], int(given.one[1]), given.one[2], given.one[3] == "report")
    items = QUICK if given.quick else ITEMS
    found: list[tuple[float, float]] = []
    print("models  questions  achieved/ideal  answering  in all  peak memory")
    kinds = [(models, "") for models in MODELS] + [(MODELS[-1], "report")]
    with (
        tempfile.TemporaryDirectory() as folder,
        fake_openai_server({"latency_s": LATENCY_S, "fixed": REPLY}) as server,
    ):
        benchmark = Path(folder) / "benchmark.tsv"
        write_benchmark(benchmark, items)
        for models, report in kinds:
            command = [sys.executable, __file__, "--one", server.base_url, str(models), str(benchmark), report]
            environ = os.environ | {"OPENAI_API_KEY": "none"}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
            if done.returncode:
                print(done.stdout, done.stderr, file=sys.stderr)
                return done.returncode
            answering, took, peak = json.loads(done.stdout.splitlines()[-1])
            ideal = models * items * LATENCY_S / IN_FLIGHT
            found.append((ideal / answering, peak))
            print(f"{models:6}  {models * items:9}  {ideal / answering:14.2f}  {answering:7.1f} s  {took:4.0f} s  "
                  f"{peak:8.1f} MB  {report}", flush=True)  # fmt: skip
            server.reset()
    growth = found[1][1] - found[0][1]
    print(f"growth: {growth:.1f} MB (flat: up to {FLAT_MB:g}); share to reach: {TARGET}")
    return int(not given.quick and (growth > FLAT_MB or found[1][0] < TARGET))


if __name__ == "__main__":
    sys.exit(main())
