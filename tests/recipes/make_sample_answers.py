"""Makes the bundled sample answers and ratings of care_mi: run it when the items or the personas below have changed.

All of it is illustrative. Five made-up models answer questions of the sample: each has a way of talking and a share of
questions that it gets right, and says the item's own right or wrong statement; of a set it names all or most of the
right members, or some wrong ones among them. Three made-up people score the answers by the rules below, each with
leanings and slips, and two more answer a part of the questions themselves. No model was asked and no expert has judged
or answered anything.

    python tests/recipes/make_sample_answers.py
"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rich.console import Console

from benchbuilder.annotation.review_projects import proportional_sample
from benchbuilder.config.load import load_recipe
from benchbuilder.core.records.name_sets import SET_FORM, set_members
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.plan import make_plan
from benchbuilder.pipeline.progress import LineProgress
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store

SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "care_mi" / "sample"
SEED = 20231122
ITEMS = 119
ASPECTS = ("correctness", "interpretability")
RATERS = {"rater_1": (-0.03, 0.0, 0.1), "rater_2": (0.0, -0.1, 0.12), "rater_3": (0.04, 0.08, 0.14)}
"""Each person's leaning, what they add for a long answer and take from a short one, and the spread of their slips."""


@dataclass(frozen=True)
class Persona:
    """A made-up model: how often it is right, and how often it talks in which way."""

    name: str
    right: float
    ways: dict[str, int]


PERSONAS = {
    "model_jia": Persona("示例模型甲", 0.86, {"cites": 66, "contrasts": 12, "terse": 8, "hedges": 8, "strays": 6}),
    "model_yi": Persona("示例模型乙", 0.68, {"terse": 72, "plain": 14, "contrasts": 8, "cites": 6}),
    "model_bing": Persona("示例模型丙", 0.36, {"asserts": 66, "cites": 12, "contrasts": 12, "terse": 6, "strays": 4}),
    "model_ding": Persona(
        "示例模型丁", 0.6, {"hedges": 58, "evades": 12, "refuses": 8, "cites": 12, "wavers": 6, "plain": 4}
    ),
    "model_wu": Persona(
        "示例模型戊",
        0.58,
        {"plain": 24, "cites": 22, "asserts": 18, "contrasts": 14, "hedges": 10, "strays": 5, "wavers": 4, "none": 3},
    ),
}
PEOPLE = "people"
"""The name of the baseline of people in the recipe."""
PERSON = Persona("", 0.97, {"cites": 56, "plain": 34, "contrasts": 6, "terse": 4})
ANSWERED = 40
WRITERS = ("writer_1", "writer_2")
MERITS = {
    "cites": (0.95, 0.93, 0.12, 0.42), "contrasts": (0.88, 0.62, 0.08, 0.34), "terse": (0.82, 0.2, 0.05, 0.1),
    "plain": (0.86, 0.42, 0.07, 0.22), "asserts": (0.85, 0.66, 0.05, 0.36), "hedges": (0.68, 0.55, 0.24, 0.36),
    "strays": (0.78, 0.44, 0.08, 0.25), "wavers": (0.42, 0.24, 0.3, 0.2), "evades": (0.22, 0.3, 0.18, 0.28),
    "refuses": (0.0, 0.08, 0.0, 0.08), "none": (0.0, 0.0, 0.0, 0.0),
}  # fmt: skip
"""What an answer deserves, by the way of talking: both aspects if it is right, both if it is wrong."""

