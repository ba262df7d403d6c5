"""The pages about kinds: what recipes may say, what each kind does, and why it drops rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.annotation import AnnotationSpec, ProjectSpec, ReviewProjectSpec
from benchbuilder.config.spec.audit import AuditSpec
from benchbuilder.config.spec.base import StepSpec
from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.config.spec.recipe import BudgetSpec, CardSpec, Recipe, RunSpec, ToleranceSpec
from benchbuilder.config.spec.release import ReleaseSpec
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.sources.base import SourceSpec
from benchbuilder.steps.base import Filter, Gather, Map, Step
from reference_pages.reading import first_paragraph, nested, prose, spec_rows, table

HEADER = ("key", "type", "default", "meaning")
SLOTS = {
    "source": "Sources (`sources.NAME`)",
    "step": "Steps (`steps.NAME`)",
    "tokenizer": "Tokenizers (`tokenizer`)",
    "retriever": "Retrievers (`retriever`)",
    "model": "Models (`model`)",
    "annotation": "Annotation backends (`annotation`)",
    "baseline": "Baselines (`evaluation.baselines.NAME`)",
    "verifier": "Verifiers of claims (`evaluation.answer_claims`)",
    "solver": "Solvers (`evaluation.solver`)",
    "scorer": "Scorers (`evaluation.scorers.NAME`)",
    "metric": "Metrics (`evaluation.metrics.NAME`)",
    "judge": "Judges (`evaluation.judges.NAME`)",
    "view": "Views of the audit (`audit.views.NAME`)",
    "exporter": "Outputs (`outputs.NAME`, `evaluation.outputs.NAME`)",
}


TOP = {
    "schema": "The version of this schema.",
    "name": "The recipe's name; it names the folder of the build.",
    "language": "The language of the benchmark, as a tag (`zh`, `en`). A source may have its own.",
    "seed": "Every random choice comes from this number and a row's id.",
    "requires": "Version ranges of installed distributions that the recipe needs, by name.",
    "variant": "Which variant was chosen; set by `variant=NAME`.",
    "paths": "Names for files, so that `${paths.NAME}` can be used anywhere and one word on the command line sets it.",
    "sources": "What is read.",
    "tokenizer": "What cuts text into words, unless a step has its own.",
    "model": "What writes text that no rule can write, unless a step has its own.",
    "retriever": "What finds paragraphs, unless a step has its own.",
    "annotation": "Who judges candidates, by which questions, and what is kept.",
    "steps": "The flow.",
    "evaluation": "How models are evaluated on the items; no step of the build depends on it.",
    "audit": "Whether the answers can be guessed, and when that closes the gate; no step of the build depends on it.",
    "release": "What a release holds back, who made it, and where it goes; no step of the build depends on it.",
    "outputs": "The files that are written.",
    "tolerate": "How much may fail.",
    "budget": "What calls of models may cost, over all runs of a build.",
    "card": "What the dataset card says.",
    "run": "How the build runs on this machine.",
}


def _classes(slot: str) -> dict[str, type[Any]]:
    return {
        name: kind.load() for name, kind in registry.kinds_of_slot(slot).items() if kind.distribution == "benchbuilder"
    }


def recipe_schema() -> str:
    """Top-level keys and the keys of every kind."""
    top = {
        "run": RunSpec, "tolerate": ToleranceSpec, "budget": BudgetSpec, "card": CardSpec, "evaluation": EvaluationSpec,
        "audit": AuditSpec, "release": ReleaseSpec,
    }  # fmt: skip
    parts = [
        "# Recipe schema",
        "A recipe is YAML that Hydra composes from groups. The composed recipe has the keys below. `benchbuild schema` "
        "writes the same as a JSON Schema for editors, and `benchbuild show --all recipe=NAME` prints a whole "
        "recipe with the file and line of every value. *Required* is what the composed recipe must hold; the bundled "
        "groups hold most of it already. Keys that are not listed are errors.",
        "## Top level",
        prose(Recipe),
        table(HEADER, [(*row[:3], row[3] or TOP[row[0].strip("`")]) for row in spec_rows(Recipe)]),
        "## Files and prompts",
        "A *file* is a path. A relative one is relative to the folder of recipes that names it, on the command line "
        "to the current folder. A *prompt* is named by its place below a folder of prompts, such as `zh/qa2d.j2`. A "
        "*column* is a name in the header or record, or an index from 0.",
        "## Wiring",
        prose(StepSpec),
        "A mapping in `from` names ports; [kinds](kinds.md) lists the ports of every kind. Passages are wired as "
        "`sources.passage`.",
    ]
    specs: list[type[BaseModel]] = list(top.values())
    for key, cls in top.items():
        parts += [f"## `{key}`", prose(cls), table(HEADER, spec_rows(cls))]
    for slot, title in SLOTS.items():
        parts.append(f"## {title}")
        if slot == "source":
            parts += ["Every source may also say:", table(HEADER, spec_rows(SourceSpec, ("kind",))), prose(SourceSpec)]
        for name, cls in _classes(slot).items():
            spec = cls.spec_class
            specs.append(spec)
            skip = ("kind", "from_", *(SourceSpec.model_fields if slot == "source" else ()))
            rows = spec_rows(spec, skip)
            parts += [f"### {slot}: {name}", prose(spec), table(HEADER, rows) or "It has no keys of its own."]
    specs.append(ReviewProjectSpec)
    parts += ["## Reviews (`reviews.NAME`)", "### ReviewProjectSpec"]
    parts += [prose(cls) for cls in (ReviewProjectSpec, ProjectSpec, AnnotationSpec)]
    parts += [table(HEADER, spec_rows(ReviewProjectSpec, ("kind",))), "## Nested keys"]
    skipped = {*top.values(), ReviewProjectSpec}
    for cls in sorted((c for c in nested([*specs, Recipe]) if c not in skipped), key=lambda cls: cls.__name__):
        parts += [f"### {cls.__name__}", prose(cls), table(HEADER, spec_rows(cls))]
    return "\n\n".join(part for part in parts if part)


def kinds_page() -> str:
    """Every kind with its contract."""
    parts = [
        "# Kinds",
        "A recipe names kinds; `benchbuild ls --kinds` lists those that are installed. A plugin adds one with an entry "
        "point `benchbuilder.SLOT`. The keys of each are in the [recipe schema](recipe-schema.md), the drop reasons in "
        "[drop reasons](drop-reasons.md).",
    ]
    for slot, title in SLOTS.items():
        classes = _classes(slot)
        parts += [f"## {title}", table(("kind", "what it is"), _summary(classes))]
        if slot in ("source", "step"):
            for name, cls in classes.items():
                parts += [f"### {slot}: {name}", prose(cls), *(_ports(cls) if slot == "step" else _rows(cls))]
        if slot == "judge":
            for name, cls in classes.items():
                if variables := getattr(cls, "prompt_variables", {}):
                    parts += [f"### judge: {name}", _variables(variables)]
    parts += ["## Payloads", table(("payload", "what it is"), _summary(_classes("payload")))]
    return "\n\n".join(part for part in parts if part)


def _summary(classes: dict[str, type[Any]]) -> list[tuple[str, str]]:
    return [(f"`{name}`", first_paragraph(cls)) for name, cls in classes.items()]


def _rows(cls: type[Any]) -> list[str]:
    return [f"Makes rows of `{registry.row_name(cls.output)}`."]


def _ports(cls: type[Step]) -> list[str]:
    shape = {Map: "map", Gather: "gather", Filter: "filter"}
    kind = next(name for base, name in shape.items() if issubclass(cls, base))
    output = (
        f"rows of `{registry.row_name(cls.output)}`" if cls.output is not None else "rows of the class that it reads"
    )
    slots = getattr(cls, "slots", ("",)) if kind == "map" else ("",)
    branches = "as many branches as the row needs" if slots == "many" else "one branch per row"
    lines = [f"A {kind}, version {cls.version}; {branches}; makes {output}."]
    lines.append(
        table(
            ("port", "rows", "mode"),
            [
                (f"`{name}`", f"`{registry.row_name(port.row)}`", port.mode + (", optional" if port.optional else ""))
                for name, port in cls.ports.items()
            ],
        )
    )
    lines.append(_variables(getattr(cls, "prompt_variables", {})))
    return lines


def _variables(variables: Mapping[str, str]) -> str:
    return table(("variable of its prompt", "meaning"), [(f"`{n}`", text) for n, text in variables.items()])


def drop_reasons() -> str:
    """Every reason of every kind; for kinds whose reasons are in the recipe, those of care_mi."""
    parts = [
        "# Drop reasons",
        "Every kind has a closed list of reasons, and the engine refuses any other. `ledger.tsv`, "
        "the report and `benchbuild why` use the same names. In the ledger, the outcome beside a reason is `dropped`, "
        "`not_applicable` (the branch does not concern the row, which is no loss), or `unused` (a gather read the row "
        "and did not need it).",
        "## Sources",
    ]
    for name, cls in _classes("source").items():
        parts += [f"### source: {name}", _reasons(cls.reasons)]
    parts.append("## Steps")
    for name, cls in _classes("step").items():
        reasons = _reasons(cls.reasons) or "The kind itself has no reasons."
        parts += [f"### step: {name}", reasons]
    parts.append("## Scorers and judges")
    parts.append("A step of the kinds `score` and `score_by_model` has the reasons of its scorer; the scorer `judged` "
                 "also has those of its judge.")  # fmt: skip
    for slot in ("scorer", "judge"):
        for name, cls in _classes(slot).items():
            if reasons := _reasons(getattr(cls, "reasons", {})):
                parts += [f"### {slot}: {name}", reasons]
    parts += [
        "## Reasons that a recipe declares",
        "The reasons of `screen` are the names of its checks, and those of `annotate` include one for each guiding "
        "question that gates. In `care_mi` these are:",
    ]
    recipe = load_recipe(["recipe=care_mi"]).recipe
    for step, spec in recipe.steps.items():
        if spec.kind in ("screen", "annotate"):
            context = StepContext(recipe.seed, recipe.language, step, Path(), Path())
            declaring: Step = registry.create_from_spec("step", spec, context)
            own = {name: text for name, text in declaring.reasons.items() if name not in type(declaring).reasons}
            parts += [f"### care_mi: {step}", f"Kind `{spec.kind}`.", _reasons(own)]
    return "\n\n".join(part for part in parts if part)


def _reasons(reasons: Any) -> str:
    return table(("reason", "meaning"), [(f"`{name}`", text) for name, text in reasons.items()])
