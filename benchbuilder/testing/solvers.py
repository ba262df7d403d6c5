"""The contract of solvers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from benchbuilder.config.spec.base import StepSpec
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.registry import find_kind
from benchbuilder.evaluation.solvers.base import ANSWER, ITEM, EvaluatedModel, Solver
from benchbuilder.steps.base import Step
from benchbuilder.testing.contract import require


def check_solver(make: Callable[[], Solver], solver_request: EvaluatedModel) -> dict[str, StepSpec]:
    """Its steps are the phases that it declares, ``answer`` last, each of a known stage that makes answers, wired to
    items or to earlier phases; the same again and again, and under the name of the model.

    Returns the spec of each step.
    """
    solver = make()
    who = f"the solver {solver.kind!r}"
    pickle.dumps(solver)
    steps = solver.steps(solver_request)
    require(tuple(steps) == solver.phases, f"{who} has the phases {', '.join(steps)}, not those that it declares")
    require(solver.phases[-1] == ANSWER, f"{who} does not end in the phase {ANSWER!r}")
    require(make().steps(solver_request) == steps, f"{who} makes other steps the second time")
    found: dict[str, StepSpec] = {}
    for phase, step in steps.items():
        stage: type[Step] = find_kind("step", str(step.get("kind"))).load()
        require(stage.output is Answer, f"{who}: the phase {phase!r} makes no answers")
        wired: Any = step.get("from")
        ports: Mapping[str, str] = wired if isinstance(wired, Mapping) else {"each": wired}
        before = {ITEM, *found}
        for port, up in ports.items():
            require(port in stage.ports, f"{who}: the stage of the phase {phase!r} has no port {port!r}")
            require(up in before, f"{who}: {phase!r} reads {up!r}, which is neither items nor an earlier phase")
        spec: StepSpec = stage.spec_class.model_validate(step)
        named = getattr(spec, "name", solver_request.name)
        require(named == solver_request.name, f"{who}: the phase {phase!r} keeps answers under the name {named!r}")
        found[phase] = spec
    return found
