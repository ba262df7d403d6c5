"""Ten models on a benchmark of the published size: how much of the service's speed arrives, and whether memory is flat.

    python performance/evaluation.py [--quick]
    python performance/evaluation.py --growth [--sizes 1000 10000] [--models 10]
    python performance/evaluation.py --pressure [--sizes 2000] [--models 10]

With ``--growth``: what an evaluation, an audit and an analysis cost us by size. With ``--pressure``: what an evaluation
costs whose questions are asked again behind four claims, wrong and right, and in conversations, with long replies. The
model is in the process of the evaluation; all else is as with a service, journal included.

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
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from benchbuilder.cli.dispatch import main as benchbuild
from benchbuilder.models import Request
from benchbuilder.models.providers.openai import OpenAIModel
from benchbuilder.testing import fake_openai_server

ITEMS, QUICK = 1_612, 200
MODELS = (2, 10)
SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (100,)
LATENCY_S, IN_FLIGHT = 0.2, 64
TARGET = 0.85
"""Share of the ideal that answering has to reach: that of the gateway at this latency and number in flight."""
FLAT_MB = 24.0
"""Growth from two models to ten up to which memory counts as flat: answers and scores are made one model at a time. The
results page is left out of that: it holds every score at once, and is measured for itself."""
PRESSURE_ITEMS, QUICK_PRESSURE_ITEMS = 2_000, 40
_LEFT_OUT = ("design.contexts", "contexts.passage", "contexts.both", "guards.check")
PRESSURE = ["evaluation=[zh_claims,zh_pressure]", *(f"evaluation.pressure.{name}=null" for name in _LEFT_OUT)]
"""Eight conditions and the control for every question, and one push for every family."""
LONG = "这与现行教材和指南的说法相同，具体做法要看产检的结果和医生的意见，第{n}点也请一并向医生说明。"
REPLY = "是的。每日补充0.4毫克叶酸可以预防胎儿神经管缺陷，从孕前三个月开始最好。"


def write_benchmark(path: Path, count: int) -> None:
    """Questions that are all different, in the published columns; half of the verdicts are yes."""
    lines = ["q-type\tsource\tfull-question\tanswer\tanswer-wrong\tevidence\texpected"]
    for n in range(count):
        kind = ("TF", "OE")[n % 2]
        asked = f"第{n}号检查应在妊娠早期进行吗？" if kind == "TF" else f"第{n}号检查应在什么时候进行？"
        right, wrong = f"第{n}号检查应在妊娠早期进行。", f"第{n}号检查不应在妊娠早期进行。"
        expected = ("yes", "no")[n // 2 % 2] if kind == "TF" else ""
        lines.append("\t".join((kind, f"source_{n % 4}", asked, right, wrong, f"教材写明：{right}" * 3, expected)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def model_words(base_url: str, models: int) -> list[str]:
    """The words of an evaluation of some models."""
    words = ["recipe=care_mi", "evaluation.answers=null", "evaluation.baselines=null", "evaluation.judges=null"]
    for n in range(models):
        key = f"evaluation.models.model_{n}"
        words += [f"{key}.kind=openai", f"{key}.name=model-{n}", f"{key}.base_url={base_url}",
                  f"{key}.concurrency={IN_FLIGHT}"]  # fmt: skip
    return words


def peak_mb() -> float:
    """The most memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def evaluate(base_url: str, models: int, benchmark: str, report: bool) -> int:
    """One evaluation in this process: prints seconds of answering, seconds in all, and megabytes at most."""
    words = [*model_words(base_url, models), *([] if report else ["evaluation.outputs=null"])]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.perf_counter()
        code = benchbuild(["evaluate", *words, "--benchmark", benchmark])
        took = time.perf_counter() - began
        (log,) = Path(folder).glob("builds/*/*/run.jsonl")
        steps = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["steps"]
        answering = sum(step["seconds"] for name, step in steps.items() if name.startswith("answer."))
    print(json.dumps([answering, took, peak_mb()]))
    return code


async def answer_here(self: OpenAIModel, request: Request) -> str:
    """The reply of a model that is in this process; some know more than others."""
    drawn = crc32(f"{self.spec.name} {request.messages[-1].content}".encode()) % 100
    known = drawn < 50 + 4 * int(self.spec.name.partition("-")[2])
    text = REPLY if known else "不对。" + REPLY[3:]
    if os.environ.get("LONG_REPLIES"):
        text += "".join(LONG.format(n=(drawn + n) % 97) for n in range(22))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 60, "completion_tokens": 30, "total_tokens": 90}
    return json.dumps({"id": "here", "model": self.spec.name, "choices": [choice], "usage": usage}, ensure_ascii=False)


def one_command(folder: str, name: str, models: int, more: Sequence[str] = ()) -> int:
    """One command in this process: prints processor seconds by kind of step, of the rest, and megabytes at most."""
    os.chdir(folder)
    OpenAIModel.send = answer_here
    words = [*model_words("http://localhost:9/v1", models), *more]
    began = time.process_time()
    code = benchbuild([name, *words, "--benchmark", "benchmark.tsv"])
    took, found = time.process_time() - began, dict[str, float]()
    if name == "evaluate":
        (log,) = Path(folder).glob("builds/*/*/run.jsonl")
        steps = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["steps"]
        for step, told in steps.items():
            kind = step.partition(".")[0]
            found[kind] = found.get(kind, 0.0) + told["seconds"]
    print(json.dumps([took, peak_mb(), found]))
    return code


def measure_growth(sizes: Sequence[int], models: int, *, pressure: bool = False) -> int:
    """Evaluation, audit and analysis at each size, a process for each; or evaluation under pressure."""
    print("items  command  processor s  per reply or item  peak memory  seconds of steps")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_benchmark(Path(folder) / "benchmark.tsv", size)
            commands = (("evaluate", size * models), ("analyse", size * models), ("audit", size))
            for name, units in commands[: 1 if pressure else None]:
                command = [sys.executable, __file__, "--command", folder, name, str(models)]
                environ = os.environ | {"OPENAI_API_KEY": "none"} | ({"LONG_REPLIES": "1"} if pressure else {})
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
                if not done.stdout.strip().endswith("]"):
                    print(done.stdout, done.stderr, file=sys.stderr)
                    return 1
                took, peak, steps = json.loads(done.stdout.splitlines()[-1])
                told = ", ".join(f"{step} {seconds:.1f}" for step, seconds in steps.items())
                print(f"{size:7}  {name:8}  {took:8.1f} s  {1000 * took / units:6.2f} ms  {peak:6.0f} MB  {told}",
                      flush=True)  # fmt: skip
    return 0


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer questions")
    parser.add_argument("--growth", action="store_true", help="our cost by size, of a model in the same process")
    parser.add_argument("--pressure", action="store_true", help="our cost of an evaluation under pressure")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="ITEMS")
    parser.add_argument("--models", type=int, default=MODELS[-1], metavar="N")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--command", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.command is not None:
        more = PRESSURE if os.environ.get("LONG_REPLIES") else ()
        return one_command(given.command[0], given.command[1], int(given.command[2]), more)
    if given.pressure:
        sizes = (QUICK_PRESSURE_ITEMS if given.quick else PRESSURE_ITEMS,)
        return measure_growth(given.sizes if given.sizes != SIZES else sizes, given.models, pressure=True)
    if given.growth:
        return measure_growth(QUICK_SIZES if given.quick else given.sizes, given.models)
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
