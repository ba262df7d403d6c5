"""How long pages of the review app take beside an empty page, and whether that grows with the number of candidates.

    python performance/review_pages.py [--quick] [--postgres]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import yaml

from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.tasks import paragraph_key, task_key
from benchbuilder.config.spec.annotation import ProjectSpec

USERS = 16
SIZES = (200, 20_000)
PASSES, ROUNDS, WARM = 2, 10, 2
MOST_TIMES, MOST_GROWTH = 5.0, 1.25
"""The median page may take so many times an empty one, and so many times what it takes with few candidates."""
PROJECT = "claims"
PARAGRAPHS = 4
PARAGRAPH = "妊娠期高血压的血压升高首次出现于妊娠20周以后，不伴蛋白尿和器官损害，产后逐渐恢复正常。" * 4
REPO = Path(__file__).parents[1]


def project() -> Project:
    """The annotation of candidates, with the questions of the bundled recipes."""
    questions = yaml.safe_load((REPO / "recipes/questions/zh_claims.yaml").read_text(encoding="utf-8"))["questions"]
    spec = ProjectSpec.model_validate({
        "kind": "app", "title": "Candidates", "questions": questions, "per_task": 2, "heading": "问题",
        "paragraph": "段落", "fields": {"text": "问题", "right": "正确答案", "wrong": "错误答案"},
        "suggested_seconds": 300, "bootstrap": {"samples": 100, "level": 0.95, "seed": 1},
    })  # fmt: skip
    return Project(PROJECT, spec, "## 判断原则\n\n以现行教材和**指南**为准。\n" * 5, "zh", 7)


def task(number: int) -> Task:
    """A candidate with paragraphs."""
    text = f"妊娠期高血压的血压升高首次出现于什么时候？（{number}）"
    fields = (("text", text), ("right", "妊娠20周以后"), ("wrong", "妊娠12周以前"))
    key = task_key(fields)
    texts = [f"（{place}）{PARAGRAPH}" for place in range(PARAGRAPHS)]
    return Task(
        key, fields, tuple(ShownParagraph(paragraph_key(key, each), "textbook", "讲义", each) for each in texts)
    )


def lay_out(url: str, size: int) -> list[str]:
    """A database with `size` candidates; the tokens of its annotators."""
    with AnnotationStore.open(url) as store:
        tokens = [store.invite(f"annotator {number}", "annotator")[1] for number in range(USERS)]
        store.sync_project(project(), [task(number) for number in range(size)])
    return tokens


# --- the server


def serve(url: str) -> None:
    """Serve the app over `url`; its address goes to stdout."""
    from benchbuilder.annotation.app.app import create_app
    from benchbuilder.web import serve_app as run

    with AnnotationStore.open(url) as store:
        app = create_app(store, {}, secure=False, hosts=["127.0.0.1"])
        run(app, "127.0.0.1", 0, on_ready=lambda address: print(address, flush=True))


@contextmanager
def serving(url: str) -> Iterator[tuple[int, Callable[[], float]]]:
    """A server in a process of its own: its port, and how many seconds of processor time it took so far."""
    command = [sys.executable, __file__, "--serve", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = urlsplit(process.stdout.readline().strip()).port
            if port is None:
                raise RuntimeError("the server did not start")
            yield port, lambda: _worked(process.pid)
        finally:
            process.terminate()


def _worked(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


# --- the users


class User:
    """A browser that does as little itself as can be: one connection, prepared requests, no parsing of headers."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head, self._cookie = f"Host: 127.0.0.1:{port}\r\n", ""
        page = self.ask("GET", f"/enter/{token}")[2]
        self.ask("POST", "/enter", {"token": token, "csrf": _found(r'name="csrf" value="([^"]*)"', page)})

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """One request: status, location, body."""
        body = urlencode(form).encode() if form is not None else b""
        kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n" if form else ""
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{self._head}{self._cookie}{kind}\r\n".encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65536)
        head, _, rest = received.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        length = int(_found(r"(?i)content-length: (\d+)", text))
        while len(rest) < length:
            rest += self._socket.recv(65536)
        for cookie in re.findall(r"(?i)set-cookie: ([^=]+=[^;]+);", text):
            self._cookie = f"Cookie: {cookie}\r\n" if '=""' not in cookie else self._cookie
        location = re.search(r"(?i)location: (\S+)", text)
        return int(text[9:12]), location[1] if location else "", rest.decode()


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"no {pattern} in {text[:500]}")
    return found[1]


@dataclass
class Times:
    """Seconds of each request by kind of page, and processor seconds and requests of the server by kind of phase."""

    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    processor: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, kind: str, seconds: float) -> None:
        """One more."""
        self.seconds.setdefault(kind, []).append(seconds)

    def median(self, *kinds: str) -> float:
        """The median over all requests of `kinds`."""
        return statistics.median(each for kind in kinds for each in self.seconds[kind])


PAGES = ("next", "task", "submit")
EMPTY = "/p/nothing"


