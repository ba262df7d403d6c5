"""The contract suite: what every kind must keep, for the kinds of the core and for plugin authors.

Each ``check_...`` runs one kind on example input and raises `ContractError` (an AssertionError) at the first thing
that it does not keep::

    from benchbuilder.testing import check_step

    def test_my_stage_keeps_the_contract():
        check_step(lambda: MyStage(spec, context), {"each": table})
"""

from __future__ import annotations

from benchbuilder.testing.baselines import check_baseline
from benchbuilder.testing.contract import ContractError, check_kind
from benchbuilder.testing.exporters import check_exporter
from benchbuilder.testing.judges import check_judge
from benchbuilder.testing.metrics import check_metric
from benchbuilder.testing.models import check_model
from benchbuilder.testing.payloads import check_payload
from benchbuilder.testing.retrievers import check_retriever
from benchbuilder.testing.scorers import check_scorer
from benchbuilder.testing.solvers import check_solver
from benchbuilder.testing.sources import check_source
from benchbuilder.testing.stages import check_step
from benchbuilder.testing.tokenizers import check_tokenizer

__all__ = [
    "ContractError",
    "check_baseline",
    "check_exporter",
    "check_judge",
    "check_kind",
    "check_metric",
    "check_model",
    "check_payload",
    "check_retriever",
    "check_scorer",
    "check_solver",
    "check_source",
    "check_step",
    "check_tokenizer",
]
