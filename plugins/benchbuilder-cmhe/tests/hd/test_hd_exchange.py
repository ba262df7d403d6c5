"""Dialogues exchange parts of their answers: what is found, what may be exchanged, and that both sides are alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Item
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.testing import check_step
from omegaconf import OmegaConf

import benchbuilder_cmhe
from benchbuilder_cmhe.hd.dialogue import Dialogue, DialogueCheck
from benchbuilder_cmhe.hd.exchange_answers import ExchangeAnswers, ExchangeAnswersSpec
from benchbuilder_cmhe.hd.keep_families import KeepFamilies, KeepFamiliesSpec
from benchbuilder_cmhe.hd.parts import OppositeRule, TermTable

RECIPES = Path(benchbuilder_cmhe.__file__).parent / "recipes"
SAMPLE = RECIPES / "recipe" / "cmhe" / "sample" / "hd"
MADE = ProducedBy(rule="test")


@cache
def rules() -> dict[str, Any]:
    """The rules of the recipe, with its tables."""
    tables = {f"hd_{name}": str(RECIPES / f"recipe/cmhe/terms/{name}.tsv")
              for name in ("drugs", "diseases", "departments")}  # fmt: skip
    steps = yaml.safe_load((RECIPES / "rules" / "cmhe_hd_exchange.yaml").read_text("utf-8"))
    config = OmegaConf.to_container(OmegaConf.create({"steps": steps, "paths": tables}), resolve=True)
    assert isinstance(config, dict)
    return config["steps"]["hd_exchanged"]


def step(folder: Path = Path(), **changes: Any) -> ExchangeAnswers:
    spec = ExchangeAnswersSpec.model_validate({"kind": "exchange_answers", "from": "x", **rules(), **changes})
    return ExchangeAnswers(
        spec, StepContext(seed=3, language="zh", step="hd_exchanged", cache=folder, workplace=folder)
    )


def dialogues(*answers: str | tuple[str, str]) -> list[Any]:
    said = [(f"第{n}个问题", answer) if isinstance(answer, str) else answer for n, answer in enumerate(answers)]
    return [
        Fact[Dialogue].build(payload=Dialogue(question=question, answer=answer), origin=Origin(file="a.csv", line=n),
                             produced_by=MADE, language="zh", partition="pairs")
        for n, (question, answer) in enumerate(said)
    ]  # fmt: skip


def exchange(*answers: str | tuple[str, str], **changes: Any) -> list[str]:
    """For each dialogue its altered answer, or the reason why there is none."""
    made = step(**changes)
    tables = {"each": Table.of(dialogues(*answers), Fact[Dialogue])}
    shard = account_gather(made, tables, made.gather(tables), Fact[Dialogue])
    answer_of = {row.id: row.payload.answer for row in shard.rows}
    last = {line["row"]: line for line in shard.outcomes.to_pylist()}
    return [answer_of[line["out"]] if line["outcome"] == "kept" else line["reason"] for line in last.values()]


@pytest.mark.parametrize(
    ("one", "other", "altered", "back"),
    [
        ("建议口服奥美拉唑。", "感冒口服布洛芬片，多休息。", "建议口服布洛芬片。", "感冒口服奥美拉唑，多休息。"),
        ("考虑是胆囊炎，查超声。", "这考虑是阑尾炎，急诊。", "考虑是阑尾炎，查超声。", "这考虑是胆囊炎，急诊。"),
        ("先到妇科检查。", "建议到眼科检查。", "先到眼科检查。", "建议到妇科检查。"),
        ("停药后，不要哺乳。", "没有化脓，可以哺乳。", "停药后，可以哺乳。", "没有化脓，不要哺乳。"),
        ("孩子会传染，隔离。", "大人不会传染，放心。", "no_frame", "no_frame"),  # not the same letter before it
        ("它，会传染，隔离。", "这，不会传染，放心。", "它，不会传染，隔离。", "这，会传染，放心。"),
        ("属于良性肿瘤。", "这属于恶性肿瘤。", "属于恶性肿瘤。", "这属于良性肿瘤。"),
        ("平时，多吃蔬菜。", "平日，少吃海鲜。", "平时，少吃蔬菜。", "平日，多吃海鲜。"),
        ("疗程14天。", "一般疗程3天。", "疗程3天。", "一般疗程14天。"),
    ],
)
def test_two_answers_exchange_what_stands_in_one_frame(one: str, other: str, altered: str, back: str) -> None:
    assert exchange(one, other) == [altered, back]


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("口服奥美拉唑。", "口服雷贝拉唑。", "not_different"),  # of one group
        ("口服奥美拉唑。", "外用达克宁。", "no_frame"),
        ("疗程7天。", "疗程9天。", "not_different"),  # both may be right
        ("疗程3天。", "疗程90天。", "not_different"),  # absurd
        ("不要口服奥美拉唑。", "口服布洛芬。", "no_part"),  # a warning holds of many drugs
        ("口服奥美拉唑，再用雷贝拉唑。", "口服布洛芬。", "mentioned"),  # the rest would tell
        (("我能吃布洛芬吗", "口服奥美拉唑。"), "口服布洛芬。", "mentioned"),
        (("三叉神经一侧痛", "考虑是三叉神经痛。"), "考虑是耳石症。", "letters_differ"),
        ("平时，多吃蔬菜，少油。", "平日，少吃海鲜。", "mentioned_once"),
        ("这可能会传染。", "这不会传染。", "no_part"),  # neither is wrong
        ("会造成胎儿畸形，不要服用。", "没有化脓，可以服用。", "contradicted"),
        ("没有化脓，可以服用。", "药物有毒性，不要服用。", "contradicted"),
    ],
)
def test_what_would_tell_or_would_not_be_wrong_is_left_alone(one: Any, other: Any, reason: str) -> None:
    assert exchange(one, other)[0] == reason


@pytest.mark.parametrize(
    "answer",
    ["卵泡是卵巢皮质内的结构。", "留观23小时。", "牙龈出血要就诊。", "口服阿莫西林，过敏时口服阿莫西林要停。"],
)
def test_absurd_changes_of_former_rules_have_no_rule(answer: str) -> None:
    """A part of the body, a number times ten, one of two mentions of a drug."""
    others = ["卵巢要查超声。", "留观2小时。", "甲状腺出血要就诊。", "口服布洛芬。", "乳腺出血要就诊。"]
    assert exchange(answer, *others)[0] in ("no_part", "no_frame")


def test_no_claim_is_made_more_often_than_the_recipe_says() -> None:
    answers = [f"{n}说，少吃辛辣。" for n in "甲乙丙丁戊己"] + [f"{n}说，多吃蔬果。" for n in "甲乙丙丁戊己"]
    made = exchange(*answers, repeats=2)
    assert made.count("repeated") > 6
    assert sum("多吃辛辣" in text for text in made) == sum("少吃蔬果" in text for text in made) == 2


def test_dialogues_are_limited_by_pairs() -> None:
    answers = ["先到妇科检查。", "建议到眼科检查。", "属于良性肿瘤。", "这属于恶性肿瘤。"]
    assert Counter(exchange(*answers, dialogues=2))["not_drawn"] == 2


def sample() -> list[Any]:
    lines = (SAMPLE / "answers.csv").read_text("utf-8").splitlines()[1:]
    questions = dict(line.split(",", 1) for line in (SAMPLE / "questions.csv").read_text("utf-8").splitlines()[1:])
    pairs = [line.split(",", 2)[1:] for line in lines]
    return dialogues(*((questions.get(number, "？"), answer) for number, answer in pairs))


def test_contract_and_symmetry_on_the_sample(tmp_path: Path) -> None:
    """Whatever part of families people keep, no letter and no sum of letters tells true answers from untrue ones."""
    spec, context = step(tmp_path).spec, step(tmp_path).context
    shard = check_step(lambda: ExchangeAnswers(spec, context), {"each": Table.of(sample(), Fact[Dialogue])})
    families: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for row in shard.rows:
        families[tuple(sorted((row.of or "", row.payload.partner)))].append(row.payload)
    assert len(families) >= 24
    for said in families.values():
        own, altered = ([one for one in said if bool(one.changes) is changed] for changed in (False, True))
        assert len(own) == len(altered) == 2
        for view in (lambda one: one.answer, lambda one: one.question, lambda one: one.partner):
            assert sum((Counter(view(one)) for one in own), Counter()) == sum(
                (Counter(view(one)) for one in altered), Counter()
            )
        first, second = (one.changes[0] for one in altered)
        assert (first.rule, first.before, first.after) == (second.rule, second.after, second.before)
        for text in (first.before, first.after):
            assert sum(text in one.answer for one in own) == sum(text in one.answer for one in altered)


def test_every_bar_is_the_same_from_both_sides() -> None:
    """A check of altered answers alone would be a cue: each bar looks at both dialogues and both parts."""
    opened = step()
    opened.gather({"each": Table.of(sample(), Fact[Dialogue])})
    places: dict[str, list[Any]] = defaultdict(list)
    for position, row in enumerate(sample()):
        for name, finder in opened._finders.items():
            for part in finder.find(name, row.payload.answer, opened.spec.stops):
                places[part.frame].append(opened._place(position, row, part))
    bars = Counter[str]()
    for found in places.values():
        for one, other in permutations(found, 2):
            assert opened._bar(one, other) == opened._bar(other, one)
            bars[opened._bar(one, other)] += 1
    assert set(bars) >= {"not_different", "mentioned", "mentioned_once", "letters_differ", "repeated"}


def test_a_family_goes_as_a_whole(tmp_path: Path) -> None:
    rows = [
        Item[DialogueCheck].build(
            payload=DialogueCheck(question=f"{family}{n}", answer="好", expected="no"), candidate="", fact="",
            family=family, reviewed=True, origin=Origin(file="a", line=n), produced_by=MADE, language="zh",
            partition="correct",
        )
        for family, size in (("a+b", 4), ("c+d", 3)) for n in range(size)
    ]  # fmt: skip
    spec = KeepFamiliesSpec.model_validate({"kind": "keep_families", "from": "x", "size": 4})
    context = StepContext(seed=3, language="zh", step="hd_whole", cache=tmp_path, workplace=tmp_path)
    shard = check_step(lambda: KeepFamilies(spec, context), {"each": Table.of(rows, Item[DialogueCheck])})
    assert {row.family for row in shard.rows} == {"a+b"}
    assert Counter(line["reason"] for line in shard.outcomes.to_pylist()) == {"": 4, "family_incomplete": 3}


def test_faults_of_tables_and_rules_are_told(tmp_path: Path) -> None:
    for text, why in (
        ("field\tgroup\tterm\na\tb\n", "a field, a group and a term"),
        ("field\tgroup\tterm\na\tb\tc\na\tb\td\nx\ty\tz\n", "a field with two groups"),
    ):
        (tmp_path / "t.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=why):
            TermTable(tmp_path / "t.tsv")
    with pytest.raises(DataError, match="cannot be read"):
        TermTable(tmp_path / "none.tsv")
    with pytest.raises(ValueError, match="in common"):
        OppositeRule(affirmed=("是",), negated=("不是", "是"), frames={"what": None})
