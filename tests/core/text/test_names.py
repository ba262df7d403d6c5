"""Names of models and files, as recipes and outputs show them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.text.names import recipe_name
from benchbuilder.core.text.paths import public_path

# --- model names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "name"), [("Qwen/Qwen2-7B", "qwen_qwen2_7b"), ("GPT 4", "gpt_4"), ("4o mini", "m_4o_mini")]
)
def test_names_in_ascii_are_plain(label, name):
    assert recipe_name(label) == name


def test_names_in_other_letters_differ():
    labels = ["文心一言", "通义千问", "文心4.0", "通义4.0", "Größe", "Grüße", "!", "?"]
    assert len({recipe_name(label) for label in labels}) == len(labels)


@given(st.text(min_size=1))
def test_a_name_is_a_name_and_its_own_name(label):
    name = recipe_name(label)
    assert re.fullmatch("[a-z][a-z0-9_]*", name)
    assert recipe_name(name) == name


# --- paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("care_mi/sample/medqa", "care_mi/sample/medqa"),
        ("sample/bios/", "sample/bios"),
        ("/home/me/data/medqa.jsonl", "medqa.jsonl"),
        ("../../elsewhere/bios", "bios"),
        ("~/data/x.tsv", "x.tsv"),
    ],
)
def test_places_on_this_machine_are_not_told(path: str, shown: str) -> None:
    assert public_path(path) == shown
