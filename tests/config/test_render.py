"""The quick dumper of recipes writes what the dumper in Python writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.config import load_recipe
from benchbuilder.config.render import dump_tree, dump_tree_slowly

_ODD = " \n\t:#-'\"|>%@&*!?{}[],\\\x85\u2028\ufeff\x7f\U0001f642\ud800é中"
_SIGNS = st.one_of(st.sampled_from(_ODD), st.characters())


@given(st.text(_SIGNS))
def test_any_text_is_written_the_same(text: str) -> None:
    tree = {"a": {"b": text, "c": [text, 1, None]}, "d": {}}
    assert dump_tree(tree) == dump_tree_slowly(tree)


@pytest.mark.parametrize("name", ["care_mi", "reading_en"])
def test_recipes_are_written_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_recipe([f"recipe={name}"])
    quick = loaded.yaml
    monkeypatch.setattr("benchbuilder.config.render.dump_tree", dump_tree_slowly)
    again = load_recipe([f"recipe={name}"])
    assert again.yaml == quick
