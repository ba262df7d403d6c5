"""Makes the bundled sample votes of care_mi: run it when statements, paragraphs or guiding questions have changed.

The votes are illustrative. Two made-up annotators follow what `sample_support.tsv` says and the few doubts below, with
slips of their own; a made-up adjudicator decides where they differ. No expert has judged anything.

    python tests/recipes/make_sample_votes.py
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from rich.console import Console

from benchbuilder.build import build
from benchbuilder.loading import load_recipe
from benchbuilder.plan import make_plan
from benchbuilder.progress import Lines
from benchbuilder.records.candidate import Candidate
from benchbuilder.records.evidence import Evidence
from benchbuilder.store.checksums import Checksums
from benchbuilder.store.folder import Store
from benchbuilder.votes.produce import write_votes

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "recipes" / "recipe" / "care_mi" / "sample"
SLIPS = {"a": (0.015, 0.05), "b": (0.025, 0.07), "meta": (0.0, 0.0)}
"""How often a person slips: at questions about the claim, at questions about a paragraph."""
DOUBTS = {
    "single_answer": ("属于剖宫产绝对指征的是", "破膜后宫腔压力骤降可", "延误治疗可", "未结合胆红素过高可"),
    "medical_norm": ("推行新法接生", "胎膜早破的阶段", "宫颈环扎"),
    "accurate_answer": ("羊水指数", "早产的治疗药物包括宫缩抑制剂"),
    "wrong_is_wrong": ("小儿出生后体格生长最快",),
    "fluent": ("接种时间是什么？", "抽出的不是不凝固血液", "首次不出现于", "有何表现？", "不会变为"),
}
"""Phrases of candidates to which the made-up annotators object, by guiding question."""


def paragraph_codes() -> dict[str, str]:
    """The text of each paragraph of the sample -> its code in `sample_support.tsv`."""
    codes: dict[str, str] = {}
    for base in ("textbook", "encyclopaedia"):
        for number, line in enumerate((SAMPLE / f"{base}.jsonl").read_text(encoding="utf-8").splitlines(), 1):
            texts = json.loads(line)["text"].split("\n")
            for index, text in enumerate(texts, 1):
                codes[text] = f"{base}:{number}" + (f".{index}" if base == "encyclopaedia" else "")
    return codes


def supports() -> dict[str, set[str]]:
    """Source row -> the codes of the paragraphs that support it."""
    lines = (HERE / "sample_support.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {row: set(codes.split()) for row, codes in rows}


def slip(person: str, share: float, *what: str) -> bool:
    """Whether a person slips here: by a hash, so that the votes are the same every time."""
    digest = hashlib.blake2b("|".join((person, *what)).encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32 < share


def main() -> None:
    """Write the sheets into the sample folder."""
    support, codes = supports(), paragraph_codes()
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_recipe(["recipe=care_mi", f"run.dir={folder}", "paths.votes=null"])
        store = Store(Path(folder))
        plan = make_plan(loaded.recipe, store, Checksums(store.checksums).of)
        build(plan, store, loaded.yaml, Lines(Console(quiet=True)))
        candidates, evidence = (
            list(store.rows(store.manifest(step, plan.nodes[step].key))) for step in ("candidates", "evidence")
        )

        def judge(person: str, candidate: Candidate, passage: Evidence | None, question: str) -> int:
            claim_slips, passage_slips = SLIPS[person]
            if passage is not None:
                row = f"{candidate.origin.file.split('/sample/')[1]}:{candidate.origin.line}"
                truth = codes.get(passage.text) in support.get(row, ())
                return int(truth != slip(person, passage_slips, candidate.id, passage.text))
            shown = candidate.question + candidate.answer + candidate.answer_wrong
            truth = not any(phrase in shown for phrase in DOUBTS[question])
            return int(truth != slip(person, claim_slips, candidate.id, question))

        write_votes(
            candidates,
            evidence,
            loaded.recipe.annotation,
            judge,
            SAMPLE / "votes",
            seed=loaded.recipe.seed,
            texts=False,
        )


if __name__ == "__main__":
    main()
