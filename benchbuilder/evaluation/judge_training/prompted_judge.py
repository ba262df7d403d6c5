"""Lets a judge that asks a model score cases like any other judge, through the gateway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchbuilder.core import DataError, Dropped
from benchbuilder.evaluation.judges.base import AskingJudge, Case, ScoringJudge
from benchbuilder.models import Gateway


class GatewayJudge(ScoringJudge):
    """An open judge that asks a model through `gateway`; `step` is its name in receipts."""

    def __init__(self, judge: AskingJudge, gateway: Gateway, step: str) -> None:
        super().__init__(judge.spec)
        self.kind = judge.kind  # pyright: ignore[reportAttributeAccessIssue] - what it is to the outside
        self.judge, self._gateway, self._step = judge, gateway, step

    def scores_or_reasons(
        self, cases: Sequence[Case], report_progress: Callable[[int], None] | None = None
    ) -> list[float | Dropped]:
        """The score of each case, or why it has none; `report_progress` receives the number of finished cases.

        Errors of the gateway are raised; replies received so far are kept.
        """
        asks = self.judge.model_spec
        if asks is None:
            return [Dropped("needs_model")] * len(cases)
        results: dict[int, float | Dropped] = {}

        def conversation(place: int) -> Any:
            results[place] = yield from self.judge.converse(cases[place])
            return []

        def done(place: int, outcomes: Any) -> None:
            if isinstance(outcomes, str):
                results[place] = Dropped("failed", outcomes)
            if report_progress is not None:
                report_progress(len(results))

        starts = ((place, conversation(place)) for place in range(len(cases)))
        self._gateway.converse(self._step, asks, starts, done)
        return [results[place] for place in range(len(cases))]

    def score(self, cases: Sequence[Case]) -> list[float]:
        """The score of each case; DataError if one has none, because there is no substitute."""
        replies = self.scores_or_reasons(cases)
        scores: list[float] = [reply for reply in replies if not isinstance(reply, Dropped)]
        if len(scores) < len(replies):
            first = next(reply for reply in replies if isinstance(reply, Dropped))
            raise DataError(
                f"{len(replies) - len(scores)} of {len(replies)} cases got no score",
                where=self._step,
                why=": ".join(filter(None, (first.reason, first.detail[:200]))),
                next="see evaluation.judges: more repair_rounds, or another model",
            )
        return scores
