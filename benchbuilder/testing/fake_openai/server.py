"""A local service that speaks the OpenAI protocol over real HTTP and misbehaves on purpose.

For tests of adapters and of whole builds. It runs in a process of its own, which ends with the one that started it::

    from benchbuilder.testing.fake_openai.server import running

    with running({"latency_s": 0.05, "rules": [{"when": {"share": 0.1}, "do": "server_error"}]}) as server:
        ...  # server.base_url is the address to give to a model
        assert len(server.log()) == 40
        server.configure(rules=[])

or in a shell ``python -m benchbuilder.testing.fake_openai.server --config FILE.json``, which prints its port first.
What can be set stands in `Behaviour`. There are chat completions, models, files, batches and fine-tuning jobs;
besides, ``GET /control/log``, ``GET /control/stats``, ``POST /control/config`` (fields of `Behaviour` to change) and
``POST /control/reset`` (forget the log, attempts, files, batches and jobs).
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import Behaviour
from benchbuilder.testing.fake_openai.http import HttpConnection
from benchbuilder.testing.fake_openai.service import FakeService

FAKE_OPENAI_HOST = "127.0.0.1"


@dataclass(frozen=True)
class FakeOpenAI:
    """A running server, seen from outside."""

    port: int
    process: subprocess.Popen[str]

    @property
    def base_url(self) -> str:
        """What a model's `base_url` is set to."""
        return f"http://{FAKE_OPENAI_HOST}:{self.port}/v1"

    def log(self, since: int = 0) -> list[dict[str, Any]]:
        """Every chat request in the order of arrival, but for the first `since`.

        Fields: `number` (from 1), `hash` of the body, `attempt` at that body, `model`, `user` (the last user
        message), `effect`, `status` (``None`` before the answer, 0 for a dropped connection), `sent` (whether the
        client was still there), `received` and `answered` (seconds since 1970), `batch` (its id), and `body` if
        `Behaviour.keep_bodies`.
        """
        return self._control_request("GET", f"log?since={since}")

    def stats(self) -> dict[str, Any]:
        """Counts: `requests`, `statuses`, `in_flight`, `peak` in flight, `calls` of other paths."""
        return self._control_request("GET", "stats")

    def configure(self, **changes: Any) -> None:
        """Set fields of the behaviour; ValueError if they are wrong."""
        self._control_request("POST", "config", changes)

    def reset(self) -> None:
        """Forget what was asked so far; the behaviour stays."""
        self._control_request("POST", "reset", {})

    def _control_request(self, method: str, what: str, body: Mapping[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection(FAKE_OPENAI_HOST, self.port, timeout=30)
        try:
            connection.request(method, f"/control/{what}", None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(answer["error"]["message"])
        return answer


@contextmanager
def fake_openai_server(behaviour: Behaviour | Mapping[str, Any] | None = None) -> Generator[FakeOpenAI]:
    """A server in a process of its own, for as long as the context lasts."""
    given = behaviour if isinstance(behaviour, Behaviour) else Behaviour.model_validate(behaviour or {})
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "behaviour.json"
        config.write_text(given.model_dump_json(), encoding="utf-8")
        command = [sys.executable, "-m", "benchbuilder.testing.fake_openai.server", "--config", str(config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                first = process.stdout.readline()
                if not first.strip().isdigit():
                    raise RuntimeError(f"the server did not start: its exit code is {process.wait()}")
                yield FakeOpenAI(int(first), process)
            finally:
                process.kill()


async def serve_fake_openai(behaviour: Behaviour, port: int) -> None:
    """Serve until the process that started this one is gone; the first line printed is the port."""
    service = FakeService(behaviour)
    loop, parent = asyncio.get_running_loop(), os.getppid()
    loop.set_exception_handler(_stop_on_error)
    server = await loop.create_server(lambda: HttpConnection(service.serve), FAKE_OPENAI_HOST, port, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    while os.getppid() == parent:
        await asyncio.sleep(0.5)


def _stop_on_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A mistake in the server or its plugin ends it, so that nobody waits for an answer."""
    loop.default_exception_handler(context)
    sys.stderr.flush()
    os._exit(1)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchbuilder.testing.fake_openai.server", description="A fake OpenAI service."
    )
    parser.add_argument("--config", type=Path, help="a JSON file with fields of Behaviour")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    given = parser.parse_args(arguments)
    config = "{}" if given.config is None else given.config.read_text(encoding="utf-8")
    asyncio.run(serve_fake_openai(Behaviour.model_validate_json(config), given.port))


if __name__ == "__main__":
    main()
