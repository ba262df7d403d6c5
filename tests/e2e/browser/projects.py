"""Projects to work on: candidates of a benchmark, ratings of answers, forms."""

from __future__ import annotations

from typing import Any

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.project_setup import make_task
from benchbuilder.config.spec.annotation import ProjectSpec, ReviewProjectSpec

BOOTSTRAP = {"samples": 100, "level": 0.95, "seed": 1}
BANDS = {
    "full": {"low": 0.8, "high": 1.0, "text": "Right throughout; nothing important is missing."},
    "most": {"low": 0.5, "high": 0.8, "text": "Mostly right; the gaps mislead nobody."},
    "none": {"low": 0.0, "high": 0.5, "text": "Wrong, harmful, or no answer at all."},
}
GUIDELINE = """## 判断原则

1. 以**现行教材和指南**为准，见 [示例](https://example.org/guide)。
2. 只看所示段落，不要凭记忆补充。

| 情形 | 填写 | 说明 |
| --- | --- | --- |
| 直接写明 | 1 | https://example.org/a/very/long/address/that/does/not/break/anywhere/at/all |
| 只是话题相近 | 0 | 推不出答案 |
"""
CLAIM_QUESTIONS: dict[str, dict[str, Any]] = {
    "single": {"order": 1, "subject": "claim", "label": "① 答案唯一", "text": "这个问题是否最多只有一个正确答案？"},
    "accurate": {"order": 2, "subject": "claim", "label": "② 答案正确", "text": "“正确答案”是否与医学事实相符？"},
    "supports": {
        "order": 3, "subject": "evidence", "label": "③ 段落支持", "text": "仅凭这一段落，能否推出“正确答案”？",
    },
    "fluent": {"order": 4, "subject": "claim", "label": "④ 语句通顺", "text": "问题和两个答案是否通顺？"},
}  # fmt: skip

TONE: dict[str, Any] = {
    "order": 3, "subject": "claim", "label": "Tone", "text": "How does it speak to a patient?", "answer": "scale",
    "options": {n: f"level {n} of seven" for n in range(1, 8)},
}  # fmt: skip


def spec_of(questions: dict[str, dict[str, Any]], **changes: Any) -> ProjectSpec:
    data: dict[str, Any] = {
        "kind": "review", "title": "标注：母婴健康陈述", "heading": "问题", "paragraph": "段落", "per_task": 2,
        "questions": questions, "bootstrap": BOOTSTRAP, "rows": {"items": True, "show": {"text": "question"}},
        "fields": {"text": "问题", "right": "正确答案", "wrong": "错误答案"},
    }  # fmt: skip
    return ReviewProjectSpec.model_validate(data | changes)


def claims_spec(**changes: Any) -> ProjectSpec:
    gates = {"keep": dict.fromkeys(CLAIM_QUESTIONS, 1), "min_evidence": 1, "thresholds": (0, 1, 2)}
    return spec_of(CLAIM_QUESTIONS, **{**gates, **changes})


def claim_tasks(count: int, paragraphs: int = 2) -> list[Task]:
    def one(number: int) -> Task:
        texts = [
            (
                "textbook",
                f"产科学讲义 {place}",
                f"妊娠{number}周时的第{place}段：控制子痫抽搐的药物首选硫酸镁，防止坠床和舌咬伤。" * 2,
            )
            for place in range(1, paragraphs + 1)
        ]
        question = f"妊娠{number}周的孕妇发生子痫，控制抽搐的药物首选什么？"
        return make_task([("text", question), ("right", "硫酸镁"), ("wrong", "地西泮")], texts)

    return [one(number) for number in range(20, 20 + count)]


def scalar(order: int, label: str, **changes: Any) -> dict[str, Any]:
    data = {"subject": "claim", "answer": "scalar", "label": label, "text": f"{label}: how far?", "bands": BANDS}
    return {**data, "order": order, **changes}


def ratings_spec(**changes: Any) -> ProjectSpec:
    questions: dict[str, dict[str, Any]] = {
        "correctness": scalar(1, "Correctness"),
        "clarity": scalar(2, "Clarity"),
        "tone": TONE,
    }
    more: dict[str, Any] = {
        "title": "Rating of answers", "heading": "Answer", "paragraph": "Paragraph",
        "fields": {"question": "Question", "answer": "Answer to rate"},
    }  # fmt: skip
    return spec_of(questions, **{**more, **changes})


def rating_tasks(count: int) -> list[Task]:
    return [
        make_task(
            [("question", f"Is magnesium sulphate the first choice in eclampsia? ({n})"), ("answer", f"Yes. ({n})")],
            metadata=[("model", "hidden-model-name")],
        )
        for n in range(count)
    ]


def form_spec(**changes: Any) -> ProjectSpec:
    """Seven fields about a dialogue, the last one optional."""
    names = ["Complaint", "Since when", "Weeks", "History", "Drugs", "Advice", "Doubts"]
    questions: dict[str, dict[str, Any]] = {
        name.lower().replace(" ", "_"): {
            "order": place, "subject": "claim", "answer": "text", "label": name, "text": f"{name}: what is said?",
            "lines": 1 if place < 4 else 3, "required": name != "Doubts", "max_chars": 80 if place < 4 else 4000,
        }
        for place, name in enumerate(names, start=1)
    }  # fmt: skip
    more: dict[str, Any] = {
        "title": "Dialogues", "rule": "mean", "per_task": 1, "heading": "Dialogue", "fields": {"dialogue": "Dialogue"},
    }  # fmt: skip
    return spec_of(questions, **{**more, **changes})


def form_tasks(count: int) -> list[Task]:
    return [
        make_task([("dialogue", f"Patient: my head hurts, since {n + 2} days.\nDoctor: rest, and drink water.")])
        for n in range(count)
    ]
