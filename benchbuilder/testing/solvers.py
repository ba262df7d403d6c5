"""The contract of solvers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from benchbuilder.config import StepSpec
from benchbuilder.core import Answer, find_kind
from benchbuilder.evaluation import ANSWER, ITEM, EvaluatedModel, Solver
from benchbuilder.steps import Step
from benchbuilder.testing.contract import require


def check_solver(make: Callable[[], Solver], model: EvaluatedModel) -> dict[str, StepSpec]:
    """Check a solver: it makes one step per declared phase, and the last phase is ``answer``.

    Each step must be of a known kind that makes answers, under the name of the model. It may read items and the answers
    of earlier phases. The solver must make the same steps each time.

    Args:
        make: Makes a new solver.
        model: The model and settings to make steps for.

    Returns:
        The spec of each step.

    Raises:
        ContractError: The solver breaks a promise.
    """
    solver = make()
    who = f"the solver {solver.kind!r}"
    pickle.dumps(solver)
    steps = solver.steps(model)
    require(tuple(steps) == solver.phases, f"{who} has the phases {', '.join(steps)}, not those that it declares")
    require(solver.phases[-1] == ANSWER, f"{who} does not end in the phase {ANSWER!r}")
    require(make().steps(model) == steps, f"{who} makes other steps the second time")
    specs: dict[str, StepSpec] = {}
    for phase, step in steps.items():
        step_class: type[Step] = find_kind("step", str(step.get("kind"))).load()
        require(step_class.output is Answer, f"{who}: the phase {phase!r} does not make answers")
        wired: Any = step.get("from")
        ports: Mapping[str, str] = wired if isinstance(wired, Mapping) else {"each": wired}
        before = {ITEM, *specs}
        for port, up in ports.items():
            require(port in step_class.ports, f"{who}: the step of the phase {phase!r} has no port {port!r}")
            require(up in before, f"{who}: {phase!r} reads {up!r}, which is neither the items nor an earlier phase")
        spec: StepSpec = step_class.spec_class.model_validate(step)
        named = getattr(spec, "name", model.name)
        require(named == model.name, f"{who}: the phase {phase!r} keeps answers under the name {named!r}")
        specs[phase] = spec
    return specs
