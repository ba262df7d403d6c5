"""A throw-away PostgreSQL server from the system's package, for tests; they are skipped where there is none.

Use it as a plugin: ``from postgres import postgres_server, postgres_url`` in a conftest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_USER = "postgres"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
    "timezone": "Asia/Shanghai",  # unlike UTC, so that times that lose their zone are noticed
}


@dataclass(frozen=True)
class PostgresServer:
    """A running server: `url` of its first database, and how to make more."""

    port: int

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def create(self) -> str:
        """URL of a new, empty database."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self._tell(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Forget a database, whoever still uses it."""
        self._tell(f"DROP DATABASE {url.rsplit('/', 1)[1]} WITH (FORCE)")

    def _tell(self, statement: str) -> None:
        from pg8000.native import Connection

        connection = Connection(_USER, host="127.0.0.1", port=self.port, database="postgres")
        try:
            connection.run(statement)
        finally:
            connection.close()


def _programs() -> Path | None:
    """The folder with the newest of Debian's servers, or the one on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _run(programs: Path, program: str, *arguments: str) -> None:
    command = [str(programs / program), *arguments]
    if os.geteuid() == 0:
        command = ["runuser", "-u", _USER, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def running(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A server for as long as the context lasts; pytest.skip with a reason if there cannot be one."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not start as root, and runuser is not there")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    server = PostgresServer(_free_port())
    data = str(folder / "data")
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
    settings = _SETTINGS | {"unix_socket_directories": str(folder), "port": str(server.port)}
    if not durable:
        settings |= {"fsync": "off", "full_page_writes": "off"}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    try:
        _run(programs, "initdb", "-D", data, "-U", _USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "-N")
        _run(programs, "pg_ctl", "-D", data, "-w", "-s", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield server
        finally:
            _run(programs, "pg_ctl", "-D", data, "-w", "-s", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of the session."""
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """URL of a new, empty database."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)
