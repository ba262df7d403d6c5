"""What the report says of an audit that can show nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchbuilder.exporters import ReportTexts
from benchbuilder.exporters.report.audit import AuditSentences


@pytest.mark.parametrize(("smallest", "said"), [(0.0, "too few to say"), (0.1, "are needed")])
def test_too_few_items_show_nothing(smallest: float, said: str) -> None:
    result: Any = SimpleNamespace(limit=0.05)
    check: Any = SimpleNamespace(n=2, smallest=smallest, upper=0.5)
    sentences = AuditSentences(result, ReportTexts("en"))
    assert said in sentences._unclear("verdict", "all", [check])  # pyright: ignore[reportPrivateUsage]
