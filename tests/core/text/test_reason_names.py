"""Chinese pages name every drop reason of the program in Chinese; English ones show the words of its code."""

from __future__ import annotations

import importlib

import pytest

from benchbuilder.core import page_texts
from benchbuilder.core.registry import BUILT_IN_KINDS


@pytest.mark.push
def test_every_reason_has_a_chinese_name() -> None:
    codes = set[str]()
    for slot in ("source", "step", "scorer", "judge"):
        for place in BUILT_IN_KINDS[slot].values():
            module, _, name = place.partition(":")
            codes |= getattr(getattr(importlib.import_module(module), name), "reasons", {}).keys()
    names = page_texts("zh").starting("reason_names.")
    assert len(codes) > 200
    assert not codes - names.keys()
    assert not [name for name in names.values() if not name.strip() or len(name) > 12]
    assert not page_texts("en").starting("reason_names.")
