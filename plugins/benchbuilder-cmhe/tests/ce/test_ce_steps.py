from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.config.spec.model import Sampling
from benchbuilder.core import RecipeError
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.core.records.payloads import Fact, Item
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.solvers import EvaluatedModel
from benchbuilder.testing import check_kind, check_payload, check_solver, check_step
from pydantic import ValidationError

import benchbuilder_cmhe
from benchbuilder_cmhe.ce.ask_concept import AskConcept, AskConceptSpec
from benchbuilder_cmhe.ce.concept import Concept, ConceptQuestion, NearbyConcept
from benchbuilder_cmhe.ce.distract import Distract, DistractSpec
from benchbuilder_cmhe.ce.mask import Mask, MaskSpec
from benchbuilder_cmhe.ce.self_familiarity import SelfFamiliarity, SelfFamiliaritySpec
from benchbuilder_cmhe.ce.sort_concept import SortConcept, SortConceptSpec
from benchbuilder_cmhe.ce.tree import steps_between

CONTEXT = StepContext(seed=7, language="zh", step="s", cache=Path(), workplace=Path())
ROOTS = {"disease": ("C",), "medicine": ("D",), "test": ("E01",)}
CONCEPTS = {
    "肺炎": "C01.100", "细菌性肺炎": "C01.100.100 C04.200", "病毒性肺炎": "C01.100.200 C04.300", "支气管炎": "C01.200",
    "高血压": "C02.100", "心绞痛": "C02.200", "心肌梗死": "C02.300", "麻疹": "C04.400", "阿司匹林": "D01.100 D03.100",
    "布洛芬": "D01.200", "对乙酰氨基酚": "D01.300", "硝苯地平": "D03.200", "血培养": "E01.300.200",
    "糖耐量试验": "E01.300.100", "皮肤试验": "E01.400", "绷带": "E02.100", "过敏原提取物": "D05.1 E01.400.5",
}  # fmt: skip


def fact(name: str, line: int = 1, **fields: Any) -> Fact[Concept]:
    payload = {"code": f"T{line}", "name": name, "names": (name,), "tree_numbers": ()} | fields
    return Fact[Concept].build(
        origin=Origin(file="terms.tsv", line=line),
        produced_by=ProducedBy(rule="mesh"),
        language="zh",
        partition="terms",
        payload=Concept.model_validate(payload),
    )


def facts(concepts: dict[str, str] = CONCEPTS, **fields: Any) -> list[Fact[Concept]]:
    return [
        fact(name, n, tree_numbers=places.split(), **fields) for n, (name, places) in enumerate(concepts.items(), 1)
    ]


def table(rows: list[Any]) -> Table[Any]:
    return Table.of(rows, type(rows[0]))


def sort_concept(**changes: Any) -> SortConcept:
    spec = {"kind": "sort_concept", "from": "x", "roots": ROOTS, "several": "first"} | changes
    return SortConcept(SortConceptSpec.model_validate(spec), CONTEXT)


def opened(**changes: Any) -> SortConcept:
    opened_step = sort_concept(**changes)
    opened_step.open({})
    return opened_step


def sorted_facts() -> list[Fact[Concept]]:
    opened_step = opened()
    return [outcome.row for row in facts() for outcome in opened_step.map(row, {}) if isinstance(outcome, Kept)]  # type: ignore[misc]


def distract(**changes: Any) -> Distract:
    spec = {
        "kind": "distract", "from": "x", "similar": 2, "distant": 1, "category": 1, "same_class": "similar",
        "kin": "keep",
    }  # fmt: skip
    return Distract(DistractSpec.model_validate(spec | changes), CONTEXT)


def distracted(rows: list[Fact[Concept]], **changes: Any) -> dict[str, Any]:
    opened_step = distract(**changes)
    opened_step.open({"pool": table(rows)})
    found: dict[str, Any] = {}
    for row in rows:
        (outcome,) = opened_step.map(row, {})
        found[row.payload.name] = outcome.row.payload.options if isinstance(outcome, Kept) else outcome  # type: ignore[attr-defined]
    return found


CLASSES = {
    "disease": {
        "mask": "【某疾病】",
        "questions": {"causes": "{name}的病因是什么？", "treatments": "{name}怎样治疗？"},
    },
    "medicine": {"mask": "【某药物】", "questions": {"indications": "{name}治什么？"}},
}


def ask_concept(**changes: Any) -> AskConcept:
    spec = {"kind": "ask_concept", "from": "x", "keys": "ABCD", "classes": CLASSES} | changes
    return AskConcept(AskConceptSpec.model_validate(spec | {"keys": tuple(spec["keys"])}), CONTEXT)