def annotate(user: User, times: Times) -> None:
    """One task: on to the next, look at it, answer it."""
    path = _timed(times, "next", lambda: user.ask("GET", f"/p/{PROJECT}"), 303)[1]
    page = _timed(times, "task", lambda: user.ask("GET", path), 200)[2]
    form = {name: _found(rf'name="{name}" value="([^"]*)"', page) for name in ("csrf", "shown", "task")}
    form |= dict.fromkeys(re.findall(r'name="(v\.[^"]+)"', page), "1")
    form |= {"action": "submit", "active": "20", "note": ""}
    _timed(times, "submit", lambda: user.ask("POST", path, form), 303)


def look_at_nothing(user: User, times: Times) -> None:
    """As many empty pages: one that says to who is signed in that there is nothing."""
    for _ in PAGES:
        _timed(times, "empty", lambda: user.ask("GET", EMPTY), 404)


def _timed(times: Times, kind: str, ask: Callable[[], tuple[int, str, str]], status: int) -> tuple[int, str, str]:
    began = time.perf_counter()
    answer = ask()
    times.add(kind, time.perf_counter() - began)
    if answer[0] != status:
        raise RuntimeError(f"{kind}: {answer[0]} {answer[2][:500]}")
    return answer


def phase(users: list[User], what: Callable[[User, Times], None], rounds: int, times: Times) -> None:
    """All users at once, each of them so many times, in a process of its own, so that none waits for another."""
    fork = multiprocessing.get_context("fork")
    together = fork.Barrier(len(users))
    ends = [fork.Pipe(duplex=False) for _ in users]
    children = [
        fork.Process(target=_work, args=(user, what, rounds, end[1], together))
        for user, end in zip(users, ends, strict=True)
    ]
    for child in children:
        child.start()
    for receiving, sending in ends:
        sending.close()
        for kind, seconds in receiving.recv().items():
            times.seconds.setdefault(kind, []).extend(seconds)
    for child in children:
        child.join()


def _work(
    user: User, what: Callable[[User, Times], None], rounds: int, sending: Connection, together: Barrier
) -> None:  # fmt: skip
    times = Times()
    together.wait()
    for _ in range(rounds):
        what(user, times)
    sending.send(times.seconds)


# --- the whole


def measure(new_database: Callable[[int], str], rounds: int) -> dict[int, Times]:
    """Times by number of candidates; empty pages and others, few candidates and many take turns."""
    found = {size: Times() for size in SIZES}
    with ExitStack() as stack:
        users: dict[int, list[User]] = {}
        worked: dict[int, Callable[[], float]] = {}
        for size in SIZES:
            url, began = new_database(size), time.perf_counter()
            tokens = lay_out(url, size)
            print(f"{size:,} candidates laid out in {time.perf_counter() - began:.1f} s", flush=True)
            port, worked[size] = stack.enter_context(serving(url))
            users[size] = [User(port, token) for token in tokens]
            for user in users[size]:
                stack.callback(user.close)
            phase(users[size], look_at_nothing, WARM, Times())
            phase(users[size], annotate, WARM, Times())
        for _ in range(PASSES):
            for size in SIZES:
                for kind, what in (("empty", look_at_nothing), ("page", annotate)):
                    before = worked[size]()
                    phase(users[size], what, rounds, found[size])
                    found[size].processor[kind] = found[size].processor.get(kind, 0.0) + worked[size]() - before
    return found


def report(found: dict[int, Times]) -> bool:
    """Print what was `found`; whether all of it is good enough."""
    print(f"\n{USERS} users, median milliseconds (times an empty page)\n")
    print("| candidates | empty page | next | task | submit | all three | processor ms/page: empty, all three |")
    print("|---|---|---|---|---|---|---|")
    for size, times in found.items():
        empty, count = times.median("empty"), len(times.seconds["empty"])
        cells = [f"{times.median(kind) * 1000:.1f} ({times.median(kind) / empty:.1f})" for kind in PAGES]
        cells.append(f"{times.median(*PAGES) * 1000:.1f} ({times.median(*PAGES) / empty:.1f})")
        spent = [f"{times.processor[kind] * 1000 / count:.2f}" for kind in ("empty", "page")]
        print(f"| {size:,} | {empty * 1000:.1f} | {' | '.join(cells)} | {', '.join(spent)} |")
    few, many = (found[size] for size in SIZES)
    ratios = {
        f"{size:,} candidates, times an empty page": t.median(*PAGES) / t.median("empty") for size, t in found.items()
    }
    growth = many.median(*PAGES) / few.median(*PAGES)
    good = growth <= MOST_GROWTH and all(ratio <= MOST_TIMES for ratio in ratios.values())
    print()
    for what, ratio in ratios.items():
        print(f"median page with {what}: {ratio:.2f} (at most {MOST_TIMES:g})")
    print(f"median page with {SIZES[1]:,} candidates, times with {SIZES[0]:,}: {growth:.2f} (at most {MOST_GROWTH:g})")
    return good


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="rough numbers; the exit code is 0 whatever they are")
    parser.add_argument("--postgres", action="store_true", help="over PostgreSQL, which must be installed")
    parser.add_argument("--serve", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return 0
    sys.path.append(str(REPO / "tests" / "support"))
    import postgres

    with tempfile.TemporaryDirectory() as folder, postgres.running() if args.postgres else nullcontext() as server:
        found = measure(lambda size: server.create() if server else f"sqlite:///{folder}/{size}.sqlite",
                        3 if args.quick else ROUNDS)  # fmt: skip
        good = report(found)
    return 0 if good or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
