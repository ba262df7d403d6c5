"""The review app in a process of its own, browsers that talk to it over HTTP, and what must hold of its database."""

from __future__ import annotations

import html
import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from patience import first_line, patience

SCRIPT = Path(__file__).with_name("serve_votes.py")
SESSION = "review_session"
"""The cookie that holds a session."""


class Server:
    """A running app. `said` is what it wrote to stdout and stderr, all its lives long."""

    def __init__(self, url: str, folder: Path, *options: str) -> None:
        self._command = [sys.executable, "-W", "error", str(SCRIPT), url, *options]
        self._output = folder / "server.log"
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> None:
        """Start it, at the port where it was before if it was; it answers when this returns."""
        with self._output.open("a") as errors:
            self._process = subprocess.Popen(
                [*self._command, "--port", str(self.port)], stdout=subprocess.PIPE, stderr=errors, text=True
            )
        address = first_line(self._process)
        assert address.startswith("http://127.0.0.1:"), self.said
        self.port = urlsplit(address.strip()).port or 0

    @property
    def said(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """kill -9: it gets no chance to do anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does; killed if it does not within some minutes."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.send_signal(how)
            try:
                process.wait(patience())
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        finally:
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def serving(url: str, folder: Path, *options: str) -> Iterator[Server]:
    """The app over the database at `url` for as long as the context lasts; `options` are those of the script."""
    server = Server(url, folder, *options)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


@dataclass
class Browser:
    """Keeps cookies and one connection; follows nothing by itself."""

    server: Server
    cookies: dict[str, str] = field(default_factory=dict)
    _connection: http.client.HTTPConnection | None = None
    _csrf: str = ""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request; OSError or HTTPException if the server does not answer it."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=patience())
        try:
            self._connection.request(method, path, body, sent)
            response = self._connection.getresponse()
            answer = Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        except BaseException:
            self.close()
            raise
        for line in response.msg.get_all("Set-Cookie") or ():
            self._keep(line)
        return answer

    def _keep(self, line: str) -> None:
        name, _, value = line.partition(";")[0].partition("=")
        if "max-age=0" in line.lower() or value in ("", '""'):
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, data: Mapping[str, str] | Sequence[tuple[str, str]], **headers: str) -> Answer:
        """Send a form as a browser does."""
        body = urlencode(data).encode()
        return self.ask("POST", path, body, **{"Content-Type": "application/x-www-form-urlencoded", **headers})

    def enter(self, token: str) -> Answer:
        """Come in by an invite link: the page, and its button."""
        page = self.get(f"/enter/{token}")
        if page.status != 200:
            return page
        return self.post("/enter", {"token": token, "csrf": field_value(page.text, "csrf")})

    @property
    def csrf(self) -> str:
        """The token that forms carry in this session."""
        if not self._csrf:
            self._csrf = field_value(self.get("/help").text, "csrf")
        return self._csrf


def field_value(page: str, name: str) -> str:
    """The value of the hidden field called `name`."""
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page)
    assert found, f"no field {name} in {page[:400]}"
    return html.unescape(found[1])
