"""Starts and controls the fake OpenAI service, which runs in a process of its own.

For tests of providers and of whole builds. The service ends with the process that started it::

    from benchbuilder.testing import fake_openai_server

    with fake_openai_server({"latency_s": 0.05, "rules": [{"when": {"share": 0.1}, "do": "server_error"}]}) as server:
        ...  # give a model server.base_url
        assert len(server.log()) == 40
        server.configure(rules=[])

In a shell, ``python -m benchbuilder.testing.fake_openai.server --config FILE.json`` starts it and prints its port.
`Behaviour` lists all settings. The service has chat completions, models, files, batches and fine-tuning jobs, and
control endpoints: ``GET /control/log``, ``GET /control/stats``, ``POST /control/config`` (fields of `Behaviour` to
change) and ``POST /control/reset`` (forgets the log, attempts, files, batches and jobs).
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import extra_advice, is_installed
from benchbuilder.testing.fake_openai.behaviour import Behaviour

FAKE_OPENAI_HOST = "127.0.0.1"


@dataclass(frozen=True)
class FakeOpenAI:
    """A running service, controlled from another process.

    Attributes:
        port: Its port on `FAKE_OPENAI_HOST`.
        process: Its process.
    """

    port: int
    process: subprocess.Popen[str]

    @property
    def base_url(self) -> str:
        """The `base_url` for a model."""
        return f"http://{FAKE_OPENAI_HOST}:{self.port}/v1"

    def log(self, since: int = 0) -> list[dict[str, Any]]:
        """Every chat request in the order of arrival, without the first `since`.

        Returns:
            Records with the fields `number` (from 1), `hash` of the body, `attempt` at that body, `model`, `user` (the
            last user message), `effect`, `status` (``None`` before the answer, 0 for a dropped connection), `sent`
            (whether the client was still connected), `received` and `answered` (seconds since 1970), `batch` (its
            id), and `body` if `Behaviour.keep_bodies` is set.
        """
        return self._control_request("GET", f"log?since={since}")

    def stats(self) -> dict[str, Any]:
        """Counts: `requests`, `statuses`, `in_flight`, `peak` in flight, `calls` of other paths."""
        return self._control_request("GET", "stats")

    def configure(self, **changes: Any) -> None:
        """Change fields of the behaviour.

        Raises:
            ValueError: A field is unknown, or its value is wrong.
        """
        self._control_request("POST", "config", changes)

    def reset(self) -> None:
        """Forget all requests, files, batches and jobs; the behaviour stays."""
        self._control_request("POST", "reset", {})

    def _control_request(self, method: str, endpoint: str, body: Mapping[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection(FAKE_OPENAI_HOST, self.port, timeout=30)
        try:
            connection.request(method, f"/control/{endpoint}", None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(answer["error"]["message"])
        return answer


@contextmanager
def fake_openai_server(behaviour: Behaviour | Mapping[str, Any] | None = None) -> Generator[FakeOpenAI]:
    """Run the service in a process of its own for as long as the context lasts.

    Args:
        behaviour: How it behaves at first; by default, it echoes the last user message.

    Raises:
        ValueError: The behaviour has an unknown field or a wrong value.
        RuntimeError: The process ended before it could serve.
    """
    settings = behaviour if isinstance(behaviour, Behaviour) else Behaviour.model_validate(behaviour or {})
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "behaviour.json"
        config.write_text(settings.model_dump_json(), encoding="utf-8", newline="\n")
        command = [sys.executable, "-m", "benchbuilder.testing.fake_openai.server", "--config", str(config)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                first = process.stdout.readline()
                if not first.strip().isdigit():
                    raise RuntimeError(f"the fake service did not start: its exit code is {process.wait()}")
                yield FakeOpenAI(int(first), process)
            finally:
                process.kill()


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchbuilder.testing.fake_openai.server", description="A fake OpenAI service."
    )
    parser.add_argument("--config", type=Path, help="a JSON file with fields of Behaviour")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    given = parser.parse_args(arguments)
    if not is_installed("aiohttp"):
        parser.error(f"the library aiohttp is not installed: {extra_advice('openai')}")
    config = "{}" if given.config is None else given.config.read_text(encoding="utf-8")

    from benchbuilder.testing.fake_openai.service import serve_fake_openai  # aiohttp is for this process alone

    asyncio.run(serve_fake_openai(Behaviour.model_validate_json(config), FAKE_OPENAI_HOST, given.port))


if __name__ == "__main__":
    main()
