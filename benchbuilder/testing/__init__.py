"""Contract checks for built-in kinds and for those of plugin authors, and a fake OpenAI service.

Each ``check_...`` runs one kind on example input. It raises `ContractError` (an AssertionError) at the first promise
that the kind breaks::

    from benchbuilder.testing import check_step

    def test_my_step_keeps_the_contract():
        check_step(lambda: MyStep(spec, context), {"each": table})

`fake_openai_server` starts a local service that speaks the OpenAI protocol and misbehaves on request.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchbuilder.testing.baselines import check_baseline
    from benchbuilder.testing.contract import ContractError, check_kind
    from benchbuilder.testing.exporters import check_exporter
    from benchbuilder.testing.fake_openai.behaviour import Behaviour
    from benchbuilder.testing.fake_openai.server import FakeOpenAI, fake_openai_server
    from benchbuilder.testing.judges import check_judge
    from benchbuilder.testing.metrics import check_metric
    from benchbuilder.testing.models import check_model
    from benchbuilder.testing.payloads import check_payload
    from benchbuilder.testing.retrievers import check_retriever
    from benchbuilder.testing.scorers import check_scorer
    from benchbuilder.testing.solvers import check_solver
    from benchbuilder.testing.sources import check_source
    from benchbuilder.testing.steps import check_step
    from benchbuilder.testing.tokenizers import check_tokenizer

__all__ = [
    "Behaviour",
    "ContractError",
    "FakeOpenAI",
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
    "fake_openai_server",
]

_MODULES = {
    "check_baseline": "baselines",
    "ContractError": "contract",
    "check_kind": "contract",
    "check_exporter": "exporters",
    "Behaviour": "fake_openai.behaviour",
    "FakeOpenAI": "fake_openai.server",
    "fake_openai_server": "fake_openai.server",
    "check_judge": "judges",
    "check_metric": "metrics",
    "check_model": "models",
    "check_payload": "payloads",
    "check_retriever": "retrievers",
    "check_scorer": "scorers",
    "check_solver": "solvers",
    "check_source": "sources",
    "check_step": "steps",
    "check_tokenizer": "tokenizers",
}
"""Where each name is; a module is loaded when one of its names is first used."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
