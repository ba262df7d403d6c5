from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from patience import first_line, patience

from browser.sites import Site, patience_ms

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, for all tests of this folder; it is closed before any other test runs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here")
    playwright.expect.set_options(timeout=patience_ms())
    with playwright.sync_playwright() as running:
        rules = "MAP *.localhost 127.0.0.1, EXCLUDE 127.0.0.1, MAP * ~NOTFOUND"
        found = running.chromium.launch(executable_path=path, args=["--no-sandbox", f"--host-resolver-rules={rules}"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """A folder of databases and the port at which they are all served, each as a site of its own."""
    folder = tmp_path_factory.mktemp("sites")
    script = Path(__file__).with_name("serve_sites.py")
    with (folder / "server.log").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", str(script), str(folder)], stdout=subprocess.PIPE, stderr=said, text=True
        )
    try:
        assert process.stdout is not None
        address = first_line(process).strip()
        assert address.startswith("http://127.0.0.1:"), (folder / "server.log").read_text()
        yield folder, int(address.rstrip("/").rpartition(":")[2])
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(patience())
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
    assert (folder / "server.log").read_text() == "", "the server has something to complain about"


@pytest.fixture
def site(chromium: Browser, served: tuple[Path, int]) -> Iterator[Site]:
    """An app with an empty database of its own. What its pages do wrong in any browser fails the test."""
    folder, port = served
    name = f"site{len(list(folder.glob('*.sqlite')))}"
    made = Site(chromium, f"sqlite:///{folder / name}.sqlite", f"http://{name}.localhost:{port}")
    try:
        yield made
    finally:
        made.close()
    assert made.wrong() == []
