"""A small world of rated answers, and judges whose biases are known."""

import random
from dataclasses import replace

from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import Case, Example, JudgeSpec, ScoringJudge

MODELS = ("甲模型", "乙模型", "丙模型", "丁模型")
BOOTSTRAP = {"samples": 200, "level": 0.95, "seed": 7}


def evaluation(**changes):
    training = {
        "scorer": "experts",
        "held_out": 0.3,
        "near": 0.8,
        "synthetic": ["correctness"],
        "synthetic_weight": 0.5,
    }
    return EvaluationSpec.model_validate({"bootstrap": BOOTSTRAP, "training": training, **changes})


def item_case(number: int) -> Case:
    """Every second item is negated, the others have another entity in their wrong statement."""
    tf = number % 2 == 0
    right = f"孕妇每天补充叶酸{number}有助于预防第{number}类缺陷。"
    wrong = (
        f"孕妇每天补充叶酸{number}不有助于预防第{number}类缺陷。"
        if tf
        else f"孕妇每天补充铁剂{number}有助于预防第{number}类缺陷。"
    )
    evidence = (f"资料{number}指出，{right}", f"资料{number}的背景介绍。", f"第{number}条其他说明。")
    return Case(f"关于第{number}类缺陷，应当怎样做？", "", evidence, right, wrong, "tf" if tf else "oe")


def examples(items: int = 60, seed: int = 1) -> list[Example]:
    """Answers of four models, from good to bad, each rated by three people."""
    rng = random.Random(seed)
    made = []
    for number in range(items):
        case = item_case(number)
        for place, model in enumerate(MODELS):
            good = rng.random() < 0.9 - 0.2 * place
            answer = case.right if good else case.wrong
            if rng.random() < 0.5:
                answer += "具体剂量应遵医嘱，建议每天0.4mg。"
            level = 0.85 if good else 0.15
            ratings = tuple((f"评分人{k}", min(1.0, max(0.0, round(level + rng.gauss(0, 0.1), 2)))) for k in "ABC")
            target = sum(value for _, value in ratings) / 3
            source = ("medqa", "cpubmed", "bios")[number % 3]
            made.append(
                Example(
                    replace(case, answer=answer),
                    target,
                    1.0,
                    f"item-{number}",
                    f"family-{number // 2}",
                    model,
                    source,
                    ratings,
                )
            )
    return made


class FakeJudge(ScoringJudge):
    kind = "fake"
    spec_class = JudgeSpec

    def __init__(self, rule, *, evidence=True):
        super().__init__(JudgeSpec(kind="fake", aspect="correctness", evidence=evidence))
        self.rule = rule
        self.asked = 0

    def score(self, cases):
        self.asked += len(cases)
        return [min(1.0, max(0.0, self.rule(case))) for case in cases]


def sound(case: Case) -> float:
    """Sees the truth of the answer (whatever its script, width and layout), and whether it is supported."""
    told = "".join(case.answer.split()).replace("-", "")
    told = told.translate({code + 0xFEE0: code for code in range(0x21, 0x7F)})
    for old, new in (
        ("孕婦", "孕妇"),
        ("每天補充葉酸", "每天补充叶酸"),
        ("有助於預防", "有助于预防"),
        ("類缺陷", "类缺陷"),
    ):
        told = told.replace(old, new)
    supported = any(case.right.rstrip("。") in text for text in case.evidence)
    return 0.1 if case.right.rstrip("。") not in told else 0.95 if supported or not case.evidence else 0.85


def trial(
    name, judge, made, *, split="both", aspect="correctness", noise=0.0, seed=3, without=True, models=("丁模型",)
):
    rng = random.Random(seed)
    scores = judge.score([example.case for example in made])
    rows = tuple(
        Prediction(
            example,
            min(1.0, max(0.0, score + rng.gauss(0, noise))) if noise else score,
            min(1.0, max(0.0, score + rng.gauss(0, 0.3))) if without else None,
            {"mean": 0.6, "majority": 1.0, "length_only": min(1.0, len(example.case.answer) / 60)} if without else {},
        )
        for example, score in zip(made, scores, strict=True)
    )
    card = {
        "kind": judge.kind,
        "aspect": aspect,
        "language": "zh",
        "split": split,
        "data_sha256": "0" * 64,
        "held_out": {"models": list(models), "families": [], "questions": 1},
    }
    return ValidationRun(name, card, rows, judge)
