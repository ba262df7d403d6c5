"""What the recipe's patterns take for personal data, and what they do not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from benchbuilder.core.text.patterns import (
    has_match,
)

import benchbuilder_cmhe

FILE = Path(benchbuilder_cmhe.__file__).parent / "recipes" / "screening" / "cmhe_personal_data.yaml"


@cache
def patterns() -> dict[str, str]:
    return yaml.safe_load(FILE.read_text("utf-8"))["personal_data"]["patterns"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("电话13812345678", "mobile_number"),
        ("电话 138 1234-5678。", "mobile_number"),
        ("打0571-81234567", "telephone"),
        ("身份证11010519491231002X", "id_number"),
        ("住院号：1234567", "record_number"),
        ("加微信号abc_12345", "account"),
        ("写信到 a.b@example.com", "address_of_mail"),
        ("我叫李小明，今年三十", "named"),
        ("您好，王建国医生，请看一下", "name_before_title"),
        ("祝主任，您好", "name_before_title"),
        ("某某县中医院-王建国。", "name_behind_hospital"),
        ("住在人民路12号", "address"),
        ("谢谢医生。", ""),
        ("没有食欲，谢谢您大夫", ""),
        ("祝您健康，医生", ""),
        ("许多专家认为", ""),
        ("省医院－心内科检查", ""),
        ("血压130，病毒20807000", ""),
    ],
)
def test_patterns_name_what_tells_who_somebody_is(text: str, name: str) -> None:
    found = [known for known, pattern in patterns().items() if has_match(pattern, text)]
    assert found == ([name] if name else [])
