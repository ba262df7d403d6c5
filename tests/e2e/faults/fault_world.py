"""A small project in which commands are disturbed, and what they make that nothing disturbs."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock
from injected_faults import VARIABLE
from patience import patience, until

from benchbuilder.config import search_path
from benchbuilder.testing import FakeOpenAI

ADDRESS = "http://service.invalid/v1"
"""The service: each worker's, behind a proxy of its own, so that the requests of all have the same keys."""
IN_FLIGHT = 4
"""Requests at a time."""
RECIPE = "care_mi"
MODELS = ("alpha", "beta", "gamma")
_ASKING = ("state_choice", "negate_choice", "ask_tf_choice", "ask_oe_choice")
_CATEGORIES = "{Clinic: true, PublicHealth: false, Stomatology: false, CWM: false, TCM: false}"
_SETTINGS = (
    f"recipe={RECIPE}", "source=[mlecqa,textbook]", "annotation=none", "paths.mlecqa=mlecqa",
    "paths.textbook=textbook.jsonl", f"sources.mlecqa.categories={_CATEGORIES}", "run.shard_rows=4", "run.workers=1",
    "audit.permutations=99", f"model.base_url={ADDRESS}", "model=openai",
    *(f"steps.{step}.strategy=model" for step in _ASKING),
    "model.name=fake-1", f"model.concurrency={IN_FLIGHT}", "model.retries=5", "model.timeout_s=2", "model.give_up_s=1",
    "budget.tokens=10000000",
)  # fmt: skip
_FASTER = ("evaluation.baselines=null", "evaluation.bootstrap.samples=100")
_JUDGES = ("evaluation.training.ablations=[]", *(
    f"evaluation.judges.ridge_{aspect}.{setting}"
    for aspect in ("correctness", "interpretability") for setting in ("folds=2", "penalties=[1]", "most=500")
))  # fmt: skip
_FURTHER = {
    "evaluate": ("evaluation.answers=null", *_FASTER),
    "judge train": ("paths.model_answers=answers.jsonl", "paths.ratings=ratings.csv", *_FASTER, *_JUDGES),
    "clean --yes": ("retriever.top_k=2",),
}
RESULTS = {"build": ".", "evaluate": "evaluation", "judge train": "judges", "audit": "audit", "clean --yes": "."}
"""The folder of what each command makes, in that of the build."""


def words(command: str) -> list[str]:
    """The command line without `benchbuild` and the name of the command."""
    return [*_SETTINGS, *_FURTHER.get(command, ())]


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    said: str


@dataclass(frozen=True)
class Project:
    """A folder with sources and a build."""

    folder: Path
    program: Path
    server: FakeOpenAI

    @property
    def build(self) -> Path:
        """The folder of the build."""
        return self.folder / "builds" / RECIPE

    def start(self, command: str, fault: Mapping[str, Any] | None = None, *more: str) -> subprocess.Popen[str]:
        """Begin a command with `more` arguments, in which `fault` comes."""
        proxy = self.server.base_url.removesuffix("/v1")
        environ = os.environ | {"OPENAI_API_KEY": "sk-fault", "COLUMNS": "200", "http_proxy": proxy}
        if fault is not None:
            self.mark.unlink(missing_ok=True)
            environ[VARIABLE] = json.dumps({**fault, "mark": str(self.mark), "place": str(self.folder)})
        line = [str(self.program), *command.split(), *words(command), *more]
        return subprocess.Popen(line, cwd=self.folder, env=environ, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def run(self, command: str, fault: Mapping[str, Any] | None = None, *more: str) -> Ended:
        """Run a command with `more` arguments to its end; AssertionError if its fault did not come."""
        process = self.start(command, fault, *more)
        try:
            said, _ = process.communicate(timeout=patience())
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"it did not end:\n{process.communicate()[0]}") from None
        assert fault is None or self.mark.exists(), f"the fault did not come\n{said}"
        return Ended(process.returncode, said)

    @property
    def mark(self) -> Path:
        """The file that is there once a fault has come."""
        return self.folder.with_name(f"{self.folder.name}.mark")

    def made(self, command: str) -> dict[str, str]:
        """The digests of what a command has made: files, and what its steps hold; of a cleaning, what it has left."""
        place = self.build / RESULTS[command]
        if command.startswith("clean"):
            kept = [path for path in place.rglob("*") if path.name not in ("lock", "run.jsonl", "checksums.json")]
            return {path.relative_to(place).as_posix(): _digest(path) for path in kept}
        found = {
            path.relative_to(place).as_posix(): _digest(path)
            for path in (place.rglob("*") if command != "build" else place.glob("*.*"))
            if path.is_file() and not _is_about_runs(path.relative_to(place))
        }
        for path in sorted(place.glob("store/steps/*/*/manifest.json")):
            manifest = json.loads(path.read_bytes())
            found[f"step {manifest['step']}"] = manifest["digest"]
        return found

    def journaled(self) -> set[str]:
        """The messages of every request whose reply is on disk."""
        found: set[str] = set()
        for file in self.build.glob("**/replies.sqlite"):
            with tempfile.TemporaryDirectory() as folder:  # a reader that closes a journal would clear its log
                for part in file.parent.glob("replies.sqlite*"):
                    shutil.copy(part, folder)
                with closing(sqlite3.connect(Path(folder) / file.name)) as journal:
                    rows = journal.execute("SELECT request FROM bodies JOIN replies USING (id)").fetchall()
            found |= {_messages(json.loads(zlib.decompress(row[0]))["messages"]) for row in rows}
        return found

    def asked(self, since: int) -> set[str]:
        """The messages that the service has seen since its request of this number."""
        turns = (entry["body"]["messages"] for entry in self.server.log(since))
        return {_messages([turn["role"], turn["content"]] for turn in messages) for messages in turns}

    def bought(self) -> Counter[str]:
        """How often the service answered each request."""
        return Counter(entry["hash"] for entry in self.server.log() if entry["status"] == 200)

    def writable(self) -> None:
        """Undo that folders are read-only."""
        for folder, _, files in os.walk(self.folder):
            Path(folder).chmod(0o755)
            for name in files:
                Path(folder, name).chmod(0o644)

    @contextmanager
    def stopped_at(
        self, command: str, fault: Mapping[str, Any], *more: str
    ) -> Generator[subprocess.Popen[str]]:  # fmt: skip
        """A command with `more` arguments that waits at a moment for as long as the context lasts."""
        process = self.start(command, {**fault, "do": "wait"}, *more)
        until(lambda: self.mark.exists() or process.poll() is not None, "the moment did not come")
        assert self.mark.exists(), process.communicate()[0]
        try:
            yield process
        finally:
            self.mark.unlink()


