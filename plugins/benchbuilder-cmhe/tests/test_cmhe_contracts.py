"""Every kind of the plugin is known by its name, says what it is, and its contract was checked by some test."""

from __future__ import annotations

from importlib.metadata import EntryPoint, distribution
from typing import Any

import pytest
from benchbuilder.core.registry import SLOTS, find_kind
from benchbuilder.testing import check_kind

KINDS = [
    entry
    for entry in distribution("benchbuilder-cmhe").entry_points
    if entry.group.removeprefix("benchbuilder.") in SLOTS
]


def _slot(entry: EntryPoint) -> str:
    return entry.group.removeprefix("benchbuilder.")


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: f"{_slot(entry)}-{entry.name}")
def test_a_kind_says_what_it_is(entry: EntryPoint) -> None:
    kind = find_kind(_slot(entry), entry.name)
    assert kind.distribution == "benchbuilder-cmhe"
    check_kind(_slot(entry), entry.name, kind.load())


def test_every_kind_keeps_its_contract(checked_kinds: set[type[Any]]) -> None:
    """A kind that no test put through the contract suite is named here."""
    assert len(KINDS) >= 27
    assert [f"{_slot(entry)} {entry.name}" for entry in KINDS if entry.load() not in checked_kinds] == []
