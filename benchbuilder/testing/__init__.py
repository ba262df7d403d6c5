"""Checks the contracts of kinds, ours and those of plugins, and serves a fake OpenAI service.

Each ``check_...`` runs one kind on example input. It raises `ContractError` (an AssertionError) at the first promise
that the kind breaks::

    from benchbuilder.testing import check_step

    def test_my_step_keeps_the_contract():
        check_step(lambda: MyStep(spec, context), {"each": table})

`fake_openai_server` starts a local service that speaks the OpenAI protocol and misbehaves on request. The names that
plugins may use are listed in ``__init__.pyi`` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
