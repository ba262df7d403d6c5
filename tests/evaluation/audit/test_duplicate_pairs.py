"""Pairs of items inside a benchmark: contradictions, duplicates, and near duplicates of different families."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from typing import Any

from benchbuilder.core import Claim, Item, Origin, ProducedBy, jaccard, trigrams
from benchbuilder.evaluation.audit.compared_items import distinct_part
from benchbuilder.evaluation.audit.duplicates import DuplicatePair, find_duplicates


def item(question: str, right: str, wrong: str = "", expected: Any = "", fact: str = "", **more: Any) -> Item[Claim]:
    payload = Claim(type="tf" if expected else "oe", expected=expected, question=question, answer=right,
                    answer_wrong=wrong or f"不是{right}")  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="f", line=1), produced_by=ProducedBy(rule="test"), language="zh", partition="s", slot=fact,
        payload=payload, fact=fact or question, reviewed=False, **{"candidate": "c", **more},
    )  # fmt: skip


def kinds(*rows: Item[Claim]) -> list[str]:
    pairs = find_duplicates(rows)
    assert len({frozenset((pair.first, pair.second)) for pair in pairs}) == len(pairs)
    assert all(pair.first != pair.second for pair in pairs)
    return [pair.kind for pair in pairs]


STEM = "医学伦理学的特征之一是"


def test_equal_questions_with_other_answers_or_verdicts_contradict_each_other():
    one, other = (item(f"{STEM}什么？", f"{STEM}{answer}。", fact=answer) for answer in ("实践性", "继承性"))
    assert kinds(one, other) == ["contradiction"]
    (pair,) = find_duplicates([one, other])
    assert pair.answers == (f"{STEM}实践性。", f"{STEM}继承性。")
    yes, no = (item("新生儿应喝水吗？", "新生儿不应喝水。", expected=said, fact=said) for said in ("yes", "no"))
    assert kinds(yes, no) == ["contradiction"]


def test_a_statement_that_is_right_in_one_item_and_wrong_in_another_is_a_contradiction():
    one = item("首选硫酸镁，对吗？", "预防子痫首选的药物是硫酸镁。", "预防子痫首选的药物是地西泮。", "yes")
    other = item("不首选硫酸镁，对吗？", "预防子痫首选的药物是哌替啶。", "预防子痫首选的药物是硫酸镁。", "yes")
    assert kinds(one, other) == ["contradiction"]
    elsewhere = [row.model_copy(update={"candidate": ""}) for row in (one, other)]
    assert kinds(*elsewhere) == [], "answers of a benchmark from elsewhere need not be statements"
    shown = [row.model_copy(update={"form": "verify"}) for row in (one, other)]
    assert kinds(*shown) == [], "the answer to a question that is shown may be wrong for another one"


def test_equal_questions_with_equal_answers_are_duplicates():
    texts = ("引起日本血吸虫病病变最严重的是虫卵。", "引起日本血吸虫病病变最严重的为虫卵。")
    rows = [
        item("引起日本血吸虫病病变最严重的是什么？", text, "引起日本血吸虫病病变最严重的是成虫。", fact=text)
        for text in texts
    ]
    assert kinds(*rows) == ["duplicate"]


def test_near_duplicates_are_pairs_of_different_families():
    texts = [
        f"女，36岁，间断腹痛、腹泻5年，大便3～5次/日，带黏液{mark}无脓血，抗生素治疗无效，最可能的诊断是"
        for mark in "，。"
    ]
    rows = [item(f"{t}什么{n}？", f"{t}肠易激综合征。", f"{t}克罗恩病。", fact=f"f{n}") for n, t in enumerate(texts)]
    assert kinds(*rows) == ["near duplicate"]
    assert kinds(*(row.model_copy(update={"family": "one"}) for row in rows)) == []
    other = item(rows[1].payload.question, f"{texts[1]}结肠癌。", f"{texts[1]}克罗恩病。", fact="f9")
    assert kinds(rows[0], other) == [], "one case, another question"


def test_questions_about_triples_are_no_near_duplicates_for_their_frame():
    rows = [
        item(
            f"{head}的临床表现包括{tail}，这种说法对吗？",
            f"{head}的临床表现包括{tail}。",
            f"{head}的临床表现包括水肿。",
            "yes",
        )
        for head in ("肺炎", "佝偻病", "早产儿视网膜病变", "新生儿黄疸", "子痫前期")
        for tail in ("发热", "咳嗽", "呕吐", "腹泻", "抽搐")
    ]
    assert kinds(*rows) == []


def test_near_duplicates_are_those_of_a_comparison_of_every_pair():
    draw = random.Random(3)
    frame = "患者最可能的诊断是下列哪一项"
    stems = ["".join(draw.choices("甲乙丙丁戊己庚辛壬癸", k=12)) for _ in range(8)]
    rows = []
    for number in range(90):
        stem = draw.choice(stems)
        place = draw.randrange(12)
        asked = f"{stem[:place]}{draw.choice(['', '子', '丑寅'])}{stem[place:]}{frame}？"
        answer = draw.choice(["慢性支气管肺炎", "慢性支气管炎", "急性肾小球肾炎"])
        rows.append(item(asked, answer, "其他疾病", fact=f"f{number % 40}-{number}", family=f"f{number % 40}"))
    near, equal = list[DuplicatePair](), set[tuple[str, str]]()
    for pair in find_duplicates(rows):
        near.append(pair) if pair.kind == "near duplicate" else equal.add(in_order(pair.first, pair.second))
    grams = {row.id: trigrams(row.payload.question) for row in rows}
    counts = Counter(gram for found in grams.values() for gram in found)
    own = {name: frozenset(gram for gram in found if counts[gram] <= 20) for name, found in grams.items()}
    answers = {row.id: trigrams(distinct_part(row.payload.answer, row.payload.answer_wrong)) for row in rows}
    expected = {
        (*in_order(one.id, other.id), round(jaccard(grams[one.id], grams[other.id]), 3))
        for one, other in combinations(rows, 2)
        if one.family != other.family and in_order(one.id, other.id) not in equal
        and jaccard(own[one.id], own[other.id]) > 0.7 and jaccard(answers[one.id], answers[other.id]) > 0.7
    }  # fmt: skip
    assert {(*in_order(pair.first, pair.second), pair.similarity) for pair in near} == expected
    assert len(expected) > 20
    assert len({similarity for *_, similarity in expected}) > 3


def in_order(one: str, other: str) -> tuple[str, str]:
    return min(one, other), max(one, other)