YES, NO = ("是的。", "对。", "正确。"), ("不是。", "不对。", "不正确。")
ABOUT_A_CLAIM = "这种说法对吗？"
"""So ends a question whether a claim holds; 是的 and 不是 answer it badly."""
ASKED = re.compile("哪些(?:疾病)?")
"""The place of the members in a question that asks for a set."""
AFTER_A_SET = "相鉴别"
SOURCES = ("依据是：", "参考资料提到：", "理由如下：", "可以这样理解：")
CLOSINGS = ("因此得出上述结论。", "这支持上面的判断。", "所以结论如上。", "")
BOLD = (
    "这一点在各类教材中都写得很清楚，没有任何争议，可以放心记住。",
    "权威专家早已达成共识：第一，这是基本常识；第二，多年的临床经验反复证实了它；第三，至今没有相反的证据。",
    "这是人人都知道的常识，答案只有这一个，凡是学过这门课的人都能说出来。",
    "大量研究已经证明了这一点，百分之百可以确定，不需要再去查证。",
)
SOFT_OPENINGS = (
    "这个问题需要结合具体情况来看，不同的人情况不一样。", "谢谢您的提问，孕产期和婴幼儿期的问题确实让人关心。",
    "关于这个问题，目前的说法不完全一致。", "我不是医生，只能提供一般性的信息。",
)  # fmt: skip
SOFT_CLOSINGS = (
    "不过每个人的体质和病情不同，也可能有例外，具体请以医生的判断为准。",
    "当然，以上内容仅供参考，不能代替面诊，如有不适请及时就医。",
    "总之，还要综合考虑各方面的因素，不能一概而论，建议咨询专业人员。",
)
MAYBE = ("一般来说，", "多数情况下可能是这样：", "从我了解的信息看，大概", "通常认为，")
EVASIONS = (
    "这个问题很难一概而论，各种可能都存在，需要结合检查结果由医生综合判断，这里就不下结论了。",
    "影响因素有很多，例如年龄、孕周、体质和病史等，不同的医院也可能有不同的看法，建议多咨询几位医生。",
)
REFUSALS = ("抱歉，我无法提供医学方面的建议，请咨询医生。", "很抱歉，这个问题超出了我能回答的范围。")
STRAY = ("另外需要知道的是：", "顺便补充：", "相关知识：")


def sentences(claim: Claim) -> list[str]:
    """The sentences of an item's evidence."""
    text = "".join(support.text for support in claim.evidence)
    parts: list[str] = re.findall(r"[^。！？；]+", text)
    return [f"{part}。" for part in parts if len(part) > 8]


def overlap(text: str, other: str) -> float:
    """The share of the character pairs of `other` that stand in `text`."""
    pairs = {other[i : i + 2] for i in range(len(other) - 1)}
    return sum(pair in text for pair in pairs) / max(1, len(pairs))


def ends(claim: Claim) -> tuple[str, str]:
    """What the right and the wrong statement say at the place where they differ."""
    right, wrong = claim.answer.rstrip("。"), claim.answer_wrong.rstrip("。")
    shared = next(
        (i for i, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), min(map(len, (right, wrong)))
    )
    marks = [
        found.end() for found in re.finditer(r"首选|选用|选择|开始于|应与|有助于预防|包括|[是为于]", right[:shared])
    ]
    cut = marks[-1] if marks else 0
    return right[cut:].removesuffix(AFTER_A_SET), wrong[cut:].removesuffix(AFTER_A_SET)


def negated(claim: Claim) -> bool:
    """Whether right and wrong statement differ by a negation, so that no two ends stand against each other."""
    return claim.type == "tf" and (claim.expected == "yes" or claim.question.endswith(ABOUT_A_CLAIM))


def verdict(claim: Claim, right: bool, random: Random) -> str:
    """Yes or no to a true/false question; nothing to an open one."""
    if claim.type != "tf":
        return ""
    words = YES if (claim.expected == "yes") == right else NO
    return random.choice(words[1:] if claim.question.endswith(ABOUT_A_CLAIM) else words)


def quoted(claim: Claim, right: bool) -> str:
    """A sentence of the evidence: the one that shows the right answer, or one that is near and does not."""
    found = sentences(claim)
    best = max(found, key=lambda sentence: overlap(sentence, claim.answer), default="")
    if right:
        return best
    named = ends(claim)[0].split("、")
    others = [sentence for sentence in found if sentence != best and not any(end in sentence for end in named)]
    return max(others, key=lambda sentence: overlap(sentence, claim.question), default="")


