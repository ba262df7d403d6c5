"""Fixtures of the engine's tests: the stand-in kinds, and a bench to build with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import engine_bench
import pytest
from engine_bench import Bench


@pytest.fixture(autouse=True)
def _stand_in_kinds() -> Iterator[None]:
    engine_bench.register()
    yield
    engine_bench.unregister()


LINES = ["the cat sat", "a drop falls", "!broken", "zebra", "the cat sat", "one two three four", "short", "dog zoo"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two sources, every shape of step, two branches that meet again."""
    return Bench(
        tmp_path,
        {"left": LINES, "right": ["the cat sat", "right side", "zebra crossing here now", "drop", "x"]},
        {
            "short": {"kind": "t_short", "from": ["sources.left", "sources.right"], "at_most": 20},
            "upper": {"kind": "t_upper", "from": "short", "suffix": "."},
            "unique": {"kind": "t_unique", "from": "upper"},
            "faces": {"kind": "t_faces", "from": "unique"},
            "words": {"kind": "t_words", "from": "unique"},
            "old": {"kind": "t_parent", "from": {"each": "words", "first": "short"}},
            "new": {"kind": "t_lookup", "from": {"each": "old", "known": "faces"}},
            "join": {"kind": "t_join", "from": {"each": "unique", "children": ["faces", "new"]}},
        },
        "join",
    )
