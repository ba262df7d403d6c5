"""Makes the bundled sample votes of recipes: run it when statements, paragraphs or guiding questions have changed.

The votes are illustrative. Two made-up annotators follow what the table of support says and the few doubts below, with
slips of their own; a made-up adjudicator decides where they differ. No expert has judged anything.

    PYTHONPATH=tests/support python tests/recipes/make_sample_votes.py [RECIPE ...]
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from filled_sheets import write_sample_votes
from rich.console import Console

from benchbuilder.config.load import load_recipe
from benchbuilder.core.records.roles import Candidate, Evidence
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.plan import make_plan
from benchbuilder.pipeline.progress import LineProgress
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

HERE = Path(__file__).parent
BUNDLED = HERE.parents[1] / "recipes" / "recipe"
SLIPS = {"a": (0.015, 0.05), "b": (0.025, 0.07), "meta": (0.0, 0.0)}
"""How often a person slips: at questions about the claim, at questions about a paragraph."""


@dataclass(frozen=True)
class Sample:
    """What the made-up annotators of a recipe go by.

    `sample_support.tsv` says which paragraphs support each source row; without `bases`, it is the passages that a fact
    names itself. `bases` are the files of knowledge bases (and
    whether their records are pages of several paragraphs). `doubts` are phrases of candidates to which they object, by
    guiding question.
    """

    recipe: str
    bases: dict[str, tuple[str, bool]] = field(default_factory=dict)
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The sample folder of the recipe."""
        return BUNDLED / self.recipe / "sample"


SAMPLES = {
    sample.recipe: sample
    for sample in (
        Sample(
            "care_mi",
            {"textbook": ("textbook.jsonl", False), "encyclopaedia": ("encyclopaedia.jsonl", True)},
            {
                "single_answer": ("属于剖宫产绝对指征的是", "破膜后宫腔压力骤降可", "延误治疗可", "未结合胆红素过高可"),
                "norm": ("推行新法接生", "胎膜早破的阶段", "宫颈环扎"),
                "accurate_answer": ("羊水指数", "早产的治疗药物包括宫缩抑制剂"),
                "wrong_is_wrong": ("小儿出生后体格生长最快", "产后出血的手术治疗方式包括清宫术"),
                "fluent": ("接种时间是什么？", "抽出的不是不凝固血液", "首次不出现于", "有何表现？", "不会变为"),
            },
        ),
        Sample(
            "law_zh",
            {"statutes": ("statutes.jsonl", False)},
            {
                "single_answer": ("的行为属于", "公民申请行政复议的期限"),
                "norm": ("发明专利权的期限",),
                "fluent": ("非法占有代管的巨额财物",),
                "wrong_is_wrong": ("撤回已经生效的行政许可",),
            },
        ),
        Sample(
            "medicine_en",
            {"textbook": ("textbook.jsonl", False), "encyclopaedia": ("encyclopaedia.jsonl", True)},
            {
                "single_answer": ("What should be given at once?", "What is the drug that prolongs survival"),
                "norm": ("The treatment of tuberculosis includes isoniazid",),
                "fluent": ("What are antibodies in this patient", "breathing a compensation for?"),
                "wrong_is_wrong": ("Oral theophylline prolongs survival",),
            },
        ),
        Sample("claims_en", doubts={"label_right": ("good source of",)}),
        Sample(
            "guideline_zh",
            doubts={
                "wrong_is_wrong": (
                    "青年不宜食用",
                    "塑料碗盖",
                    "蔬菜和水果应当使用不同",
                    "含有较多的维生素C",
                    "不应超过7小时",
                    "不应超过9小时",
                ),
                "fluent": ("不容易被留下",),
            },
        ),
        Sample(
            "clinic_zu",
            {"handbook_zu": ("handbook.jsonl", False)},
            {
                "single_answer": ("Izinso zihluza", "Isisu sikhiqiza"),
                "norm": ("Isitho esikhulu",),
                "fluent": ("Umuthi wokuqala wokwelapha", "yigciwane elincane"),
            },
        ),
    )
}


def paragraph_codes(sample: Sample) -> dict[str, str]:
    """The text of each paragraph of the sample -> its code in the table of support."""
    codes: dict[str, str] = {}
    for base, (file, paged) in sample.bases.items():
        for number, line in enumerate((sample.folder / file).read_text(encoding="utf-8").splitlines(), 1):
            texts = json.loads(line)["text"].split("\n")
            for index, text in enumerate(texts, 1):
                codes[text] = f"{base}:{number}" + (f".{index}" if paged else "")
    return codes


def supports(sample: Sample) -> dict[str, set[str]]:
    """Source row -> the codes of the paragraphs that support it."""
    lines = (HERE / "sample_support.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {row: set(codes.split()) for recipe, row, codes in rows if recipe == sample.recipe}


def slip(person: str, share: float, *what: str) -> bool:
    """Whether a person slips here: by a hash, so that the votes are the same every time."""
    digest = hashlib.blake2b("|".join((person, *what)).encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32 < share


def write(sample: Sample, target: Path) -> None:
    """Write the sheets of a recipe into the folder `target`."""
    support, codes = supports(sample), paragraph_codes(sample)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_recipe([f"recipe={sample.recipe}", f"run.dir={folder}", "paths.votes=null"])
        store = Store(Path(folder))
        plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
        build_benchmark(plan, store, loaded.yaml, LineProgress(Console(quiet=True)))
        candidates, evidence = (
            list(store.rows(store.manifest(step, plan.nodes[step].key))) for step in ("corrected", "evidence")
        )

        def judge(person: str, candidate: Candidate, passage: Evidence | None, question: str) -> int:
            claim_slips, passage_slips = SLIPS[person]
            if passage is not None and not sample.bases:
                return int((passage.rank == 0) != slip(person, passage_slips, candidate.id, passage.text))
            if passage is not None:
                row = f"{candidate.origin.file.split('/sample/')[1]}:{candidate.origin.line}"
                truth = codes.get(passage.text) in support.get(row, ())
                return int(truth != slip(person, passage_slips, candidate.id, passage.text))
            shown = candidate.question + candidate.answer + candidate.answer_wrong
            truth = not any(phrase in shown for phrase in sample.doubts.get(question, ()))
            return int(truth != slip(person, claim_slips, candidate.id, question))

        write_sample_votes(
            candidates,
            evidence,
            loaded.recipe.annotation,
            judge,
            target,
            seed=loaded.recipe.seed,
            with_texts=False,
        )


def main() -> None:
    """Write the sheets of the recipes that are named, or of all, into their sample folders."""
    for name in sys.argv[1:] or SAMPLES:
        write(SAMPLES[name], SAMPLES[name].folder / "votes")


if __name__ == "__main__":
    main()
