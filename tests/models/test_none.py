from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchbuilder.kinds import create
from benchbuilder.models.none import NoModelSpec


def test_it_answers_nothing():
    assert create("model", NoModelSpec(kind="none")).reply("Is water wet?") is None


def test_it_has_no_settings():
    with pytest.raises(ValidationError):
        NoModelSpec(kind="none", temperature=0)  # pyright: ignore[reportCallIssue]
