from __future__ import annotations

import pytest

from benchbuilder_cmhe.ce.mentions import mask_names

MASK = "【某疾病】"


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        ("支气管哮喘又称哮喘。", ["哮喘", "支气管哮喘"], "【某疾病】又称【某疾病】。"),
        ("Asthma、ASTHMA与asthma", ["Asthma"], "【某疾病】、【某疾病】与【某疾病】"),
        ("患者有asthma病史", ["Asthma"], "患者有【某疾病】病史"),
        ("Ａｓｔｈｍａ（全角）", ["Asthma"], "【某疾病】（全角）"),
        ("asthmatic bronchitis", ["Asthma"], "asthmatic bronchitis"),
        ("Type 2\n diabetes", ["type 2 diabetes"], "【某疾病】"),
        ("beta–blocker use", ["Beta-Blocker"], "【某疾病】 use"),
        ("beta blocker, betablocker", ["Beta-Blocker"], "【某疾病】, 【某疾病】"),
        ("alcohol - ol", ["-ol", "-"], "alcohol 【某疾病】 ol"),
        ("Crohn\u2019s disease, Crohn's disease", ["Crohn's Disease"], "【某疾病】, 【某疾病】"),
        ("2 型糖尿病、2型糖尿病和12型糖尿病", ["2型糖尿病"], "【某疾病】、【某疾病】和12型糖尿病"),
        ("neoplasm, neoplasms", ["Neoplasms"], "【某疾病】, 【某疾病】"),
        ("gas or gases", ["Gas"], "【某疾病】 or 【某疾病】"),
        ("C++ (x) [y]", ["C++", "[y]"], "【某疾病】 (x) 【某疾病】"),
        ("โรคหอบหืดเป็นโรค", ["หอบหืด"], "โรค【某疾病】เป็นโรค"),
        ("ذات الرئة والرئة", ["الرئة"], "ذات 【某疾病】 والرئة"),
        ("Cafe\u0301 au lait", ["Cafe"], "Cafe\u0301 au lait"),
        ("没有提到它", ["痛风"], "没有提到它"),
        ("", ["痛风"], ""),
        ("痛风", ["", " "], "痛风"),
    ],
)
def test_every_mention_of_every_name_is_masked_and_nothing_else(text: str, names: list[str], wanted: str) -> None:
    assert mask_names(text, names, MASK, ["es", "s"]) == (wanted, wanted.count(MASK))


def test_the_mask_is_put_in_as_it_is_and_is_not_masked_again() -> None:
    assert mask_names("痛风与痛", ["痛风", "痛"], r"\g<0>痛", []) == (r"\g<0>痛与\g<0>痛", 2)


def test_without_endings_a_plural_is_another_word() -> None:
    assert mask_names("oaks, oak", ["oak"], "[tree]") == ("oaks, [tree]", 1)