def items() -> list[Item[ConceptQuestion]]:
    near = [NearbyConcept(code=f"N{n}", name=name, steps=2) for n, name in enumerate(("支气管炎", "麻疹", "阿司匹林"))]
    row = fact("肺炎", names=("肺炎", "Pneumonia"), concept_class="disease", options=tuple(near))
    return [outcome.row for outcome in ask_concept().map(row, {}) if isinstance(outcome, Kept)]  # type: ignore[misc]


def answer(item: Item[ConceptQuestion], text: str, outcome: str = "complete") -> Answer:
    return Answer.child(item, produced_by=ProducedBy(rule="answer"), model="m", text=text, outcome=outcome)


def test_payloads_keep_the_contract_and_do_not_tell_the_answer() -> None:
    check_payload(Concept)
    check_payload(ConceptQuestion)
    for example in ConceptQuestion.examples():
        asked = example.prompt_fields()
        assert set(asked) == {"question", "type", "options", "mask"}
        asked["options"] = asked["question"] = None
        assert example.answer not in str(asked)


def test_steps_keep_the_contract() -> None:
    for cls in (SortConcept, Distract, AskConcept, Mask):
        check_kind("step", cls.kind, cls)
    check_step(sort_concept, {"each": table(facts())})
    rows = sorted_facts()
    check_step(distract, {"each": table(rows), "pool": table(rows)})
    asked = items()
    check_step(
        lambda: Mask(MaskSpec.model_validate({"kind": "mask", "from": "x"}), CONTEXT),
        {"each": table([answer(item, "肺炎是……") for item in asked]), "item": table(asked)},
    )
    near = tuple(NearbyConcept(code=f"N{n}", name=f"病{n}", steps=2) for n in range(3))
    ready = [
        fact(f"症{n}", n, concept_class=sort, options=near) for n, sort in enumerate(("disease", "medicine", "test"), 1)
    ]
    check_step(ask_concept, {"each": table(ready)})


def test_classes_are_told_by_roots() -> None:
    outcomes = {row.payload.name: next(iter(opened().map(row, {}))) for row in facts()}
    sorts = {name: outcome.row.payload.concept_class for name, outcome in outcomes.items() if isinstance(outcome, Kept)}  # type: ignore[attr-defined]
    assert Counter(sorts.values()) == {"disease": 8, "medicine": 5, "test": 3}
    assert outcomes["绷带"] == NotApplicable("other_class"), "E02 is not below E01"
    assert sorts["过敏原提取物"] == "medicine", "the first class counts"
    both = next(row for row in facts() if row.payload.name == "过敏原提取物")
    assert list(opened(several="drop").map(both, {})) == [Dropped("several_classes", "medicine test")]
    (kept,) = opened(without={"medicine": ("D05",)}).map(both, {})
    assert isinstance(kept, Kept)
    assert kept.row.payload.concept_class == "test"  # type: ignore[attr-defined]


def test_branches_and_headings_can_be_left_out() -> None:
    rows = facts({"感染": "C01", "细菌感染": "C01.252", "肺炎": "C01.252.400", "动物病": "C22.1.1", "酶": "D12.3.4.5"})
    with_rule = opened(
        roots={"disease": ["C"], "medicine": ["D02"]}, without={"disease": ["C22"]}, level={"disease": 3}
    )
    found = {row.payload.name: next(iter(with_rule.map(row, {}))) for row in rows}
    assert [name for name, outcome in found.items() if isinstance(outcome, Kept)] == ["肺炎"]
    assert found["细菌感染"] == Dropped("no_place_counts", "细菌感染: C01.252")
    assert found["动物病"] == Dropped("no_place_counts", "动物病: C22.1.1")
    assert found["酶"] == NotApplicable("other_class")


def test_the_bundled_rule_of_mesh_is_a_spec() -> None:
    file = Path(benchbuilder_cmhe.__file__).parent / "recipes" / "concepts" / "mesh.yaml"
    rule = yaml.safe_load(file.read_text("utf-8"))
    spec = opened(**rule).spec
    assert set(spec.level) == set(spec.roots) == set(spec.without)


