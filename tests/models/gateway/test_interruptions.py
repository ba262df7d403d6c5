from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_models import Done, Fake, FakeSpec, request, rows
from patience import patience

from benchbuilder.models import Gateway
from benchbuilder.models.gateway.journal import Journal

PROGRAM = """
import os, sys
sys.path.insert(0, {folder!r})
from gateway_models import GATEWAY_KINDS, Done, Fake, FakeSpec, rows
from benchbuilder.core import registry
from benchbuilder.models import Gateway
from pathlib import Path

registry.BUILT_IN_KINDS["model"] = GATEWAY_KINDS
calls = os.open({calls!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(fake, request, attempt):
    # as a service would: it has done the work, and the bill, before the answer arrives
    os.write(calls, request.messages[0].content.encode() + b"\\n")


Fake.scripts["note"] = note
done = Done()
gateway = Gateway(Path({journal!r}), notice=lambda text: print(text.replace(' ', '_'), flush=True))
try:
    gateway.converse(
        "s", FakeSpec(concurrency={concurrency}, latency_s={latency_s}, script="note"), rows({count}), done
    )
except KeyboardInterrupt:
    print("interrupted", flush=True)
gateway.close()
print(len(done), flush=True)
"""


class World:
    def __init__(self, folder: Path, journal: Path) -> None:
        self.calls_file, self.journal = folder / "calls", journal
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *, count: int = 300, concurrency: int = 8, latency_s: float = 0.004) -> subprocess.Popen[str]:
        program = PROGRAM.format(
            folder=str(Path(__file__).parent), calls=str(self.calls_file), journal=str(self.journal),
            count=count, concurrency=concurrency, latency_s=latency_s,
        )  # fmt: skip
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def wait_until_in_flight(self, count: int) -> None:
        held, deadline = Journal(self.journal), time.monotonic() + patience()
        while held.rows("SELECT count(*) FROM sqlite_master WHERE name = 'attempts'") != [(1,)] or held.rows(
            "SELECT count(*) FROM attempts"
        ) != [(count,)]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        held.close()

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def wait_for_calls(self, count: int) -> None:
        deadline = time.monotonic() + patience()
        while len(self.calls()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def journaled(self) -> set[str]:
        held = Journal(self.journal)
        found = {asked.messages[0].content for _, asked, _ in held.entries()}
        held.close()
        return found


@pytest.fixture
def world(tmp_path, journal) -> Iterator[World]:
    made = World(tmp_path, journal)
    yield made
    for process in made.started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.full
def test_killed_at_random_no_reply_is_paid_for_twice(world):
    rng = random.Random(20)
    kills = 6
    for _ in range(kills):
        known, before = world.journaled(), len(world.calls())
        process = world.start()
        world.wait_for_calls(before + rng.randint(5, 40))
        process.kill()
        process.communicate()
        again = Counter(world.calls()[before:])
        assert not known & set(again)  # what was journaled is not asked for again
        assert set(again.values()) == {1}
    process = world.start()
    assert process.communicate(timeout=120)[0].split() == ["300"]
    calls = Counter(world.calls())
    assert set(calls) == {f"row {number}" for number in range(300)}
    assert len(world.calls()) - 300 <= kills * 8  # per kill at most what was in flight
    with Gateway(world.journal) as gateway:
        (receipt,) = gateway.receipts()
        gateway.converse("s", FakeSpec(), rows(300), done := Done())
    assert done == {number: f"re: row {number}" for number in range(300)}
    assert not Fake.asked
    assert receipt.calls == 300
    assert receipt.unanswered <= kills * 8


@pytest.mark.push
def test_attempts_of_a_process_that_runs_are_in_flight_and_lost_once_it_is_killed(world):
    process = world.start(concurrency=4, latency_s=600)
    world.wait_until_in_flight(4)
    with Gateway(world.journal) as gateway:
        assert gateway.receipts() == ()
        process.kill()
        process.communicate()
        (receipt,) = gateway.receipts()
    assert (receipt.calls, receipt.unanswered) == (0, 4)


@pytest.mark.push
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_first_interruption_keeps_everything_that_is_in_flight(world):
    process = world.start(count=100_000, concurrency=8, latency_s=0.1)
    world.wait_for_calls(20)
    process.send_signal(signal.SIGINT)
    waits, said, count = process.communicate(timeout=patience())[0].split()
    assert waits.startswith("stopping:_waiting_for_")
    assert (said, process.returncode) == ("interrupted", 0)
    assert len(world.journaled()) == len(world.calls()) == int(count)
    with Gateway(world.journal) as gateway:
        assert gateway.receipts()[0].unanswered == 0


@pytest.mark.push
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_second_interruption_waits_for_nothing(world):
    process = world.start(count=100_000, concurrency=8, latency_s=600)
    world.wait_until_in_flight(8)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)  # not a limit: it waits for the answers
    process.send_signal(signal.SIGINT)
    waits, *rest = process.communicate(timeout=patience())[0].split()
    assert waits.replace("_", " ") == (
        "stopping: waiting for 8 requests in flight; Ctrl-C again stops at once (they may be billed)"
    )
    assert rest == ["interrupted", "0"]
    with Gateway(world.journal) as gateway:
        assert gateway.receipts()[0].unanswered == 8
        assert gateway.lookup(FakeSpec(), request("row 1")) is None
