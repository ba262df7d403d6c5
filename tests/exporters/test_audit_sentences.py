"""What the report says of an audit that can show nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchbuilder.core import page_texts
from benchbuilder.exporters.render.templates import code_spans
from benchbuilder.exporters.report.audit import AuditSentences, audit_chart


@pytest.mark.parametrize(("smallest", "said"), [(0.0, "too few to say"), (0.1, "are needed")])
def test_too_few_items_show_nothing(smallest: float, said: str) -> None:
    result: Any = SimpleNamespace(limit=0.05)
    check: Any = SimpleNamespace(n=2, smallest=smallest, upper=0.5)
    sentences = AuditSentences(result, page_texts("en"))
    assert said in sentences._unclear("verdict", "all", [check])  # pyright: ignore[reportPrivateUsage]


def test_the_section_shows_code_as_code_and_whole_labels() -> None:
    texts = page_texts("en")
    assert str(code_spans(texts("audit.report_page"))).startswith("<code>benchbuild audit</code> with")
    result: Any = SimpleNamespace(limit=0.05)
    sentences = AuditSentences(result, texts)
    check: Any = SimpleNamespace(view="evidence_overlap", score=0.5, low=0.4, high=0.6, word="clean", gates=True)
    assert texts("audit.view.evidence_overlap") in audit_chart([check], sentences, "x")
