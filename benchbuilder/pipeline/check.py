"""Checks whether a valid recipe can run: its files, prompts, models, wiring and sources. Nothing is run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from benchbuilder.config import (
    EvaluationSpec,
    HostedSpec,
    KindSpec,
    LoadedRecipe,
    PairsRef,
    PromptRef,
    Recipe,
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
    Passage,
    Payload,
    Problem,
    RecipeError,
    count_phrase,
    create_from_spec,
    find_kind,
    language_name,
    missing_texts,
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
from benchbuilder.pipeline.check_rows import check_language, row_warnings
from benchbuilder.pipeline.check_wiring import WiringCheck, step_class_of
from benchbuilder.pipeline.other_language import guess_language, option_in_language, shares_script
from benchbuilder.pipeline.wiring import source_row_class
from benchbuilder.sources import Source
from benchbuilder.steps import REPAIR_VARIABLES, WriterSpec

_OWN_CARD_FIELDS = ("title", "summary", "licence", "correct_as_of")
"""Fields of the card that are rarely true of another recipe too."""


@dataclass
class CheckResult:
    """The findings of a check: `problems` and `data` (files of sources) stop a build, `warnings` do not."""

    problems: list[Problem] = field(default_factory=list[Problem])
    data: list[DataError] = field(default_factory=list[DataError])
    warnings: list[Problem] = field(default_factory=list[Problem])

    def raise_if_wrong(self) -> None:
        """RecipeError with every problem; DataError if only files of sources are wrong."""
        if self.problems:
            data = [Problem(error.what, where=error.where, actual=error.why, hint=error.next) for error in self.data]
            raise RecipeError([*self.problems, *data], next="correct these and give the same command again")
        if len(self.data) == 1:
            raise self.data[0]
        if self.data:
            what = "\n".join(str(error) for error in self.data)
            raise DataError(what, next="give the right files, for instance paths.NAME=FILE on the command line")


def check_recipe(
    loaded: LoadedRecipe, *, sources: Collection[str] | None = None, look: bool = False
) -> tuple[Problem, ...]:
    """Check a recipe before a build; nothing is run and nothing written.

    Args:
        loaded: The recipe.
        sources: The sources whose files are opened and looked into; all by default.
        look: Whether to look for faults in the first rows of all sources too, which takes seconds.

    Returns:
        Warnings, which stop nothing.

    Raises:
        RecipeError: With every problem that would stop a build.
        DataError: If only files of sources are wrong.
    """
    findings = examine_recipe(loaded, sources=sources)
    findings.raise_if_wrong()
    return (*findings.warnings, *(row_warnings(loaded) if look else ()))


def examine_recipe(loaded: LoadedRecipe, *, sources: Collection[str] | None = None) -> CheckResult:
    """Everything that can be known before a build."""
    findings = CheckResult()
    wiring = WiringCheck(loaded)
    wrong_wiring = wiring.problems()
    findings.problems += [*_files(loaded, wired=not wrong_wiring), *wrong_wiring]
    if not findings.problems:  # so that a missing file is reported once
        findings.problems += [*_models(loaded), *_unreachable_evidence(loaded)]
    own_warnings = (
        _new_language(loaded),
        _foreign_questions(loaded),
        _inherited_card(loaded),
        _uncapped_cost(loaded),
        _missing_texts(loaded),
    )
    findings.warnings += [*loaded.warnings, *wiring.unused(), *wiring.remarks, *chain(*own_warnings)]
    findings.data += _sources(loaded, loaded.recipe.sources if sources is None else sources)
    return findings


def _files(loaded: LoadedRecipe, *, wired: bool) -> Iterator[Problem]:
    """Missing files and faulty prompts; sources check their own files.

    Unless all is `wired`, nobody knows which items the prompts of an evaluation show: these are not looked at.
    """
    for key, ref in loaded.files:
        if key.startswith("sources."):
            continue
        where = str(loaded.origins.origin_of(parse_key(key)))
        problem = missing_file_problem(key, ref, where, loaded.prompt_roots)
        if problem is not None:
            yield problem
        elif isinstance(ref, PromptRef) and (wired or _evaluation_at(loaded, key)[0] is None):
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
    """The kind that a prompt under `key` belongs to."""
    if key.startswith("steps."):
        return step_class_of(loaded, key.split(".")[1])
    evaluation, place = _evaluation_at(loaded, key)
    if evaluation is None:
        return None
    if place[0] == "judges" and place[2] == "verifier":
        return find_kind("verifier", evaluation.judges[place[1]].verifier.kind).load()
    if place[0] == "judges":
        return find_kind("judge", evaluation.judges[place[1]].kind).load()
    if place[0] == "scorers":
        return find_kind("scorer", evaluation.scorers[place[1]].kind).load()
    if place[0] == "answer_claims":
        return find_kind("verifier", evaluation.answer_claims.kind).load()
    return find_kind("step", "follow_up" if place[0] == "solver" else "answer").load()


def _evaluation_at(loaded: LoadedRecipe, key: str) -> tuple[EvaluationSpec | None, list[str]]:
    """The evaluation that `key` leads into, if any, and the rest of the key."""
    for part in loaded.by_task():
        if key.startswith(prefix := part.file_key("evaluation.")):
            return part.recipe.evaluation, key.removeprefix(prefix).split(".")
    return None, []


def _prompt_fields_at(loaded: LoadedRecipe, key: str) -> Iterator[str]:
    """The variables that the items' payload gives to the prompts of the evaluation that `key` leads into."""
    wiring = WiringCheck(loaded)
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
            source: Source = create_from_spec("source", loaded.recipe.sources[name], name, loaded.recipe.language)
            source.check()
            check_language(source)
        except DataError as error:
            link = loaded.origins.links.get(("sources", name, "path"))
            ways = (error.next, f"the path is set by {dotted_key(link[0])}" if link else "")
            yield DataError(error.what, where=error.where, why=error.why, next="; ".join(filter(None, ways)))


