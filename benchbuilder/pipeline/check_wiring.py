"""Checks the wiring of a recipe: whether each port gets rows that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, did_you_mean, parse_key
from benchbuilder.core import (
    Item,
    Problem,
    RecipeError,
    Row,
    SpecIssue,
    StepContext,
    create_from_spec,
    find_kind,
    payload_kind,
    row_name,
)
from benchbuilder.pipeline.wiring import (
    StepWiring,
    expand_wiring,
    flow_order,
    missing_source_problems,
    source_row_class,
    step_row_class,
)
from benchbuilder.sources import Source
from benchbuilder.steps import Port, Step


def step_class_of(loaded: LoadedRecipe, step: str) -> type[Step]:
    """The class of a step's kind."""
    return find_kind("step", loaded.recipe.steps[step].kind).load()


class WiringCheck:
    """Checks the ports of steps against what is wired to them."""

    def __init__(self, loaded: LoadedRecipe) -> None:
        self.loaded, self.recipe = loaded, loaded.recipe
        self.wired: StepWiring = {}
        self.rows: dict[str, type[Row]] = {}
        self.above: dict[str, set[str]] = {}
        self.remarks: list[Problem] = []

    def problems(self) -> list[Problem]:
        """Everything that is wrong with the wiring; fills `wired`, `rows` and `remarks`."""
        try:
            wired = expand_wiring(self.recipe)
            order = flow_order(self.recipe, wired)
        except RecipeError as error:
            return [self._placed(problem) for problem in error.problems]
        self.wired = wired
        problems: list[Problem] = []
        for name in order:
            if name in self.recipe.sources:
                self.rows[name], self.above[name] = source_row_class(self.recipe, name), set()
            else:
                problems += self._step(name)
        problems += [*self._items(), *self._named_sources()]
        problems += [] if problems else missing_source_problems(self.recipe, wired)
        return [self._placed(problem) for problem in problems]

    def unused(self) -> list[Problem]:
        """A warning for every source and step that nothing reads, and for every output of a step that is not there."""
        read = {name for ports in self.wired.values() for names in ports.values() for name in names}
        parts = self.recipe.by_task().values()
        items = {part.items for part in parts}
        outputs = {str(getattr(spec, "step", None)) for part in parts for spec in part.outputs.values()}
        problems: list[Problem] = []
        for name in self.rows:
            if name not in read and name not in items and name not in outputs:
                group = "sources" if name in self.recipe.sources else "steps"
                problems.append(self._placed(Problem("nothing reads this", key=f"{group}.{name}", hint="take it out")))
        for task, part in self.recipe.by_task().items():
            for output, spec in part.outputs.items():
                if (step := getattr(spec, "step", None)) is not None and step not in self.rows:
                    key = f"tasks.{task}.outputs.{output}.step" if self.recipe.tasks else f"outputs.{output}.step"
                    hint = did_you_mean(step, list(self.rows)) or f"name a step, or write outputs.{output}: null"
                    text = "there is no such step, so this file is not written"
                    problems.append(self._placed(Problem(text, key=key, actual=step, hint=hint)))
        return problems

    def _placed(self, problem: Problem) -> Problem:
        return replace(problem, where=problem.where or str(self.loaded.origins.origin_of(parse_key(problem.key))))

    def _step(self, step: str) -> Iterator[Problem]:
        step_class, wired = step_class_of(self.loaded, step), self.wired[step]
        self.above[step] = {a for names in wired.values() for name in names for a in (name, *self.above[name])}
        for port in wired:
            if port not in step_class.ports:
                yield Problem(
                    f"a {step_class.kind!r} step has no such port", key=f"steps.{step}.from.{port}", actual=port,
                    allowed=", ".join(step_class.ports), hint=did_you_mean(port, list(step_class.ports)),
                )  # fmt: skip
        for name, port in step_class.ports.items():
            if name in wired:
                yield from self._port(step, name, port, step_class)
            elif not port.optional:
                yield Problem(
                    f"the port `{name}` is not wired",
                    key=f"steps.{step}.from",
                    allowed=f"{name}: a step or source of rows `{row_name(port.row)}`",
                    hint=f"write from: {{{', '.join(f'{port}: ...' for port in step_class.ports)}}}",
                )
        self.rows[step] = step_row_class(self.recipe, step, wired.get("each", ()), self.rows)
        yield from self._input_problems(step, step_class)

    def _input_problems(self, step: str, step_class: type[Step]) -> Iterator[Problem]:
        """What in the spec of the step does not fit its rows or the files that it names."""
        rows = {
            port: self.rows[names[0]] for port, names in self.wired[step].items() if names and port in step_class.ports
        }
        if "each" not in rows:
            return
        nowhere = Path()
        recipe = self.recipe
        context = StepContext(seed=recipe.seed, language=recipe.language, step=step, cache=nowhere, workplace=nowhere)
        try:
            built_step: Step = create_from_spec("step", recipe.steps[step], context)
            issues = list(built_step.validate_inputs(rows))
            self.remarks += [] if issues else [self._placed(_problem(step, issue)) for issue in built_step.remarks()]
        except RecipeError as error:
            yield from (replace(problem, key=f"steps.{step}") for problem in error.problems)
            return
        yield from (_problem(step, issue) for issue in issues)

    def _port(self, step: str, name: str, port: Port, step_class: type[Step]) -> Iterator[Problem]:
        key, wired = f"steps.{step}.from.{name}", self.wired[step][name]
        for upstream in wired:
            if not accepts_row_class(self.rows[upstream], port.row):
                found = f"{upstream} of `{row_name(self.rows[upstream])}`"
                yield Problem(
                    f"{upstream!r} makes other rows than this port takes", key=key, actual=found,
                    allowed=f"`{row_name(port.row)}`", hint=self._makers(port.row),
                )  # fmt: skip
        if len({self.rows[upstream] for upstream in wired}) > 1 and (name != "each" or step_class.output is None):
            found = ", ".join(f"{upstream} of `{row_name(self.rows[upstream])}`" for upstream in wired)
            yield Problem("one table holds one sort of rows", key=key, actual=found, hint="use a step for each sort")
        if port.mode == "parent" and wired and (each := self.wired[step].get("each")):
            strangers = [name for name in each if name not in wired and not self.above[name] & set(wired)]
            if strangers:
                yield Problem(
                    f"rows of {', '.join(strangers)} do not come from here", key=key, actual=", ".join(wired),
                    allowed=f"steps above {', '.join(strangers)}",
                )  # fmt: skip

    def _makers(self, expected: type[Row]) -> str:
        makers = [name for name, row in self.rows.items() if accepts_row_class(row, expected)]
        return f"such rows come from {', '.join(makers)}" if makers else ""

    def _named_sources(self) -> Iterator[Problem]:
        """Sources that other sources name, and that are missing or have other rows."""
        sources = self.recipe.sources
        for name, spec in sources.items():
            source: type[Source] = find_kind("source", spec.kind).load()
            for key, (other, row) in source.named_sources(spec).items():
                if other in sources and accepts_row_class(self.rows[other], row):
                    continue
                message = "there is no such source" if other not in sources else "this source has other rows"
                fitting = [one for one in sources if accepts_row_class(self.rows[one], row)]
                allowed = ", ".join(fitting) or f"a source of rows `{row_name(row)}`"
                hint = did_you_mean(other, fitting)
                yield Problem(message, key=f"sources.{name}.{key}", actual=other, allowed=allowed, hint=hint)

    def _items(self) -> Iterable[Problem]:
        for task, part in self.recipe.by_task().items():
            items, key = part.items, f"tasks.{task}.items" if task else "items"
            if items not in self.recipe.steps:
                hint = did_you_mean(items, list(self.recipe.steps))
                allowed = ", ".join(name for name, row in self.rows.items() if issubclass(row, Item))
                yield Problem("there is no such step", key=key, actual=items, allowed=allowed, hint=hint)
            elif items in self.rows and not issubclass(self.rows[items], Item):
                found = f"{items} of `{row_name(self.rows[items])}`"
                yield Problem(
                    "the step whose rows are the benchmark makes items", key=key, actual=found, hint=self._makers(Item)
                )


def _problem(step: str, issue: SpecIssue) -> Problem:
    return Problem(
        issue.message, key=f"steps.{step}.{issue.key}", actual=issue.actual, allowed=", ".join(issue.allowed),
        hint=did_you_mean(issue.actual, list(issue.allowed)),
    )  # fmt: skip


def accepts_row_class(actual: type[Row], expected: type[Row]) -> bool:
    """Whether rows of class `actual` may enter a port for `expected`.

    >>> from benchbuilder.core.records.payloads import Choice, Fact, Triple
    >>> accepts_row_class(Fact[Triple], Fact), accepts_row_class(Fact[Triple], Fact[Choice])
    (True, False)
    """
    if issubclass(actual, expected):
        return True
    arguments: Any = expected.__pydantic_generic_metadata__["args"]
    base: Any = expected.__pydantic_generic_metadata__["origin"]
    if base is None or not issubclass(actual, base):
        return False
    return all(not isinstance(arg, type) or payload_kind(actual) == getattr(arg, "kind", None) for arg in arguments)
