"""The app behind nginx with TLS, by the file of the guide as it stands there; and slow clients with and without it."""

from __future__ import annotations

import contextlib
import http.client
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_app import SESSION, Answer, Browser, Server, serving
from load import Save, Shift, check_kept, side_by_side, signed_in, trouble
from patience import patience, until
from vote_worlds import PROJECT, check_consistent, connected, lay_out

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "annotate" / "run-the-review-app.md"
NAME = "review.example.org"
_HALF = b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def nginx(folder: Path, app_port: int) -> Iterator[int]:
    """nginx by the guide, with other ports and a certificate of its own; the port of TLS."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    openssl = shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip("nginx or openssl is not installed")
    key, certificate, port = folder / "key.pem", folder / "certificate.pem", _free_port()
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key),
         "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    found = re.search(r"```nginx\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    site = found[1].replace("listen 443", f"listen 127.0.0.1:{port}").replace(":8765;", f":{app_port};")
    site = site.replace(f"/etc/ssl/{NAME}.pem", str(certificate)).replace(f"/etc/ssl/{NAME}.key", str(key))
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{\n{paths}access_log {folder}/access.log;\n{site}}}\n"
    )
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "user root;"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            _until_open(port)
            yield port
        finally:
            process.terminate()


def _until_open(port: int) -> None:
    def is_open() -> bool:
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    until(is_open, "nginx does not listen")


class TlsBrowser(Browser):
    """A browser that reaches the app by the name in its certificate."""

    def __init__(self, server: Server, folder: Path, port: int) -> None:
        super().__init__(server)
        self._folder, self._tls_port = folder, port

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        if self._connection is None:
            context = ssl.create_default_context(cafile=str(self._folder / "certificate.pem"))
            plain = socket.create_connection(("127.0.0.1", self._tls_port), timeout=patience())
            self._connection = http.client.HTTPSConnection(NAME, self._tls_port, timeout=patience())
            self._connection.sock = context.wrap_socket(plain, server_hostname=NAME)
        return super().ask(method, path, body, **{"Host": NAME, **headers})


def test_the_guide_for_nginx_serves_by_tls_and_hides_links(database: str, tmp_path: Path) -> None:
    annotators = lay_out(database, 8, 4)
    shifts = [Shift(each, [Save(n, 1, "submit") for n in range(1, 5)]) for each in annotators]
    (tmp_path / "access.log").touch()
    with serving(database, tmp_path, "--host", NAME, "--proxy", "127.0.0.1") as server:
        with nginx(tmp_path, server.port) as port:
            for shift in shifts:
                shift.browser = TlsBrowser(server, tmp_path, port)
                assert shift.browser.enter(shift.annotator.token).status == 303
                assert {name.startswith("__Host-") for name in shift.browser.cookies} == {True}
                assert SESSION not in shift.browser.cookies
            side_by_side(lambda shift: shift.work(4), shifts)
            assert trouble(shifts) == []
            assert [len(shift.acknowledged) for shift in shifts] == [4] * 4
            with TlsBrowser(server, tmp_path, port) as guesser:
                forged = [guesser.get(f"/enter/{n:043}", X_Forwarded_For=f"192.0.2.{n}").status for n in range(22)]
                assert forged == [403] * 20 + [429] * 2, "nginx says who the client is, and not the client"
                page = guesser.get("/help")
                assert page.headers["strict-transport-security"]
                other = guesser.post("/enter", {"token": "x", "csrf": "y"}, Origin="https://evil.example")
                assert other.status == 403
        for shift in shifts:
            assert shift.browser is not None
            shift.browser.close()
    log = (tmp_path / "access.log").read_text()
    assert f"/p/{PROJECT}/1" in log
    assert "/enter/" not in log
    with connected(database) as connection:
        check_kept(connection, shifts)
    check_consistent(database)
    assert "Traceback" not in server.said


def test_six_hundred_half_open_connections_delay_nobody(database: str, tmp_path: Path) -> None:
    annotators = lay_out(database, 12, 2)
    shifts = [Shift(each, [Save(n, 1, "submit") for n in range(1, 13)]) for each in annotators]
    with serving(database, tmp_path) as server, signed_in(shifts, server), contextlib.ExitStack() as held:
        slow = [held.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(600)]
        for number, client in enumerate(slow):
            with contextlib.suppress(ConnectionError):
                client.sendall(
                    b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n" + b"\r\n" * (number % 2)
                )
        side_by_side(lambda shift: shift.work(0), shifts)
        assert trouble(shifts) == []
        assert [len(shift.acknowledged) for shift in shifts] == [12, 12]
        left = 0
        for client in slow:
            client.setblocking(False)
            try:
                left += client.recv(1) != b""
            except BlockingIOError:
                left += 1
            except ConnectionError:
                pass
        assert left <= 100, "the others of this address were ended"
