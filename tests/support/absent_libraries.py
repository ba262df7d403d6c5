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
