"""Rated answers that follow known rules, for judges to learn: right statements of paragraphs, negated ones, others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.config.spec.evaluation import EvaluationSpec, TrainingSpec
from benchbuilder.core.records.payloads import Claim, Item, Support
from benchbuilder.core.records.roles import Answer, Rating, Score
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.judges.tfidf_ridge import TfidfRidgeSpec

MADE = ProducedBy(rule="test")
SYLLABLES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼台港澳"
MODELS = ("alpha", "beta", "gamma", "delta")
TRAINING = TrainingSpec(
    scorer="ratings", split="both", held_out=0.3, near=0.6, synthetic=("correctness",), synthetic_weight=0.3
)
EVALUATION = EvaluationSpec.model_validate(
    {"training": TRAINING, "bootstrap": {"samples": 200, "level": 0.9, "seed": 1}}
)


def ridge(aspect: str = "correctness", **other: Any) -> TfidfRidgeSpec:
    settings = {"longest": 2, "fewest": 2, "most": 5000, "weights": {}, "penalties": [0.1, 1, 10], "folds": 4}
    return TfidfRidgeSpec.model_validate({"kind": "tfidf_ridge", "aspect": aspect, **settings, **other})


def trained_on(**changes: Any) -> EvaluationSpec:
    return EVALUATION.model_copy(update={"training": TRAINING.model_copy(update=changes)})


@dataclass
class World:
    """The tables of an evaluation."""

    items: list[Item[Any]]
    answers: list[Answer]
    scores: list[Score]


def item(number: int, right: str, wrong: str, question: str, *, fact: str = "", source: str = "medqa",
         evidence: Sequence[str] = ()) -> Item[Any]:  # fmt: skip
    found = tuple(
        Support(passage=f"p{number}.{rank}", base="b", document="d", text=text, score=1.0, rank=rank)
        for rank, text in enumerate(evidence, 1)
    )
    payload = Claim(type="oe", question=question, answer=right, answer_wrong=wrong, evidence=found)
    return Item[Claim].build(
        of=f"candidate-{number}",
        origin=Origin(file="f", line=number),
        produced_by=MADE,
        language="zh",
        partition=source,
        payload=payload,
        candidate=f"candidate-{number}",
        fact=fact or f"fact-{number}",
        reviewed=True,
    )


def answer(of: Item[Any], model: str, text: str) -> Answer:
    return Answer.child(of, produced_by=MADE, model=model, text=text)


def score(of: Answer, value: float | None, aspect: str = "correctness", scorer: str = "ratings") -> Score:
    ratings = () if value is None else tuple(Rating(rater=rater, value=value) for rater in ("r1", "r2", "r3"))
    return Score.child(of, produced_by=MADE, slot=aspect, item=of.of, model=of.model, scorer=scorer, aspect=aspect,
                       value=value, ratings=ratings)  # fmt: skip


def name(rng: random.Random, size: int = 4) -> str:
    return "".join(rng.sample(SYLLABLES, size))


def world(size: int = 60, seed: int = 1) -> World:
    """Items whose paragraphs say what causes what; the rating of an answer is whether it says the same.

    Models say it in the same words, so that nothing but the comparison with the paragraphs tells right from wrong.
    """
    rng = random.Random(seed)
    made = World([], [], [])
    for number in range(size):
        cause, effect, other = name(rng), name(rng), name(rng)
        right, wrong = f"{cause}会引起{effect}", f"{cause}会引起{other}"
        paragraphs = [f"临床上，{cause}会引起{effect}，应当尽早处理。", f"{name(rng)}与{name(rng)}无关。"]
        one = item(number, right + "。", wrong + "。", f"{cause}会引起什么？", source=("medqa", "mlecqa")[number % 2],
                   evidence=paragraphs)  # fmt: skip
        made.items.append(one)
        for model in MODELS:
            said, value = rng.choice([(right, 1.0), (wrong, 0.0), (right.replace("会", "不会"), 0.0), (right, 1.0)])
            made.answers.append(answer(one, model, f"{said}。"))
            made.scores.append(score(made.answers[-1], min(1.0, max(0.0, value + rng.choice([-0.1, 0.0, 0.1])))))
    return made
