from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchbuilder.core.registry import create_from_spec
from benchbuilder.models.providers.none import NoModelSpec
from benchbuilder.testing import check_model


def test_it_keeps_the_contract_of_models():
    assert check_model(lambda: create_from_spec("model", NoModelSpec(kind="none"))) == []


def test_it_answers_nothing():
    model = create_from_spec("model", NoModelSpec(kind="none"))
    assert not model.answers
    with pytest.raises(ValueError, match="wrote nothing"):
        model.read("Water is wet.")


def test_it_has_no_settings():
    assert not create_from_spec("model", NoModelSpec(kind="none")).known_settings()
    with pytest.raises(ValidationError):
        NoModelSpec(kind="none", temperature=0)  # pyright: ignore[reportCallIssue]
