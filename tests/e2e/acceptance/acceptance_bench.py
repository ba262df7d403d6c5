"""The sample recipe built by the command line against the fake service, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import patience

from benchbuilder.testing import FakeOpenAI

ANSWERS = str(Path(__file__).parent / "answers.py")
SECRET = "sk-never-to-be-seen-7f3a91"
ASKING = ("state_choice", "negate_choice", "ask_tf_choice", "ask_oe_choice")


def behaviour(**more: Any) -> dict[str, Any]:
    """What the service does: good answers, after a while."""
    return {"plugin": ANSWERS, "latency_s": 0.02, "jitter": 0.9, "api_key": SECRET, **more}


@dataclass(frozen=True)
class Built:
    """How a build ended."""

    code: int
    said: str


@dataclass
class Sample:
    """A folder to build the sample recipe in, every prompt-driven step by the model."""

    folder: Path
    server: FakeOpenAI
    program: Path
    more: tuple[str, ...] = ()
    sources: str = "mlecqa,textbook"

    def words(self, *further: str) -> list[str]:
        """The command line."""
        return [
            "recipe=care_mi", f"source=[{self.sources}]", "annotation=none", f"run.dir={self.folder}",
            *(f"steps.{step}.strategy=model" for step in ASKING), "model=openai", "model.name=fake-1",
            f"model.base_url={self.server.base_url}", "model.concurrency=8", "budget.tokens=100000000", *self.more,
            *further,
        ]  # fmt: skip

    def start(self, *further: str, command: str = "build") -> subprocess.Popen[str]:
        """A build in a process group of its own."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            [str(self.program), command, *self.words(*further)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            cwd=self.folder.parent, env=os.environ | {"OPENAI_API_KEY": SECRET, "COLUMNS": "200"},
        )  # fmt: skip

    def build(self, *further: str, command: str = "build") -> Built:
        """A build to its end."""
        process = self.start(*further, command=command)
        said, _ = process.communicate(timeout=patience(1_200))
        return Built(process.returncode, said)

    def requests(self) -> int:
        """How many requests the service has seen."""
        return self.server.stats()["requests"]

    def asked(self, since: int = 0) -> Counter[str]:
        """How often the service saw each body."""
        return Counter(entry["hash"] for entry in self.server.log(since))

    def made(self) -> dict[str, bytes]:
        """What the build wrote that is the same however often it was stopped."""
        names = ("items.jsonl", "candidates.jsonl", "ledger.tsv", "recipe.yaml", "items.tsv")
        return {name: (self.folder / name).read_bytes() for name in names if (self.folder / name).exists()}

    def outcomes(self, step: str) -> Counter[str]:
        """The outcomes of a step's branches."""
        (place,) = (self.folder / "store" / "steps" / step).glob("*/manifest.json")
        counts = json.loads(place.read_text(encoding="utf-8"))["counts"]
        outcomes = Counter[str]()
        for _, outcome, _, n in counts:
            outcomes[outcome] += n
        return outcomes
