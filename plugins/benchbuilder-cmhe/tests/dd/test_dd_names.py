from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchbuilder.core.errors import DataError
from pydantic import ValidationError

from benchbuilder_cmhe.dd.classification import Classification, ClassificationSpec, open_classification

from .dd_sample import SAMPLE, classification


@pytest.fixture(scope="module")
def known() -> Classification:
    return open_classification(classification())


@pytest.mark.parametrize(
    ("name", "codes", "how"),
    [
        ("痛风", ["M10.900"], "exact"),
        ("肾病综合症", ["N04.900"], "exact"),  # the recipe's spelling
        ("类风湿关节炎", ["M06.900"], "exact"),
        ("Ⅱ型糖尿病", ["E11.900"], "exact"),
        ("感冒", ["J00.x00"], "alias"),  # in brackets in the list
        ("急性鼻咽炎", ["J00.x00"], "alias"),
        ("胃癌", ["C16.900"], "alias"),
        ("甲亢", ["E05.900"], "alias"),  # of the table of aliases
        ("右侧桡骨远端骨折", ["S52.500"], "alias"),  # trimmed
        ("急性胰腺炎（水肿型）", ["K85.900"], "alias"),
        ("慢性支气管炎合并肺炎", ["J42.x00", "J18.900"], "exact"),
        ("急性右心胆囊", [], ""),
        ("阑尾切除术", [], ""),
    ],
)
def test_names_come_to_codes_as_listed(known: Classification, name: str, codes: list[str], how: str) -> None:
    found = known.find(name)
    assert [match.code for match in found] == codes
    assert {match.how for match in found} == ({how} if how else set())


def test_a_near_name_counts_if_it_says_the_same_of_what_is_fixed(known: Classification) -> None:
    (found,) = known.find("急性化脓性中耳炎症")
    assert (found.code, found.how) == ("H66.000", "alias")  # the suffix may go
    (found,) = known.find("新生儿期呼吸窘迫综合征")
    assert (found.code, found.how, found.score < 100) == ("P22.000", "fuzzy", True)
    assert known.find("慢性化脓性中耳炎") == []  # one character, another disease
    assert known.find("继发性闭角型青光眼") == []


def test_without_fuzzy_a_name_that_is_not_listed_has_no_code() -> None:
    strict = open_classification(classification(fuzzy=None))
    assert strict.find("肺炎链球菌肺炎")[0].how == "exact"
    assert strict.find("新生儿期呼吸窘迫综合征") == []


def test_the_codes_own_name_goes_before_other_forms_and_causes_before_manifestations(tmp_path: Path) -> None:
    rows = [
        "code\tname",
        "G01*\t结核性脑膜炎",
        "A17.000+G01*\t结核性脑膜炎",
        "J31.000\t慢性鼻炎[鼻渊]",
        "J30.400x001\t鼻渊",
    ]
    file = tmp_path / "names.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    known = open_classification(classification(names={"list": {"file": str(file), "code": "code", "name": "name"}}))
    assert known.find("结核性脑膜炎")[0].code == "A17.000+G01*"
    assert known.find("鼻渊")[0].code == "J30.400x001"


def test_what_the_recipe_leaves_out_is_no_disease(known: Classification) -> None:
    assert known.find("发热")[0].code == "R50.900"
    assert known.place("R50.900") is None
    assert known.is_left_out("R50.900")
    assert known.place("J30.4") is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\tb\nJ30\tx\n", "no column 'code'"),
        ("code\tname\nJ30\n", "1 columns, not 2"),
        ("code\tname\nZZZ\tx\n", "1 names were read"),
    ],
)
def test_lists_of_another_shape_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "names.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        open_classification(classification(names={"list": {"file": str(file), "code": "code", "name": "name"}}))
    assert why in caught.value.why
    file.write_bytes("code\tname\nJ30\t鼻炎\n".encode("gb18030"))
    with pytest.raises(DataError, match="wrong shape"):
        open_classification(classification(names={"list": {"file": str(file), "code": "code", "name": "name"}}))


def test_a_missing_file_is_told() -> None:
    with pytest.raises(DataError, match="missing"):
        open_classification(classification(hierarchy=str(SAMPLE / "none.tsv")))


def test_titles_of_the_hierarchy_can_be_names() -> None:
    titles: dict[str, Any] = {"titles": True, "names": {"list": None}, "aliases": {}}
    known = open_classification(classification(**titles))
    assert known.find("慢性鼻窦炎")[0].code == "J32"


def test_what_has_moved_must_be_categories() -> None:
    with pytest.raises(ValueError, match="no three-character category"):
        classification(moved={"A90": "dengue"})
    assert isinstance(classification(moved={"A90": "A97"}), ClassificationSpec)


@pytest.fixture
def measles(tmp_path: Path) -> Classification:
    rows = [
        "code\tname",
        "B05.200+J17.1*\t麻疹并发肺炎",
        "B05.800\t麻疹伴有其他并发症",
        "B05.900\t麻疹不伴有并发症",
        "A01.100\t伤寒性脑炎",
        "A01.900\t伤寒不伴有并发症",
        "I74.304\t股动脉栓塞",
        "J04.000\t喉炎",
        "J18.900\t肺炎",
        "K35.900\t急性阑尾炎",
        "K65.900\t腹膜炎",
        "E16.301\t胰高血糖素血症",
        "I42.200\t肥厚性心肌病",
    ]
    file = tmp_path / "names.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return open_classification(classification(names={"list": {"file": str(file), "code": "code", "name": "name"}}))


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("麻疹", ["B05.900"]),
        ("麻疹合并肺炎", ["B05.200+J17.1*"]),
        ("麻疹伴肺炎", ["B05.200+J17.1*"]),
        ("麻疹合并喉炎", ["B05.800", "J04.000"]),  # another complication, and which
        ("伤寒并发脑炎", ["A01.100"]),
        ("伤寒合并肺炎", ["A01", "J18.900"]),  # the list has no such entry: the category is what is known
        ("急性阑尾炎并发腹膜炎", ["K35.900", "K65.900"]),  # nothing denies a complication
    ],
)
def test_a_complication_goes_before_the_entry_that_denies_one(
    measles: Classification, name: str, codes: list[str]
) -> None:
    assert [match.code for match in measles.find(name)] == codes


@pytest.mark.parametrize("name", ["髂-股动脉栓塞", "左髂股动脉栓塞", "低胰高血糖素血症", "左侧肥厚型心肌病"])
def test_a_near_name_loses_no_qualifier(measles: Classification, name: str) -> None:
    assert measles.find(name) == []
    assert measles.find("肥厚型心肌病")[0].how == "fuzzy"


def test_forms_of_complications_are_checked() -> None:
    rule = {"link": "合并", "denied": "不伴有并发症$", "same": ["{illness}"]}
    with pytest.raises(ValidationError, match="illness"):
        classification(complications=rule)
