"""Whether a valid recipe can run: wiring, files, prompts and the heads of its sources, without running anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchbuilder.config import (
    EvaluationSpec,
    HostedSpec,
    KindSpec,
    LoadedRecipe,
    PairsRef,
    PromptRef,
    ValueOrigin,
    did_you_mean,
    display_path,
    dotted_key,
    missing_file_problem,
    parse_key,
)
from benchbuilder.core import (
    DataError,
    Evidence,
    InstallationError,
    Item,
    Passage,
    Payload,
    Problem,
    RecipeError,
    Row,
    StepContext,
    create_from_spec,
    find_kind,
    row_name,
)
from benchbuilder.models import (
    Model,
    TokenCounter,
    check_prompt,
    find_prompt,
    missing_price_problem,
    model_price,
    read_few_shot_pairs,
)
from benchbuilder.pipeline.wiring import (
    StepWiring,
    expand_wiring,
    flow_order,
    missing_source_problems,
    payload_kind,
    source_row_class,
    step_row_class,
)
from benchbuilder.steps import REPAIR_VARIABLES, Port, Step, WriterSpec

_OWN_CARD_FIELDS = ("title", "summary", "licence", "correct_as_of")
"""What the card of a recipe says that can hardly be true of another recipe too."""


@dataclass
class CheckResult:
    """What a check found: `problems` stop a build, `data` too (a source's file), `warnings` do not."""

    problems: list[Problem] = field(default_factory=list[Problem])
    data: list[DataError] = field(default_factory=list[DataError])
    warnings: list[Problem] = field(default_factory=list[Problem])

    def raise_if_wrong(self) -> None:
        """RecipeError with every problem; DataError if only files of sources are wrong."""
        if self.problems:
            told = [Problem(error.what, where=error.where, actual=error.why, hint=error.next) for error in self.data]
            raise RecipeError([*self.problems, *told], next="correct these and give the same command again")
        if len(self.data) == 1:
            raise self.data[0]
        if self.data:
            what = "\n".join(str(error) for error in self.data)
            raise DataError(what, next="give the right files, for instance paths.NAME=FILE on the command line")


def check_recipe(loaded: LoadedRecipe, *, sources: Collection[str] | None = None) -> tuple[Problem, ...]:
    """The warnings about a recipe; RecipeError or DataError with everything that would stop a build.

    The heads of the files of `sources` are read, those of all sources by default. Nothing is run and nothing written.
    """
    findings = examine_recipe(loaded, sources=sources)
    findings.raise_if_wrong()
    return tuple(findings.warnings)


def examine_recipe(loaded: LoadedRecipe, *, sources: Collection[str] | None = None) -> CheckResult:
    """Everything that can be known before a build."""
    findings = CheckResult()
    findings.problems += _files(loaded)
    wiring = _Wiring(loaded)
    findings.problems += wiring.problems()
    if not findings.problems:  # a file that is not there is told once
        findings.problems += _models(loaded)
    findings.warnings += [
        *wiring.unused(),
        *_inherited_card(loaded),
        *_unreachable_evidence(loaded),
        *_uncapped_cost(loaded),
    ]
    findings.data += _sources(loaded, loaded.recipe.sources if sources is None else sources)
    return findings


def _files(loaded: LoadedRecipe) -> Iterator[Problem]:
    """Files that are not there, and prompts that are not right. The files of sources are left to the sources."""
    for key, ref in loaded.files:
        if key.startswith("sources."):
            continue
        where = str(loaded.origins.origin_of(parse_key(key)))
        problem = missing_file_problem(key, ref, where, loaded.prompt_roots)
        if problem is not None:
            yield problem
        elif isinstance(ref, PromptRef):
            yield from _prompt(loaded, key, ref, where)


def _prompt(loaded: LoadedRecipe, key: str, ref: PromptRef, where: str) -> Iterator[Problem]:
    step = key.split(".")[1]
    allowed = dict(getattr(_owner(loaded, key), "prompt_variables", {}))
    if _evaluation_at(loaded, key)[1][:1] in (["prompt"], ["system"], ["solver"]):
        allowed |= dict.fromkeys(_prompt_fields_at(loaded, key), "")
    if isinstance(loaded.recipe.steps.get(step), WriterSpec):
        allowed["pairs"] = "the few-shot pairs"
    if key.endswith(".repair"):
        allowed |= REPAIR_VARIABLES
    try:
        if isinstance(ref, PairsRef):
            read_few_shot_pairs(ref.file)
            return
        wrong = check_prompt(find_prompt(ref.path, loaded.prompt_roots), tuple(allowed))
    except RecipeError as error:
        wrong = list(error.problems)
    for problem in wrong:
        hint = did_you_mean(problem.actual, list(allowed)) if problem.allowed else ""
        place = problem.where.replace(str(ref.file), display_path(ref.file))
        yield replace(problem, key=key, where=f"{place}, named at {where}", hint=problem.hint or hint)


def _owner(loaded: LoadedRecipe, key: str) -> type[Any] | None:
    """The kind whose prompt stands under `file_key`."""
    if key.startswith("steps."):
        return _stage(loaded, key.split(".")[1])
    evaluation, place = _evaluation_at(loaded, key)
    if evaluation is None:
        return None
    if place[0] == "judges":
        return find_kind("judge", evaluation.judges[place[1]].kind).load()
    if place[0] == "scorers":
        return find_kind("scorer", evaluation.scorers[place[1]].kind).load()
    return find_kind("step", "follow_up" if place[0] == "solver" else "answer").load()


def _evaluation_at(loaded: LoadedRecipe, key: str) -> tuple[EvaluationSpec | None, list[str]]:
    """The evaluation that `file_key` leads into, if it leads into one, and the rest of the key there."""
    for part in loaded.by_task():
        if key.startswith(prefix := part.file_key("evaluation.")):
            return part.recipe.evaluation, key.removeprefix(prefix).split(".")
    return None, []


def _prompt_fields_at(loaded: LoadedRecipe, key: str) -> Iterator[str]:
    """What the payload of the items gives to the prompts of the evaluation that `file_key` leads into."""
    wiring = _Wiring(loaded)
    wiring.problems()
    for part in loaded.by_task():
        row = wiring.rows.get(part.recipe.items)
        if row is None or not key.startswith(part.file_key("evaluation.")):
            continue
        payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
        for example in payload.examples() if isinstance(payload, type) and issubclass(payload, Payload) else ():
            yield from example.prompt_fields()


def _sources(loaded: LoadedRecipe, names: Collection[str]) -> Iterator[DataError]:
    for name in names:
        try:
            create_from_spec("source", loaded.recipe.sources[name], name, loaded.recipe.language).check()
        except DataError as error:
            link = loaded.origins.links.get(("sources", name, "path"))
            ways = (error.next, f"the path is set by {dotted_key(link[0])}" if link else "")
            yield DataError(error.what, where=error.where, why=error.why, next="; ".join(filter(None, ways)))


def _inherited_card(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning about what the card says of another recipe: the one that this recipe starts from."""
    found: dict[str, ValueOrigin] = {}
    for name in _OWN_CARD_FIELDS:
        origin = loaded.origins.origin_of(("card", name))
        if origin.file and origin.group == "recipe" and origin.file.stem != loaded.recipe.name:
            found[f"card.{name}"] = origin
    if found:
        parents = ", ".join(dict.fromkeys(origin.file.stem for origin in found.values() if origin.file))
        where = str(next(iter(found.values())))
        yield Problem(f"inherited from {parents}: say what is true of yours", key=", ".join(found), where=where)


def _unreachable_evidence(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning if more paragraphs must support an item than are ever looked up for one."""
    recipe = loaded.recipe
    retrievers = [recipe.retriever, *(getattr(step, "retriever", None) for step in recipe.steps.values())]
    each = max((top for spec in retrievers if (top := getattr(spec, "top_k", None)) is not None), default=None)
    least = getattr(recipe.annotation, "min_evidence", None)
    bases = [name for name in recipe.sources if issubclass(source_row_class(recipe, name), Passage)]
    ports = [port for step in recipe.steps for port in _stage(loaded, step).ports.values()]
    if each is None or least is None or least <= each * len(bases) or not any(port.row is Evidence for port in ports):
        return
    key = ("annotation", "min_evidence")
    yield Problem(
        "more paragraphs must support an item than are looked up", key=dotted_key(key), where=str(loaded.origins.origin_of(key)),
        actual=str(least), allowed=f"at most {each * len(bases)}: {each} from each of {len(bases)} sources of passages",
        hint="lower it, raise retriever.top_k, or choose more sources of passages",
    )  # fmt: skip


def _models(loaded: LoadedRecipe) -> Iterator[Problem]:
    """What is wrong with a model that only its kind can tell: its address, its folder, its prices, its tokenizer."""
    seen: list[Any] = []
    evaluations = [part.evaluation for part in loaded.recipe.by_task().values()]
    evaluated = [model for one in evaluations if one is not None for model in one.models.values()]
    written = (step.model for step in loaded.recipe.steps.values() if isinstance(step, WriterSpec))
    for spec in (*written, *evaluated):
        if spec is None or spec in seen:
            continue
        seen.append(spec)
        try:
            model: Model = create_from_spec("model", spec)
            model.identity()
            TokenCounter(spec)
            yield from _price(loaded, model)
        except RecipeError as error:
            for problem in error.problems:
                where = str(loaded.origins.origin_of(parse_key(problem.key))) if problem.key else ""
                address = str(getattr(spec, "base_url", None) or "")
                if problem.key == "model.base_url" and address and not set("@?#") & set(address):
                    near = "" if "://" in address else f"http://{address.strip('/').removesuffix('/v1')}/v1"
                    problem = replace(problem, actual=problem.actual or address, hint=problem.hint or near)  # noqa: PLW2901
                yield replace(problem, where=problem.where or where.partition("=")[0])
        except (DataError, InstallationError) as error:
            yield Problem(error.what, key="model", where=error.where, actual=error.why, hint=error.next)


def _price(loaded: LoadedRecipe, model: Model) -> Iterator[Problem]:
    """A cap in US dollars needs a price of each model that is asked."""
    if model.can_answer and any(spec == model.spec for spec in _asked_models(loaded)):
        prices, price = model_price(model)
        if price is None and loaded.recipe.budget.usd is not None:
            yield replace(missing_price_problem(model, prices), where=str(loaded.origins.origin_of(("budget", "usd"))))


def _asked_models(loaded: LoadedRecipe) -> Iterator[KindSpec]:
    """The models of the steps that may ask one."""
    for spec in loaded.recipe.steps.values():
        if isinstance(spec, WriterSpec) and spec.strategy != "rules" and spec.model is not None:
            yield spec.model


def require_libraries(loaded: LoadedRecipe) -> None:
    """InstallationError if a library is missing that a model of the recipe needs; nothing is imported."""
    for spec in _asked_models(loaded):
        model: Model = create_from_spec("model", spec)
        model.ready()


def _uncapped_cost(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning if steps put prompts to a hosted model and no cap of the user's says what that may cost."""
    recipe = loaded.recipe
    caps = {"usd": recipe.budget.usd, "tokens": recipe.budget.tokens}
    if any(cap is not None and loaded.origins.origin_of(("budget", name)).trusted for name, cap in caps.items()):
        return
    found = {
        step: spec.model
        for step, spec in recipe.steps.items()
        if isinstance(spec, WriterSpec) and spec.strategy != "rules" and isinstance(spec.model, HostedSpec)
    }
    if found:
        yield Problem(
            f"{', '.join(found)}: nothing caps what the calls of models may cost", key="budget",
            hint="`benchbuild plan` quotes it; budget.usd=5 or budget.tokens=1000000 stops the build there",
        )  # fmt: skip


def _stage(loaded: LoadedRecipe, step: str) -> type[Step]:
    return find_kind("step", loaded.recipe.steps[step].kind).load()


class _Wiring:
    """Ports against what is wired to them."""

    def __init__(self, loaded: LoadedRecipe) -> None:
        self.loaded, self.recipe = loaded, loaded.recipe
        self.wired: StepWiring = {}
        self.rows: dict[str, type[Row]] = {}
        self.above: dict[str, set[str]] = {}

    def problems(self) -> list[Problem]:
        """Everything that is wrong with the wiring."""
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
        problems += self._items()
        problems += [] if problems else missing_source_problems(self.recipe, wired)
        return [self._placed(problem) for problem in problems]

    def unused(self) -> list[Problem]:
        """A warning for every source and step that nothing reads."""
        read = {name for ports in self.wired.values() for names in ports.values() for name in names}
        parts = self.recipe.by_task().values()
        items = {part.items for part in parts}
        outputs = {str(getattr(spec, "step", None)) for part in parts for spec in part.outputs.values()}
        found: list[Problem] = []
        for name in self.rows:
            if name not in read and name not in items and name not in outputs:
                group = "sources" if name in self.recipe.sources else "steps"
                found.append(self._placed(Problem("nothing reads this", key=f"{group}.{name}", hint="take it out")))
        return found

    def _placed(self, problem: Problem) -> Problem:
        return replace(problem, where=problem.where or str(self.loaded.origins.origin_of(parse_key(problem.key))))

    def _step(self, step: str) -> Iterator[Problem]:
        stage, wired = _stage(self.loaded, step), self.wired[step]
        self.above[step] = {a for names in wired.values() for name in names for a in (name, *self.above[name])}
        for port in wired:
            if port not in stage.ports:
                yield Problem(
                    f"a {stage.kind!r} step has no such port", key=f"steps.{step}.from.{port}", actual=port,
                    allowed=", ".join(stage.ports), hint=did_you_mean(port, list(stage.ports)),
                )  # fmt: skip
        for name, port in stage.ports.items():
            if name in wired:
                yield from self._port(step, name, port, stage)
            elif not port.optional:
                yield Problem(
                    f"the port `{name}` is not wired", key=f"steps.{step}.from",
                    allowed=f"{name}: a step or source of rows `{row_name(port.row)}`",
                    hint=f"write from: {{{', '.join(f'{port}: ...' for port in stage.ports)}}}",
                )  # fmt: skip
        self.rows[step] = step_row_class(self.recipe, step, wired.get("each", ()), self.rows)
        yield from self._input_problems(step, stage)

    def _input_problems(self, step: str, stage: type[Step]) -> Iterator[Problem]:
        """What in the spec of the step does not fit its rows or the files that it names."""
        rows = {port: self.rows[names[0]] for port, names in self.wired[step].items() if names and port in stage.ports}
        if "each" not in rows:
            return
        nowhere = Path()
        recipe = self.recipe
        context = StepContext(seed=recipe.seed, language=recipe.language, step=step, cache=nowhere, workplace=nowhere)
        try:
            made: Step = create_from_spec("step", recipe.steps[step], context)
            complaints = list(made.validate_inputs(rows))
        except RecipeError as error:
            yield from (replace(problem, key=f"steps.{step}") for problem in error.problems)
            return
        for complaint in complaints:
            yield Problem(
                complaint.message, key=f"steps.{step}.{complaint.key}", actual=complaint.actual,
                allowed=", ".join(complaint.allowed), hint=did_you_mean(complaint.actual, list(complaint.allowed)),
            )  # fmt: skip

    def _port(self, step: str, name: str, port: Port, stage: type[Step]) -> Iterator[Problem]:
        key, wired = f"steps.{step}.from.{name}", self.wired[step][name]
        for upstream in wired:
            if not accepts_row_class(self.rows[upstream], port.row):
                found = f"{upstream} of `{row_name(self.rows[upstream])}`"
                yield Problem(
                    f"{upstream!r} makes other rows than this port takes", key=key, actual=found,
                    allowed=f"`{row_name(port.row)}`", hint=self._makers(port.row),
                )  # fmt: skip
        if len({self.rows[upstream] for upstream in wired}) > 1 and (name != "each" or stage.output is None):
            found = ", ".join(f"{upstream} of `{row_name(self.rows[upstream])}`" for upstream in wired)
            yield Problem("one table holds one sort of rows", key=key, actual=found, hint="use a step for each sort")
        if port.mode == "parent" and wired and (each := self.wired[step].get("each")):
            strangers = [one for one in each if one not in wired and not self.above[one] & set(wired)]
            if strangers:
                yield Problem(
                    f"rows of {', '.join(strangers)} do not come from here", key=key, actual=", ".join(wired),
                    allowed=f"steps above {', '.join(strangers)}",
                )  # fmt: skip

    def _makers(self, expected: type[Row]) -> str:
        makers = [name for name, row in self.rows.items() if accepts_row_class(row, expected)]
        return f"such rows come from {', '.join(makers)}" if makers else ""

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
    return all(not isinstance(one, type) or payload_kind(actual) == getattr(one, "kind", None) for one in arguments)
