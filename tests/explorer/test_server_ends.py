"""A server whose workbench has a worker ends without a word when it is told to."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from once import BUILT, Once
from patience import patience

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes"),
]
BENCH = "b/care_mi/work/state_choice"


@pytest.mark.parametrize(("number", "wait"), [(signal.SIGTERM, 0.0), (signal.SIGINT, 0.0), (signal.SIGINT, 0.7)])
def test_a_server_with_a_worker_prints_nothing_at_its_end(once: Once, tmp_path: Path, number: int, wait: float) -> None:
    """`wait` is how long the worker has been starting when Ctrl-C reaches all processes of the terminal."""
    once.copied(BUILT, tmp_path)
    command = [sys.executable, "-m", "benchbuilder", "view", "recipe=care_mi", "--no-browser"]
    server = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert server.stdout is not None
    entrance = re.search(r"(http://\S+/)enter/\S+", server.stdout.readline())
    assert entrance is not None
    visit = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
    visit(entrance[0]).read()
    page = visit(f"{entrance[1]}{BENCH}").read().decode()
    address, text = (
        re.search(pattern, page, re.DOTALL) for pattern in (r'"/(\S+/try\?[^"]+)"', r"<textarea.*?>(.*?)<")
    )
    assert address is not None
    assert text is not None
    body = urlencode({"text": unescape(text[1])}).encode()
    request = urllib.request.Request(entrance[1] + unescape(address[1]), data=body)

    def attempt() -> None:
        with suppress(OSError):
            visit(request).read()

    trial = threading.Thread(target=attempt)
    trial.start()
    if wait:
        time.sleep(wait)
    else:
        trial.join()
    os.killpg(server.pid, number)
    assert server.communicate(timeout=patience())[0] == ""
    assert server.returncode == (0 if number == signal.SIGINT else -number)
    trial.join()
