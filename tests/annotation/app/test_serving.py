"""The app on a real port."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
import review_world
from patience import patience
from review_world import make_world

from benchbuilder.core.errors import ServiceError
from benchbuilder.web import serve_app

PROGRAM = """
import logging, sys
sys.path.insert(0, sys.argv[1])
from review_world import make_world
from benchbuilder.web import serve_app
logging.basicConfig(level=logging.DEBUG)
world = make_world(f"sqlite:///{sys.argv[2]}")
_, token = world.store.invite("Ann", "annotator", 100000)
serve_app(world.app, "127.0.0.1", 0, on_ready=lambda address: print(address, token, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.full
def test_it_serves_until_interrupted_and_logs_no_token(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(Path(review_world.__file__).parent), str(tmp_path / "v.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address, token = server.stdout.readline().split()
        page = httpx2.get(f"{address}enter/{token}")
        refused = httpx2.get(f"{address}enter/{token}x?a=b")
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=patience())
    assert (page.status_code, refused.status_code, server.returncode) == (200, 403, 0)
    assert "server" not in page.headers
    assert "stopped" in out
    assert "GET /enter/... 200" in err
    assert token not in err + out
    assert "Traceback" not in err


def test_a_port_in_use_is_an_error_with_advice(tmp_path: Path) -> None:
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", [])
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ServiceError) as error:
            serve_app(world.app, "127.0.0.1", other.getsockname()[1], on_ready=lambda _: None)
    assert "another one" in error.value.next
    world.store.close()
