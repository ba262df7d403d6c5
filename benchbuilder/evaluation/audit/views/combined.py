"""The view of everything together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from benchbuilder.evaluation.audit.features import ViewFeatures, joined
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.views.base import View, ViewContext


class AllView(View):
    """All views that close the gate, side by side."""

    kind: ClassVar[str] = "all"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The features of all views before this one."""
        return joined(list(context.seen.values())) if context.seen else "no_views"
