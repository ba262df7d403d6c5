"""How much of a service's speed arrives: the gateway beside plain `AsyncOpenAI`, against the fake service.

    python performance/throughput.py [--quick]

Each measurement runs in a process of its own, and so does the service. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from benchbuilder.config.spec.base import FileRef
from benchbuilder.models import Gateway
from benchbuilder.models.base import Message, Reply, Request
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.providers.openai import OpenAISpec
from benchbuilder.testing import fake_openai_server

SETTINGS = ((1.0, 256, 0.95), (0.2, 64, 0.85), (0.2, 256, 0.5))
"""Latency in seconds, requests in flight, and the share of the ideal that the gateway has to reach."""
SYSTEM = "你是一名编辑，把选择题改写成一句陈述句，不增加也不减少内容。" * 4
QUESTION = "题目第{number}号：妊娠期妇女每日应补充叶酸的量是多少？\n选项：0.4毫克\n" * 3
REPLY = "妊娠期妇女每日应补充0.4毫克的叶酸，以预防胎儿神经管缺陷。"
SAMPLING = {"temperature": 0.0, "max_new_tokens": 128}
WAYS = ("gateway", "adapter", "sdk", "sdk-aiohttp")


def requests(count: int) -> Iterator[Request]:
    """Requests as a step makes them, all different."""
    for number in range(count):
        yield Request((Message("system", SYSTEM), Message("user", QUESTION.format(number=number))), SAMPLING)


def spec(base_url: str, in_flight: int, folder: Path) -> OpenAISpec:
    """The model, with prices and with limits that are never reached, so that they are worked out all the same."""
    prices = folder / "prices.yaml"
    table = {"as_of": "2025-01-01", "source": "invented", "currency": "USD", "per_tokens": 1_000_000}
    models = {"bench": {"input": 1.0, "cached": 0.5, "output": 2.0, "batch": 0.5}}
    prices.write_text(json.dumps({**table, "models": models, "aliases": {}}), encoding="utf-8")
    return OpenAISpec(
        kind="openai", name="bench", base_url=base_url, concurrency=in_flight, prices=FileRef(path=str(prices)),
        requests_per_minute=100_000_000, tokens_per_minute=100_000_000_000,
    )  # fmt: skip


def conversation(request: Request) -> Conversation:
    """One request, no outcomes."""
    yield request
    return []


def by_gateway(base_url: str, count: int, in_flight: int) -> tuple[float, float]:
    """Wall and processor seconds of the full path: conversations, journal on disk, budget, limits, breaker."""
    with tempfile.TemporaryDirectory() as folder:
        model = spec(base_url, in_flight, Path(folder))
        with Gateway(Path(folder) / "journal.db", usd=1e9, tokens=10**15) as gateway:
            answered = Counter[bool]()

            def done(_: int, outcomes: Any) -> None:
                answered[outcomes == []] += 1

            def starts(first: int, last: int) -> Iterator[tuple[int, Conversation]]:
                for number, request in enumerate(requests(last)):
                    if number >= first:
                        yield number, conversation(request)

            gateway.converse("warm", model, starts(count, count + 1), done)
            began, worked = time.perf_counter(), time.process_time()
            gateway.converse("bench", model, starts(0, count), done)
            took = time.perf_counter() - began, time.process_time() - worked
            assert answered == {True: count + 1}, answered
            return took


def by_adapter(base_url: str, count: int, in_flight: int) -> tuple[float, float]:
    """The adapter alone, with a semaphore."""
    from benchbuilder.models.providers.openai import OpenAIModel

    with tempfile.TemporaryDirectory() as folder:
        model = OpenAIModel(spec(base_url, in_flight, Path(folder)))

        async def ask(request: Request) -> Reply:
            return model.read(await model.send(request))

        return asyncio.run(_side_by_side(ask, model.close, count, in_flight))


def by_sdk(base_url: str, count: int, in_flight: int, *, aiohttp: bool) -> tuple[float, float]:
    """Plain `AsyncOpenAI` with a semaphore, as its documentation shows it."""
    import openai

    client = openai.AsyncOpenAI(
        api_key="none", base_url=base_url, timeout=120, http_client=openai.DefaultAioHttpClient() if aiohttp else None
    )

    async def ask(request: Request) -> Any:
        messages: Any = [{"role": message.role, "content": message.content} for message in request.messages]
        return await client.chat.completions.create(
            model="bench", messages=messages, temperature=0, max_completion_tokens=128
        )

    return asyncio.run(_side_by_side(ask, client.close, count, in_flight))


async def _side_by_side(
    ask: Callable[[Request], Awaitable[Any]], close: Callable[[], Awaitable[None]], count: int, in_flight: int
) -> tuple[float, float]:
    semaphore = asyncio.Semaphore(in_flight)

    async def one(request: Request) -> None:
        async with semaphore:
            await ask(request)

    *asked, warm = requests(count + 1)
    await ask(warm)
    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, asked))
    took = time.perf_counter() - began, time.process_time() - worked
    await close()
    return took


def rounds(latency_s: float, *, quick: bool) -> int:
    """How often each place is used: enough that opening connections, which happens once, does not decide."""
    return round(2 / latency_s) + 3 if quick else max(20, round(10 / latency_s))


def measure(way: str, base_url: str, count: int, in_flight: int) -> tuple[float, float]:
    """Wall and processor seconds of `count` requests in one way."""
    if way == "gateway":
        return by_gateway(base_url, count, in_flight)
    if way == "adapter":
        return by_adapter(base_url, count, in_flight)
    return by_sdk(base_url, count, in_flight, aiohttp=way == "sdk-aiohttp")


def elsewhere(way: str, base_url: str, count: int, in_flight: int) -> tuple[float, float] | None:
    """`measure` in a process of its own; ``None`` if that way is not installed."""
    command = [sys.executable, __file__, "--one", way, base_url, str(count), str(in_flight)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"    {way}: {done.stderr.strip().splitlines()[-1]}")
        return None
    wall, processor = json.loads(done.stdout)
    return wall, processor


def main() -> int:
    """Measure everything; 1 if the gateway misses a target."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer requests: rougher numbers, in half a minute")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        way, base_url, count, in_flight = given.one
        print(json.dumps(measure(way, base_url, int(count), int(in_flight))))
        return 0
    missed = False
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print("latency  in flight  requests  way          achieved/ideal  requests/s  processor ms/request")
    for latency_s, in_flight, target in SETTINGS:
        count = in_flight * rounds(latency_s, quick=given.quick)
        ideal = count * latency_s / in_flight
        with fake_openai_server({"latency_s": latency_s, "fixed": REPLY}) as server:
            for way in given.ways:
                found = elsewhere(way, server.base_url, count, in_flight)
                server.reset()
                if found is None:
                    continue
                wall, processor = found
                share = ideal / wall
                missed |= way == "gateway" and share < target
                mark = f" (target {target})" if way == "gateway" else ""
                numbers = f"{share:14.3f}  {count / wall:10.0f}  {processor / count * 1000:20.2f}{mark}"
                print(f"{latency_s * 1000:5.0f} ms  {in_flight:9}  {count:8}  {way:11}  {numbers}", flush=True)
    return int(missed and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