def _inherited_card(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning about fields of the card that come from the recipe that this one starts from."""
    inherited: dict[str, ValueOrigin] = {}
    for name in _OWN_CARD_FIELDS:
        origin = loaded.origins.origin_of(("card", name))
        if origin.file and origin.group == "recipe" and origin.file.stem != loaded.recipe.name:
            inherited[f"card.{name}"] = origin
    if inherited:
        parents = ", ".join(dict.fromkeys(origin.file.stem for origin in inherited.values() if origin.file))
        where = str(next(iter(inherited.values())))
        yield Problem(f"inherited from {parents}: say what is true of yours", key=", ".join(inherited), where=where)


def _new_language(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning about what a language on the command line does not change."""
    origin, code = loaded.origins.origin_of(("language",)), loaded.recipe.language
    if origin.override:
        name = language_name(code)
        yield Problem(
            "only the label of the texts changes: rules, prompts, words and tokenizer stay those of the recipe",
            key="language", where=str(origin), actual=f"{code} ({name})" if name else code,
            hint=f"`benchbuild new NAME --from {loaded.recipe.name} --language {code}` makes a recipe to adapt",
        )  # fmt: skip


def _foreign_questions(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning where people are asked in a script that the language of the recipe is not written in."""
    asked = getattr(loaded.recipe.annotation, "questions", {})
    texts = [question.text for question in asked.values() if question is not None]
    origin, wanted = loaded.origins.origin_of(("annotation", "kind")), loaded.recipe.language
    if shares_script(texts, wanted) or origin.file is None:
        return
    found, _ = guess_language(texts)
    stem = origin.file.stem
    way, is_labels = stem.removesuffix("_labels").removesuffix(f"_{found}"), stem.endswith("_labels")
    other = option_in_language(loaded.roots, way, wanted, false_claims=is_labels)
    yield Problem(
        "people are asked in another language than that of the recipe",
        key="annotation",
        where=str(origin),
        actual=f"questions in {language_name(found) or 'another script'}",
        hint=f"annotation={other}" if other != stem else "",
    )


def most_evidence(recipe: Recipe) -> int | None:
    """The most paragraphs that the evidence of an item can hold; ``None`` if nothing says how many are looked up."""
    if not _retrieves(recipe):
        return 1
    retrievers = [recipe.retriever, *(getattr(step, "retriever", None) for step in recipe.steps.values())]
    each = max((top for spec in retrievers if (top := getattr(spec, "top_k", None)) is not None), default=None)
    bases = sum(issubclass(source_row_class(recipe, name), Passage) for name in recipe.sources)
    return None if each is None else each * bases


def _retrieves(recipe: Recipe) -> bool:
    """Whether paragraphs are looked up besides those that a fact names."""
    found = [step for step in recipe.steps.values() if step.kind == "retrieve"]
    return not found or any(getattr(step, "gold", None) not in ("only", "own") for step in found)


def _unreachable_evidence(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A fault if more paragraphs must support an item than are retrieved for one: people would judge for nothing."""
    recipe, most_each = loaded.recipe, most_evidence(loaded.recipe)
    least = getattr(recipe.annotation, "min_evidence", None)
    ports = [port for step in recipe.steps for port in step_class_of(loaded, step).ports.values()]
    if most_each is None or least is None or least <= most_each or not any(port.row is Evidence for port in ports):
        return
    key, foreign = ("annotation", "min_evidence"), next(_foreign_questions(loaded), None)
    other = f"{foreign.hint} " if foreign is not None and foreign.hint else ""  # else people are asked in it
    bases = [name for name in recipe.sources if issubclass(source_row_class(recipe, name), Passage)]
    many = f"{most_each // max(1, len(bases))} from each of {count_phrase(len(bases), 'source')} of passages"
    most = f"at most {most_each}: {many if _retrieves(recipe) else 'the paragraph that a claim was read from'}"
    yield Problem(
        "more paragraphs must support an item than are looked up, so that each is dropped, whatever people say",
        key=dotted_key(key),
        where=str(loaded.origins.origin_of(key)),
        actual=str(least),
        allowed=most,
        hint=f"{other}{dotted_key(key)}={most_each}"
        + (", or add sources of passages" if _retrieves(recipe) else ", or steps.evidence.gold=first")
        + (", or raise retriever.top_k" if bases and _retrieves(recipe) else ""),
    )


def _missing_texts(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning for each file of page texts that lacks some."""
    for code, ref in loaded.recipe.strings.items():
        if ref.file.is_file():
            missing, wanted = missing_texts(ref.file, code)
            if missing:
                key = ("strings", code)
                yield Problem(
                    f"{missing} of {wanted} texts are missing, and are shown in English", key=dotted_key(key),
                    where=display_path(ref.file), hint="the file strings/en.yaml of the program has all of them",
                )  # fmt: skip


def _models(loaded: LoadedRecipe) -> Iterator[Problem]:
    """Problems that only the kind of a model knows: its address, folder, prices and tokenizer."""
    checked: list[Any] = []
    evaluations = [part.evaluation for part in loaded.recipe.by_task().values()]
    evaluated = [model for spec in evaluations if spec is not None for model in spec.models.values()]
    written = (step.model for step in loaded.recipe.steps.values() if isinstance(step, WriterSpec))
    for spec in (*written, *evaluated):
        if spec is None or spec in checked:
            continue
        checked.append(spec)
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
    """A problem if the budget is in US dollars and a model that is asked has no price."""
    if model.can_answer and any(spec == model.spec for spec in _asked_models(loaded).values()):
        prices, price = model_price(model)
        if price is None and loaded.recipe.budget.usd is not None:
            yield replace(missing_price_problem(model, prices), where=str(loaded.origins.origin_of(("budget", "usd"))))


def _asked_models(loaded: LoadedRecipe) -> dict[str, KindSpec]:
    """The models of the steps that may ask one, by step."""
    return {
        step: spec.model
        for step, spec in loaded.recipe.steps.items()
        if isinstance(spec, WriterSpec) and spec.strategy != "rules" and spec.model is not None
    }


def require_libraries(loaded: LoadedRecipe) -> None:
    """Raise InstallationError if a library is missing that a model of the recipe needs; nothing is imported."""
    for spec in _asked_models(loaded).values():
        model: Model = create_from_spec("model", spec)
        model.ready()


def _uncapped_cost(loaded: LoadedRecipe) -> Iterator[Problem]:
    """A warning if steps ask a hosted model and the user set no budget."""
    recipe = loaded.recipe
    caps = {"usd": recipe.budget.usd, "tokens": recipe.budget.tokens}
    if any(cap is not None and loaded.origins.origin_of(("budget", name)).trusted for name, cap in caps.items()):
        return
    hosted = [step for step, spec in _asked_models(loaded).items() if isinstance(spec, HostedSpec)]
    if hosted:
        yield Problem(
            f"{', '.join(hosted)}: nothing caps what the calls of models may cost",
            key="budget",
            hint="`benchbuild plan` quotes it; budget.usd=5 or budget.tokens=1000000 stops the build there",
        )