def test_only_the_concepts_that_were_chosen_are_asked_about(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.txt"
    chosen.write_text("\ufeffT1\tcommon\nT9\n\n", encoding="utf-8")
    opened_step = opened(chosen=str(chosen))
    kept = [row.payload.name for row in facts() if isinstance(next(iter(opened_step.map(row, {}))), Kept)]
    assert kept == ["肺炎", "阿司匹林"]
    assert list(opened_step.map(facts()[1], {})) == [Dropped("not_chosen", "T2 细菌性肺炎")]


def test_two_options_are_the_nearest_of_the_class_and_one_shares_no_category() -> None:
    rows = sorted_facts()
    by_name = {row.payload.name: row.payload for row in rows}
    for name, near in distracted(rows).items():
        own = by_name[name]
        if isinstance(near, Dropped):
            continue
        paths = sorted(
            steps_between(own.tree_numbers, other.tree_numbers)
            for other in by_name.values()
            if other is not own and other.concept_class == own.concept_class
        )
        assert [one.steps for one in near[:2]] == paths[:2], name
        assert not {number[0] for number in by_name[near[2].name].tree_numbers} & {n[0] for n in own.tree_numbers}
        assert len({name, *(one.name for one in near)}) == 4


def test_the_choice_among_equally_near_ones_follows_the_seed() -> None:
    siblings = facts({f"病{n}": f"C01.{n:03}" for n in range(40)} | {"药": "D01"}, concept_class="disease")
    one, again = distracted(siblings), distracted(list(reversed(siblings)))
    assert len({one[f"病{n}"][:2] for n in range(40)}) > 20
    assert {name: {o.name for o in found[:2]} for name, found in one.items() if isinstance(found, tuple)} == {
        name: {o.name for o in found[:2]} for name, found in distracted(siblings).items() if isinstance(found, tuple)
    }
    assert set(one) == set(again)


def test_concepts_that_share_a_name_never_stand_beside_each_other() -> None:
    rows = [
        fact("痛风", 1, names=("痛风", "Gout"), tree_numbers=("C01.1",), concept_class="disease"),
        fact("痛风病", 2, names=("痛风病", "GOUT"), tree_numbers=("C01.2",), concept_class="disease"),
        fact("佝偻病", 3, names=("佝偻病",), tree_numbers=("C01.3",), concept_class="disease"),
        fact("麻疹", 4, names=("麻疹",), tree_numbers=("C02.3",), concept_class="disease"),
        fact("阿司匹林", 5, names=("阿司匹林",), tree_numbers=("D01",), concept_class="medicine"),
    ]
    found = distracted(rows)
    assert [one.name for one in found["痛风"]] == ["佝偻病", "麻疹", "阿司匹林"]
    assert {"痛风", "痛风病"} - {one.name for one in found["麻疹"]}, "not both of them"
    assert found["阿司匹林"] == Dropped("too_few_similar", "0 of 2")


def test_kin_can_be_left_out() -> None:
    rows = [row for row in sorted_facts() if row.payload.concept_class != "test"]
    assert any(one.steps == 1 for one in distracted(rows)["细菌性肺炎"][:2])
    found = distracted(rows, kin="drop")
    assert {one.name for one in found["细菌性肺炎"][:2]} == {"病毒性肺炎", "麻疹"}
    assert {one.name for one in found["肺炎"][:2]} <= {"支气管炎"} | {one.payload.name for one in rows}
    assert not {"细菌性肺炎", "病毒性肺炎"} & {one.name for one in found["肺炎"][:2]}


def test_all_options_can_be_of_the_class_that_the_mask_names() -> None:
    places = {f"病{n}": f"C0{n % 3 + 1}.{n:03}" for n in range(12)} | {
        f"药{n}": f"D0{n % 2 + 1}.{n:03}" for n in range(8)
    }
    tests = {f"检查{n}": f"E01.{n % 2 + 1}00.{n:03}" for n in range(6)}
    rows = [
        fact(
            name,
            n,
            names=(name,),
            tree_numbers=(number,),
            concept_class={"C": "disease", "D": "medicine"}.get(number[0], "test"),
        )
        for n, (name, number) in enumerate((places | tests).items(), 1)
    ]
    by_name = {row.payload.name: row.payload for row in rows}
    found = distracted(rows, same_class="all", category={"disease": 2, "medicine": 2, "test": 3}, kin="drop")
    for name, options in found.items():
        own = by_name[name]
        assert {by_name[one.name].concept_class for one in options} == {own.concept_class}
        depth = 7 if own.concept_class == "test" else 3
        assert by_name[options[2].name].tree_numbers[0][:depth] != own.tree_numbers[0][:depth]
    with_others = distracted(rows)
    assert all(by_name[one[2].name].concept_class != by_name[name].concept_class for name, one in with_others.items())


def test_a_class_without_a_level_is_an_error() -> None:
    with pytest.raises(
        RecipeError, match=r"category: a class of the pool has no level\n    found:   concepts of disease, .* medicine"
    ):
        distracted(facts({"甲": "C01.1", "乙": "C01.2"}, concept_class="disease"), category={"medicine": 2})


def test_no_option_stands_above_another() -> None:
    places = {"甲": "C01.1", "乙": "C01.2", "乙一": "C01.2.1", "乙二": "C01.2.2", "丙": "C01.3.1", "丁": "C02.1"}
    rows = facts(places, concept_class="disease")
    for seed_order in (rows, list(reversed(rows))):
        found = distracted(seed_order, same_class="all", category=2, kin="drop")["甲"]
        numbers = [places[one.name] for one in found]
        assert not any(a != b and a.startswith(f"{b}.") for a in numbers for b in numbers)


def test_what_has_no_options_is_dropped_with_its_reason() -> None:
    rows = facts({"甲": "C01.1", "乙": "C01.2", "丙": "C01.3"}, concept_class="disease")
    assert set(distracted(rows).values()) == {Dropped("too_few_distant", "0 of 1")}
    opened_step = distract()
    opened_step.open({"pool": table(rows[:2])})
    assert list(opened_step.map(rows[2], {})) == [Dropped("not_in_pool", "T3")]


def test_one_item_a_template_with_the_answer_among_shuffled_options() -> None:
    check = items()
    assert [item.payload.aspect for item in check] == ["causes", "treatments"]
    assert {item.partition for item in check} == {"disease"}
    assert len({item.fact for item in check}) == 1
    for item in check:
        payload = item.payload
        assert payload.question.startswith("肺炎")
        assert payload.mask == "【某疾病】"
        assert {option.key: option.text for option in payload.options}[payload.answer_key] == payload.answer == "肺炎"
        assert payload.names == ("肺炎", "Pneumonia")
    near = tuple(NearbyConcept(code=f"N{n}", name=f"病{n}", steps=2) for n in range(3))
    rows = [fact(f"症{n}", n, concept_class="disease", options=near) for n in range(1, 81)]
    opened_step = ask_concept()
    keys = Counter(outcome.row.payload.answer_key for row in rows for outcome in opened_step.map(row, {}))  # type: ignore[union-attr]
    assert set(keys) == set("ABCD")
    assert max(keys.values()) < 60, "no key is favoured"


def test_a_class_without_templates_and_a_wrong_number_of_options_are_dropped() -> None:
    near = (NearbyConcept(code="N", name="甲", steps=1),)
    assert list(ask_concept().map(fact("血培养", concept_class="test", options=near), {})) == [
        Dropped("no_template", "test")
    ]
    assert list(ask_concept().map(fact("肺炎", concept_class="disease", options=near), {})) == [
        Dropped("wrong_count", "2")
    ]
    with pytest.raises(ValidationError, match="name"):
        ask_concept(classes={"disease": {"mask": "x", "questions": {"causes": "为什么？"}}})


def test_answers_are_masked_whatever_became_of_them() -> None:
    item = items()[0]
    opened_step = Mask(MaskSpec.model_validate({"kind": "mask", "from": "x", "endings": ["s"]}), CONTEXT)
    (kept,) = opened_step.map(answer(item, "肺炎（Pneumonia）由细菌引起，pneumonias……", "truncated"), {"item": item})
    assert isinstance(kept, Kept)
    assert kept.row.text == "【某疾病】（【某疾病】）由细菌引起，【某疾病】……"  # type: ignore[attr-defined]
    assert kept.row.outcome == "truncated"  # type: ignore[attr-defined]
    (refused,) = opened_step.map(answer(item, "", "refused"), {"item": item})
    assert isinstance(refused, Kept)
    assert (refused.row.text, refused.row.outcome) == ("", "refused")  # type: ignore[attr-defined]
    assert refused.row.produced_by.rule == "mask/no_mention"


def test_both_phases_of_the_solver_ask_the_same_model_in_the_same_way() -> None:
    check_kind("solver", "self_familiarity", SelfFamiliarity)
    spec = {"kind": "self_familiarity", "choose": "zh/cmhe_ce_choose.j2", "endings": ["s"]}
    asked = EvaluatedModel("qwen", KindSpec(kind="none"), None, None, Sampling(temperature=0.5, top_k=200))
    steps = check_solver(lambda: SelfFamiliarity(SelfFamiliaritySpec.model_validate(spec)), asked)
    assert list(steps) == ["explain", "mask", "answer"]
    same = ("name", "model", "system", "sampling")
    assert [getattr(steps["explain"], name) for name in same] == [getattr(steps["answer"], name) for name in same]
