from __future__ import annotations

import pytest

from benchbuilder.core.text.paths import public_name


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
    assert public_name(path) == shown