def contrast(claim: Claim, right: bool) -> str:
    """One thing set against the other, in the right or in the wrong direction."""
    if negated(claim):
        return "应当说，" + (claim.answer if right else claim.answer_wrong)
    this, that = ends(claim) if right else ends(claim)[::-1]
    others = [end for end in that.split("、") if end not in this.split("、")]
    return f"应当是{this}，而不是{'、'.join(others)}。" if others else f"应当是{this}。"


def said(way: str, claim: Claim, right: bool, random: Random) -> str:
    """What a model says that talks in this way."""
    yes_no = verdict(claim, right, random)
    statement = claim.answer if right else claim.answer_wrong
    one = random.choice
    if way == "terse":
        return yes_no or (ends(claim)[0] if right else ends(claim)[1]) + "。"
    if way == "cites":
        return f"{yes_no}{statement}{one(SOURCES)}{quoted(claim, right)}{one(CLOSINGS)}"
    if way == "asserts":
        return f"{yes_no}{statement}{one(BOLD)}"
    if way == "hedges":
        return f"{one(SOFT_OPENINGS)}{yes_no}{one(MAYBE)}{statement}{one(SOFT_CLOSINGS)}"
    if way == "contrasts":
        return yes_no + contrast(claim, right)
    if way == "strays":
        far = min(sentences(claim), key=lambda sentence: overlap(sentence, claim.answer), default="")
        return f"{yes_no}{statement}{one(STRAY)}{far}"
    if way == "wavers":
        first, then = (claim.answer_wrong, claim.answer) if right else (claim.answer, claim.answer_wrong)
        return f"有人认为，{first}但也有人认为，{then}更倾向于后一种说法，但不能确定。"
    fixed = {"evades": one(EVASIONS), "refuses": one(REFUSALS), "none": ""}
    return fixed.get(way, yes_no + statement)


def spoken(item: Item[Claim], model: str, items: Sequence[Item[Claim]]) -> tuple[Claim, float, float]:
    """The claim of an item as people say it, and the shares of right members in what is right and in what is wrong.

    The answers to a set question become sentences; some leave a right member out, or mix right with wrong ones. Without
    a wrong set, these are the members of another item about the same.
    """
    claim = item.payload
    if item.form != SET_FORM:
        return claim, 1.0, 0.0
    random = Random(f"{SEED}:set:{model}:{item.id}")
    alike = [
        other.payload.answer for other in items
        if other.form == SET_FORM and other.payload.question[-6:] == claim.question[-6:] and other.id != item.id
    ]  # fmt: skip
    confused = claim.answer_wrong or (random.choice(alike) if alike else "")
    right, wrong = ([names[0] for names in set_members(text)] for text in (claim.answer, confused))
    named = right if random.random() < 0.7 else right[:-1]
    count = len(right) // 2 if random.random() < 0.7 or not wrong else 0
    texts = (
        ASKED.sub("、".join(members), claim.question.removesuffix("？")) + "。"
        for members in (named, [*right[:count], *wrong[count:]])
    )
    answers = dict(zip(("answer", "answer_wrong"), texts, strict=True))
    return claim.model_copy(update=answers), len(named) / len(right), count / len(right)


@dataclass(frozen=True)
class Told:
    """An answer with what it deserves."""

    item: str
    question: str
    model: str
    text: str
    outcome: str
    merit: tuple[float, float]


