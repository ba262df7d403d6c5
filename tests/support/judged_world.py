"""Candidates, evidence and a workplace in which people may work, for the tests of the stage that asks them."""

import csv
import json

import pytest
from files_spec import files_spec
from filled_sheets import write_sample_votes

from benchbuilder.annotation.sheets.sheets import CLOSED_CELL
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import WaitingForPeople
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.records.roles import Candidate, Evidence
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.annotate import Annotate, AnnotateSpec

MADE = ProducedBy(rule="test")
TOPICS = ("产后出血", "子痫前期", "前置胎盘", "妊娠期糖尿病", "新生儿黄疸")


def candidate(n, text="", **fields):
    return Candidate.build(
        **{"of": f"question-{n}", "parents": (f"question-{n}", f"fact-{n}"), "produced_by": MADE, "language": "zh",
           "origin": Origin(file="medqa.jsonl", line=n + 1), "partition": ("medqa", "bios")[n % 2], "type": "tf",
           "expected": "yes", "context": "某孕妇，孕38周。" if n % 3 == 0 else "",
           "question": text or f"{TOPICS[n % 5]}的问题{n}是甲吗？", "answer": f"{TOPICS[n % 5]}是甲。",
           "answer_wrong": f"{TOPICS[n % 5]}是乙。", "fact": f"fact-{n}", **fields},
    )  # fmt: skip


def paragraphs(row, count=4, texts=None):
    texts = texts or [f"关于{row.answer}的第{k}段。" for k in range(count)]
    return [
        Evidence.child(row, produced_by=MADE, passage=f"passage-{row.id}-{k}", base=("教科书", "百科")[k % 2],
                       document="1", title=TOPICS[k % 5], text=text, score=9.5 - k, rank=k // 2 + 1)
        for k, text in enumerate(texts)
    ]  # fmt: skip


class World:
    """Candidates, evidence and a workplace in which people may work."""

    def __init__(self, folder, count=5, **annotation):
        self.folder = folder
        self.candidates = [candidate(n) for n in range(count)]
        self.evidence = [row for c in self.candidates for row in paragraphs(c)]
        draw = {"samples": 100, "level": 0.95, "seed": 20230917}
        self.spec = files_spec(**{"bootstrap": draw, **annotation})

    def stage(self, spec=None):
        context = StepContext(seed=5, language="zh", step="items", cache=self.folder / "cache",
                          workplace=self.folder / "annotation")  # fmt: skip
        wired = {"each": ("candidates",), "evidence": ("evidence",)}
        return Annotate(AnnotateSpec(kind="annotate", from_=wired, votes=spec or self.spec), context)

    def run(self, stage=None):
        stage = stage or self.stage()
        tables = {"each": Table.of(self.candidates, Candidate), "evidence": Table.of(self.evidence, Evidence)}
        gathered = stage.gather(tables)
        json.dumps(gathered.notes)
        shard = account_gather(stage, tables, gathered, Item[Claim])
        return list(shard.rows), {line["row"]: line for line in shard.outcomes.to_pylist()}, gathered.notes

    def waiting(self):
        with pytest.raises(WaitingForPeople) as caught:
            self.run()
        assert caught.value.exit_code == 75
        return caught.value

    def votes(self, judge, where="filled", only=None):
        folder = self.folder / "annotation" / where
        files = write_sample_votes(self.candidates, self.evidence, self.spec, judge, folder, seed=5)
        for file in files:
            if only and file.stem not in only:
                file.unlink()

    def packet(self, person):
        """The rows of a person's packet: (key, open question names), and everything that it says."""
        (file,) = (self.folder / "annotation" / "to_fill").glob(f"{person}-*.csv")
        with file.open(encoding="utf-8-sig", newline="") as stream:
            head, *lines = list(csv.reader(stream))
        asked = {i: title.split("[q:")[1].split(":")[0] for i, title in enumerate(head) if "[q:" in title}
        opened = {line[-1]: [name for i, name in asked.items() if line[i] != CLOSED_CELL] for line in lines}
        return opened, "\n".join(" ".join(line) for line in [head, *lines])
