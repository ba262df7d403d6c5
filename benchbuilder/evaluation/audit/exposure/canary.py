"""The canary: can a model write the rest of the identifier that every file of the benchmark holds?"""

from __future__ import annotations

from functools import partial

from benchbuilder.evaluation.audit.exposure.base import ExposureMaterial, ExposureTask, ExposureWork, ScoredReply

CANARY = "canary"
_SHOWN = 11
"""How many characters of the identifier the model sees; at least 25 remain."""


def canary_tasks(material: ExposureMaterial, canary: str) -> list[ExposureTask]:
    """One task: the identifier from its beginning."""
    return [ExposureTask(CANARY, CANARY, partial(_ask, material, canary))]


def _ask(material: ExposureMaterial, canary: str) -> ExposureWork:
    begin, rest = canary[:_SHOWN], canary[_SHOWN:]
    reply = yield from material.ask("canary", canary, begin=begin)
    return ScoredReply(CANARY, CANARY, False, rest, reply, float(rest.lower() in reply.lower()))