def told(item: Item[Claim], model: str, persona: Persona, items: Sequence[Item[Claim]]) -> Told:
    """What somebody says to one of the items."""
    claim, whole, mixed = spoken(item, model, items)
    ease = Random(f"{SEED}:ease:{item.fact}").uniform(-0.2, 0.2) * (model != PEOPLE)
    random = Random(f"{SEED}:{model}:{item.id}")
    way = random.choices(list(persona.ways), list(persona.ways.values()))[0]
    right = random.random() < persona.right + ease
    text = said(way, claim, right, random)
    outcome = {"refuses": "refused", "none": "empty"}.get(way, "complete")
    good = MERITS[way][:2] if right else MERITS[way][2:]
    if good[0]:
        good = (good[0] * (0.6 + 0.4 * whole) if right else good[0] + 0.5 * mixed, good[1])
    if model == "model_ding" and way == "hedges" and random.random() < 0.12:
        text, outcome, good = text[: len(text) * 2 // 3], "truncated", (good[0] * 0.9, good[1] * 0.7)
    shown = [min(1.0, max(0.0, value + random.gauss(0, 0.04))) if value else 0.0 for value in good]
    return Told(item.id, claim.context + claim.question, model, text, outcome, (shown[0], shown[1]))


def answers(items: Sequence[Item[Claim]]) -> list[Told]:
    """What every model says to every item."""
    return [told(item, model, persona, items) for item in items for model, persona in PERSONAS.items()]


def written(items: Sequence[Item[Claim]]) -> list[Told]:
    """What people write to a part of the items."""
    return [told(item, PEOPLE, PERSON, items) for item in drawn(items, ANSWERED)]


def score(person: str, told: Told, aspect: str) -> float:
    """What a person says of an answer: what it deserves with their leanings, in steps of 0.05."""
    merit = told.merit[ASPECTS.index(aspect)]
    if merit == 0:
        return 0.0
    lean, length, spread = RATERS[person]
    random = Random(f"{SEED}:{person}:{aspect}:{told.item}:{told.model}")
    if random.random() < 0.02:
        return round(random.randrange(21) / 20, 2)
    by_length = length * min(1.0, max(-1.0, (len(told.text) - 70) / 70)) * (0.4 if aspect == "correctness" else 1.0)
    return round(min(20, max(0, round((merit + lean + by_length + random.gauss(0, spread)) * 20))) / 20, 2)


def sample_items() -> list[Item[Claim]]:
    """The items of the sample that get answers, in proportion to their sources and types."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_recipe(["recipe=care_mi", f"run.dir={folder}"], cwd=Path(folder), environ={})
        store = Store(Path(folder))
        plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
        build_benchmark(plan, store, loaded.yaml, LineProgress(Console(quiet=True)), write_outputs=False)
        name = loaded.recipe.items
        manifest = store.manifest(name, plan.nodes[name].key)
        if manifest is None:
            raise SystemExit("the sample was not built")
        items: list[Item[Claim]] = list(store.rows(manifest))
    return drawn(items, ITEMS)


def drawn(items: Sequence[Item[Claim]], count: int) -> list[Item[Claim]]:
    """As many of the items, in proportion to their sources and types."""
    return proportional_sample(
        items,
        count,
        name=lambda item: item.fact + item.payload.type,
        group=lambda item: f"{item.partition} {item.payload.type}",
        seed=SEED,
    )


def jsonl(told: Sequence[Told]) -> str:
    """The answers, one a line."""
    return "".join(
        json.dumps(
            {"id": one.item, "model": one.model, "question": one.question, "answer": one.text,
             "outcome": one.outcome, "illustrative": True},
            ensure_ascii=False,
        ) + "\n"
        for one in told
    )  # fmt: skip


def ratings(told: Sequence[Told]) -> str:
    """The scores, an answer a line and a column for each aspect and person."""
    columns = [(aspect, person) for aspect in ASPECTS for person in RATERS]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "model", *(f"{aspect}.{person}" for aspect, person in columns)])
    for one in told:
        scores = (score(person, one, aspect) for aspect, person in columns)
        writer.writerow([one.item, one.model, *(f"{value:.2f}" for value in scores)])
    return stream.getvalue()


def sheet(told: Sequence[Told]) -> str:
    """The answers of people, one a line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", "question", "answer", "person"])
    for one in told:
        writer.writerow([one.item, one.question, one.text, Random(f"{SEED}:{one.item}").choice(WRITERS)])
    return stream.getvalue()


def files() -> dict[str, str]:
    """The files of the sample folder by name."""
    items = sample_items()
    models, people = answers(items), written(items)
    return {
        "model_answers.jsonl": jsonl(models),
        "human_answers.csv": sheet(people),
        "ratings.csv": ratings([*models, *people]),
    }


def main() -> None:
    """Write the files into the sample folder."""
    for name, text in files().items():
        (SAMPLE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