def _digest(path: Path) -> str:
    """The digest of a file; of a folder, nothing."""
    return "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()


def _messages(turns: Iterable[Sequence[str]]) -> str:
    return json.dumps([list(turn) for turn in turns], ensure_ascii=False)


def _is_about_runs(path: Path) -> bool:
    """Whether a file tells of runs and replies, so that it differs between two equal builds."""
    runs = path.name == "run.jsonl" or path.name.startswith("replies.sqlite")
    return runs or path.parts[0] == "store" or path.suffix == ".lock"


@dataclass
class World:
    """What nothing disturbs: the project before the build, after it, and what each command makes of it."""

    folder: Path
    program: Path
    server: FakeOpenAI
    made: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    bought: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    def begin(self) -> None:
        """Make all of it, unless another worker has."""
        told = self.folder / "made.json"
        with FileLock(self.folder.with_suffix(".lock")):
            if not told.exists():
                shutil.rmtree(self.folder, ignore_errors=True)
                self._make()
                told.write_text(json.dumps([self.made, self.bought]), encoding="utf-8")
        self.made, bought = json.loads(told.read_text(encoding="utf-8"))
        self.bought = {command: Counter(requests) for command, requests in bought.items()}

    def _make(self) -> None:
        first = Project(self.folder / "before build", self.program, self.server)
        _write_sources(first.folder)
        for command in RESULTS:
            if command.startswith("clean"):  # steps of other settings, which no recipe needs any more
                other = self.project("build", self.folder / f"before {command}", finished=True)
                assert other.run("build", None, *_FURTHER[command]).code == 0
            whole = self.project(command, self.folder / f"after {command}")
            ended = whole.run(command)
            assert ended.code == 0, ended.said
            self.made[command], self.bought[command] = whole.made(command), whole.bought()
            if command == "build":
                _write_answers(whole)

    def project(self, command: str, folder: Path, *, finished: bool = False) -> Project:
        """A project in which `command` can run, but has not; or one in which it has `finished`."""
        self.server.reset()
        self.server.configure(rules=[])
        begun = self.folder / f"before {command}"
        begun = begun if begun.exists() else self.folder / "after build"
        begun = self.folder / f"after {command}" if finished else begun
        return Project(Path(shutil.copytree(begun, folder)), self.program, self.server)


def _write_sources(folder: Path) -> None:
    """Some rows of the sample's sources."""
    sample = search_path.bundled_folder("recipes") / "recipe" / RECIPE / "sample"
    (folder / "mlecqa").mkdir(parents=True)
    rows = json.loads((sample / "mlecqa" / "Clinic_train.json").read_text(encoding="utf-8"))[:12]
    (folder / "mlecqa" / "Clinic_train.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    lines = (sample / "textbook.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:12]
    (folder / "textbook.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_answers(project: Project) -> None:
    """Answers that models gave to the items, and what three people thought of them."""
    lines = (project.build / "items.jsonl").read_text(encoding="utf-8").splitlines()
    raters = [f"{aspect}.rater_{n}" for aspect in ("correctness", "interpretability") for n in (1, 2, 3)]
    with (
        (project.folder / "answers.jsonl").open("w", encoding="utf-8") as answers,
        (project.folder / "ratings.csv").open("w", encoding="utf-8", newline="") as ratings,
    ):
        rows = csv.writer(ratings)
        rows.writerow(["id", "model", *raters])
        for number, line in enumerate(lines):
            item = json.loads(line)
            for turn, model in enumerate(MODELS):
                said = {"id": item["id"], "model": model, "answer": item[("answer", "answer-wrong")[turn % 2]]}
                answers.write(json.dumps(said, ensure_ascii=False) + "\n")
                scores = (f"{(number * 7 + turn + place * 3) % 11 / 10:.1f}" for place in range(len(raters)))
                rows.writerow([item["id"], model, *scores])
