"""A warm `benchbuild`: a process that has imported everything, and forks for each command of all workers of a run.

Pages of the documentation run hundreds of commands. A new interpreter takes a second to import what each of them
needs; a fork of one that has done so takes a hundredth. The command in the fork is the real one, with the working
folder, the environment, the files and the signals of whoever calls it. Whoever kills the caller kills the command.
"""

from __future__ import annotations

import array
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bare import EXTRAS, hide_extras, show_extras
from filelock import FileLock

RUN = "BENCHBUILDER_TESTS_RUN"
"""The environment variable that names the process of the run."""
_LOOKS_UP_S = 10
"""Seconds after which the shared process looks whether the run goes on."""
_SERVE = "--serve"
_CLIENT = """#!{python} -IS
import array, json, os, signal, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect({door!r})
said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
fds = array.array("i", [0, 1, 2])
door.sendmsg([len(said).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
door.sendall(said)
heard = door.makefile("rb")
child = int(heard.readline())
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, frame: os.kill(child, number))
code = int(heard.readline() or 70)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def shared(folder: Path, *, bare: bool = False) -> Path:
    """The folder for the PATH of the one warm process that all workers of a run use: whoever comes first starts it.

    A `bare` one has no library of an extra, but for those that the environment of a command names (see `bare`).
    It ends by `end`, or once the process that the environment names as that of the run is no more.
    """
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        if not (folder / "pid").exists():
            program = _write_client(folder)
            # it returns once the door is open
            subprocess.run(
                [sys.executable, __file__, str(folder), *["bare"] * bare], stdin=subprocess.DEVNULL, check=True
            )
        else:
            program = folder / "bin" / "benchbuild"
    return program.parent


def end(folder: Path) -> None:
    """End the process of `shared`, if there is one."""
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int((folder / "pid").read_text(encoding="utf-8")), signal.SIGTERM)


@contextmanager
def composed(folder: Path, warm: Path, *compositions: Sequence[str]) -> Generator[Path]:
    """A folder with a `benchbuild` to be put first on the PATH, for as long as the context lasts.

    Its process is a fork of the one that `shared` returned, which has also composed recipes that many commands need, by
    their `compositions` on the command line.
    """
    program, door = _write_client(folder), folder / "door"
    server = subprocess.Popen([warm / "benchbuild", _SERVE, str(door), json.dumps(compositions)])
    try:
        while not door.exists():
            if server.poll() is not None:
                raise RuntimeError("the warm process did not come up")
            time.sleep(0.02)
        yield program.parent
    finally:
        server.terminate()
        server.wait()


def _write_client(folder: Path) -> Path:
    program = folder / "bin" / "benchbuild"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_CLIENT.format(python=sys.executable, door=str(folder / "door")), encoding="utf-8")
    program.chmod(0o755)
    return program


_LIBRARIES = (
    "openai", "aiohttp", "jieba.finalseg", "pyarrow.parquet", "pyarrow.dataset", "pandas",
    "pyarrow.pandas_compat", "openpyxl", "rich._emoji_codes", "_strptime", "sklearn.linear_model",
)  # fmt: skip
"""What commands import when they need it; pandas is what pyarrow imports when it is given a list."""


def _preload(bare: bool) -> None:
    """Import what commands import when they need it, and read what is the same for all."""
    import importlib
    import pkgutil

    import benchbuilder
    from benchbuilder.config.load import load_recipe
    from benchbuilder.core.errors import InstallationError
    from benchbuilder.evaluation.parsing.verdicts import verdict_reader
    from benchbuilder.retrieval.tokenizers.jieba import JiebaTokenizer

    light = ("judges.neural", "judges.encoder", "judges.decoder", "testing", "review", "bundled", "doors", "votes.app")
    lacking = (ImportError, InstallationError) if bare else ()
    for module in pkgutil.walk_packages(benchbuilder.__path__, "benchbuilder."):
        if not any(part in module.name for part in light) and ".migrations" not in module.name:
            with suppress(*lacking):
                importlib.import_module(module.name)
    for library in _LIBRARIES:
        with suppress(*lacking):
            importlib.import_module(library)
    load_recipe(["recipe=care_mi", "annotation=none"])
    loaded = load_recipe(["recipe=care_mi"])
    JiebaTokenizer(loaded.recipe.tokenizer).open()
    verdict_reader([table.file for table in loaded.recipe.evaluation.scorers["verdict"].tables])


def _open_door(folder: Path, bare: bool) -> None:
    """The process of `shared`: begin to serve in a process that nobody waits for."""
    os.chdir(folder)  # where no recipes are, as where most commands run: what is composed once is kept for them
    run = int(os.environ[RUN])
    if bare:
        hide_extras()
    _preload(bare)
    with socket.socket(socket.AF_UNIX) as waiting:
        _listen(waiting, folder / "door")
        if child := os.fork():
            (folder / "pid").write_text(str(child), encoding="utf-8")
            return
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        waiting.settimeout(_LOOKS_UP_S)
        _serve(waiting, run)


def _serve_composed(door: str, compositions: Sequence[Sequence[str]]) -> None:
    """The process of `composed`."""
    from benchbuilder.config.load import load_recipe

    os.chdir(Path(door).parent)
    for words in compositions:
        load_recipe(words)
    with socket.socket(socket.AF_UNIX) as waiting:
        _listen(waiting, Path(door))
        _serve(waiting)


def _listen(waiting: socket.socket, door: Path) -> None:
    Path(f"{door}.new").unlink(missing_ok=True)
    waiting.bind(f"{door}.new")
    waiting.listen(64)
    Path(f"{door}.new").rename(door)


def _serve(waiting: socket.socket, run: int = 0) -> None:
    """Serve for as long as the process `run` lives."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    gc.freeze()
    while True:
        try:
            one, _ = waiting.accept()
        except TimeoutError:
            os.kill(run, 0)  # which raises once there is no such process
            continue
        # a keeper for each command waits for it, so that others need not
        if os.fork() == 0:
            waiting.close()
            _keep(one)
            os._exit(0)
        one.close()
        _reap()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _keep(one: socket.socket) -> None:
    fds = array.array("i")
    head, ancillary, *_ = one.recvmsg(8, socket.CMSG_LEN(3 * fds.itemsize))
    for _, _, data in ancillary:
        fds.frombytes(data)
    size, said = int.from_bytes(head, "big"), b""
    while len(said) < size:
        said += one.recv(size - len(said))
    words, folder, environment = json.loads(said)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        one.close()
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        os._exit(_command(words, folder, environment))
    for fd in fds:
        os.close(fd)
    over = threading.Event()
    threading.Thread(target=_watch, args=(one, child, over), daemon=True).start()
    one.sendall(f"{child}\n".encode())
    status = os.waitpid(child, 0)[1]
    over.set()
    one.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _watch(caller: socket.socket, child: int, over: threading.Event) -> None:
    """Kill the command, and what it started, once its caller is no more."""
    with suppress(OSError):
        caller.recv(1)  # which says nothing more, so that this is its end
    if not over.is_set():
        os.killpg(child, signal.SIGKILL)


def _command(words: list[str], folder: str, environment: dict[str, str]) -> int:
    import injected_faults
    import step_pool

    from benchbuilder.cli.dispatch import main

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if words[:1] == [_SERVE]:
        _serve_composed(words[1], json.loads(words[2]))
    show_extras(environment.get(EXTRAS, ""))
    injected_faults.arm()
    step_pool.arm()
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1 if error.code else 0
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _open_door(Path(sys.argv[1]), sys.argv[2:] == ["bare"])
