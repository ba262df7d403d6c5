from __future__ import annotations

import pytest

from benchbuilder.ledger import _cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\nb", "a\\nb"),
        ("=1\x00", "'=1\\x00"),
        (3, 3),
        ("宫缩", "宫缩"),
    ],
)
def test_control_characters_are_written_as_codes(value, cell):
    assert _cell(value) == cell
