"""Expands the references in `from` to names of sources and steps, and puts the steps in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchbuilder.config import Recipe, did_you_mean
from benchbuilder.core import (
    ROLES,
    Problem,
    RecipeError,
    Row,
    find_kind,
    kinds_of_slot,
    payload_kind,
    row_class,
    row_name,
)
from benchbuilder.steps import Step

StepWiring = dict[str, dict[str, tuple[str, ...]]]


def source_row_class(recipe: Recipe, name: str) -> type[Row]:
    """The class of the rows of source `name`."""
    spec = recipe.sources[name]
    return find_kind("source", spec.kind).load().row_class(spec)


def expand_wiring(recipe: Recipe) -> StepWiring:
    """For each step, port -> the names of the sources and steps that it reads, in order, each once.

    ``sources.NAME`` is one source, ``sources.PAYLOAD`` or ``sources.ROLE`` every source with such rows (none, if the
    recipe has none). RecipeError for a reference to nothing.
    """
    rows = {name: source_row_class(recipe, name) for name in recipe.sources}
    problems: list[Problem] = []
    missing: dict[str, list[str]] = {}
    wired: StepWiring = {}
    for step in recipe.steps:
        wired[step] = {}
        for port, refs in recipe.step_spec(step).from_.items():
            names: list[str] = []
            for ref in refs:
                sources = _names(ref, recipe, rows)
                if sources is None and ref.startswith("sources."):
                    missing.setdefault(ref, []).append(f"steps.{step}.from.{port}")
                elif sources is None:
                    problems.append(_unknown(step, port, ref, recipe))
                names += sources or ()
            wired[step][port] = tuple(dict.fromkeys(names))
    if problems or missing:
        raise RecipeError([*problems, *_missing_sources(missing, recipe)])
    return wired


def missing_source_problems(recipe: Recipe, wired: StepWiring) -> list[Problem]:
    """Required ports, and items, that get no rows from any of the chosen sources.

    A step with no source behind its `each` is left out of a build (a recipe without triples has steps for triples).
    """
    fed: set[str] = set(recipe.sources)
    problems: list[Problem] = []
    for step in flow_order(recipe, wired):
        if step in recipe.sources or not fed.intersection(wired[step].get("each", ())):
            continue
        fed.add(step)
        step_class: type[Step] = find_kind("step", recipe.steps[step].kind).load()
        for port, names in wired[step].items():
            if port in step_class.ports and not step_class.ports[port].optional and not fed.intersection(names):
                needed = row_name(step_class.ports[port].row)
                message, hint = "no rows of the chosen sources reach this port", f"add a source of rows `{needed}`"
                problems.append(Problem(message, key=f"steps.{step}.from.{port}", hint=hint))
    for task, part in recipe.by_task().items():
        if part.items in recipe.steps and part.items not in fed:
            key = f"tasks.{task}.items" if task else "items"
            message = "no rows of the chosen sources reach the items"
            rows = {name: row_name(source_row_class(recipe, name)) for name in recipe.sources}
            available = ", ".join(f"sources.{name} of `{row}`" for name, row in rows.items()) or "no sources"
            refs = ", ".join(source_references(recipe))
            hint = f"the steps read {refs}: choose sources with such rows, or change `from` of the steps"
            problems.append(Problem(message, key=key, actual=available, hint=hint if refs else ""))
    return problems


def source_references(recipe: Recipe) -> list[str]:
    """The references to sources in the steps (``sources.triple``), each once."""
    refs = (ref for step in recipe.steps for listed in recipe.step_spec(step).from_.values() for ref in listed)
    return list(dict.fromkeys(ref for ref in refs if ref.startswith("sources.")))


def step_row_class(recipe: Recipe, step: str, each: Sequence[str], rows: Mapping[str, type[Row]]) -> type[Row]:
    """The class of the rows that `step` makes; `each` are the nodes on its `each` port, `rows` the classes of theirs.

    A step that passes rows on makes rows of its first input. Without a source, the reference gives the class
    (``sources.triple``: facts of triples), so that an empty table has its exact schema.
    """
    step_class: type[Step] = find_kind("step", recipe.steps[step].kind).load()
    if step_class.output is not None:
        return step_class.output
    if each:
        return rows[each[0]]
    for ref in recipe.step_spec(step).from_.get("each", ()):
        name = ref.removeprefix("sources.")
        if name in ROLES:
            return row_class(name)
        if name in kinds_of_slot("payload"):
            return row_class(f"fact[{name}]")
    return step_class.ports["each"].row


def _names(ref: str, recipe: Recipe, rows: Mapping[str, type[Row]]) -> tuple[str, ...] | None:
    """The sources or the step that a reference names; None if there are none."""
    if not ref.startswith("sources."):
        return (ref,) if ref in recipe.steps else None
    name = ref.removeprefix("sources.")
    if name in recipe.sources:
        return (name,)
    if name in kinds_of_slot("payload") or name in ROLES:
        return tuple(source for source, row in rows.items() if name in (row.name, payload_kind(row)))
    return None


def _missing_sources(readers: Mapping[str, Sequence[str]], recipe: Recipe) -> list[Problem]:
    """One problem for all references to sources that the recipe does not have: which, and where the first is read."""
    if not readers:
        return []
    first, *others = readers
    known = [f"sources.{name}" for name in recipe.sources]
    key = readers[first][0]
    if not others:
        known += [f"sources.{name}" for name in (*kinds_of_slot("payload"), "passage")]
        hint = did_you_mean(first, known)
        return [Problem("there is no such source", key=key, actual=first, allowed=", ".join(known), hint=hint)]
    return [
        Problem(
            "steps read sources that the recipe does not have",
            key=key,
            actual="; ".join(f"{ref} in {', '.join(keys)}" for ref, keys in readers.items()),
            allowed=", ".join(known),
            hint=f"choose them in `source: [{', '.join(recipe.sources)}, ...]`, or change `from` of these steps",
        )
    ]


def _unknown(step: str, port: str, ref: str, recipe: Recipe) -> Problem:
    if ref in recipe.sources:
        known, message = [f"sources.{ref}"], f"a source is written `sources.{ref}`"
    else:
        known, message = list(recipe.steps), "there is no such step"
    return Problem(
        message, key=f"steps.{step}.from.{port}", actual=ref, allowed=", ".join(known), hint=did_you_mean(ref, known)
    )


def flow_order(recipe: Recipe, wired: StepWiring) -> list[str]:
    """Sources and steps, each after all that it reads; RecipeError for a circle."""
    order: list[str] = list(recipe.sources)
    done, path = set(order), list[str]()

    def visit(step: str) -> None:
        if step in done:
            return
        if step in path:
            circle = " <- ".join((*path[path.index(step) :], step))
            raise RecipeError([Problem("steps read each other in a circle", key=f"steps.{step}.from", actual=circle)])
        path.append(step)
        for names in wired[step].values():
            for name in names:
                visit(name)
        path.pop()
        done.add(step)
        order.append(step)

    for step in recipe.steps:
        visit(step)
    return order
