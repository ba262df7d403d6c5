"""An installation without an optional library, for one test."""

from __future__ import annotations

import sys

import pytest

_IMPORTED_WITH = {"openpyxl": ("benchbuilder.annotation.sheets.workbook",)}


def remove_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """`name` cannot be imported, and modules that import it at their beginning are imported anew."""
    monkeypatch.setitem(sys.modules, name, None)
    for module in _IMPORTED_WITH[name]:
        monkeypatch.delitem(sys.modules, module, raising=False)
        for face in [face for title, face in sys.modules.items() if title.startswith("benchbuilder.")]:
            for taken in [key for key, value in vars(face).items() if getattr(value, "__module__", "") == module]:
                monkeypatch.delattr(face, taken)
