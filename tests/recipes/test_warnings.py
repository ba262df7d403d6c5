"""What `check_recipe` warns of in a bundled recipe whose settings cannot come true."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.pipeline.check import check_recipe


@pytest.mark.parametrize(("least", "warned"), [(6, False), (7, True)])
def test_more_evidence_than_is_looked_up_is_warned_of(least: int, warned: bool, tmp_path: Path):
    """Three paragraphs each from two sources of passages."""
    loaded = load_recipe(["recipe=care_mi", f"annotation.min_evidence={least}"], cwd=tmp_path, environ={})
    found = [str(warning) for warning in check_recipe(loaded, sources=()) if warning.key == "annotation.min_evidence"]
    assert bool(found) == warned
    assert all("at most 6: 3 from each of 2 sources of passages" in text for text in found)
