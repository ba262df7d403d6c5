"""Plans the tests of exposure for the models of a recipe, asks them through the gateway, and writes what was found."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import comb
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchbuilder.config import AllowedLeak, AuditSpec, KindSpec, LoadedRecipe
from benchbuilder.core import Choice, Fact, Item, Problem, RecipeError, find_kind, write_atomically
from benchbuilder.evaluation.audit.exposure.base import (
    ExposureMaterial,
    ExposurePrompts,
    ExposureTask,
    ScoredReply,
    question_text,
)
from benchbuilder.evaluation.audit.exposure.canary import CANARY, canary_tasks
from benchbuilder.evaluation.audit.exposure.completion import COMPLETION, completion_tasks
from benchbuilder.evaluation.audit.exposure.options import OPTIONS, option_tasks, same_option
from benchbuilder.evaluation.audit.exposure.quiz import QUIZ, quiz_tasks
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.evaluation.benchmark import require_items
from benchbuilder.evaluation.plan import chooses_model
from benchbuilder.evaluation.results.compare import holm_adjusted
from benchbuilder.models import Conversation, Gateway
from benchbuilder.pipeline import Checksums, Store, committed_manifests, make_plan

EXPOSURE_TESTS = (COMPLETION, QUIZ, OPTIONS, CANARY, "order", "min_k")
_NO_LOG_PROBABILITIES = "needs log-probabilities of the prompt, which no model kind gives"
_TOO_FEW = "the benchmark has no item that suits it"


@dataclass
class ExposurePlan:
    """What models would be asked; `skipped` says why a test asks nothing. `replies` and `failed` fill as it runs."""

    models: Mapping[str, KindSpec]
    tasks: Mapping[str, Sequence[ExposureTask]]
    skipped: Mapping[str, str]
    spec: AuditSpec
    seed: int
    replies: dict[tuple[str, str], list[ScoredReply]] = field(default_factory=dict[tuple[str, str], list[ScoredReply]])
    failed: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def conversations(self, model: str) -> Iterator[tuple[ExposureTask, Conversation]]:
        """What a model is asked, test by test; its replies are kept."""
        for test, tasks in self.tasks.items():
            self.replies[model, test] = []
            self.failed[model, test] = 0
            yield from ((task, self._converse(model, task)) for task in tasks)

    def run(self, gateway: Gateway) -> list[ExposureFinding]:
        """Ask every model and conclude.

        Raises:
            ServiceError: A model does not answer, or the budget is reached; replies so far are in the journal.
        """
        for model, spec in self.models.items():

            def ended(task: ExposureTask, outcome: Any, model: str = model) -> None:
                self.failed[model, task.test] += isinstance(outcome, str)

            gateway.converse(exposure_step(model), spec, self.conversations(model), ended)
        return self.findings()

    def findings(self) -> list[ExposureFinding]:
        """One finding for each model and test, in this order."""
        found: list[ExposureFinding] = []
        for model in self.models:
            for test in EXPOSURE_TESTS:
                if test in self.skipped:
                    found.append(ExposureFinding(model, test, "not tested", why=self.skipped[test]))
                    continue
                replies = sorted(self.replies[model, test], key=lambda reply: (reply.item, reply.control))
                failed = self.failed[model, test]
                found.append(judge_replies(model, test, replies, failed, self.spec.permutations, self.seed))
        return conclude(found, self.spec.level, self.spec.allow)

    def _converse(self, model: str, task: ExposureTask) -> Conversation:
        self.replies[model, task.test].append((yield from task.begin()))
        return []


def exposure_step(model: str) -> str:
    """The step under which a model's requests are paid for."""
    return f"exposure.{model}"


def exposure_of_build(part: LoadedRecipe, cwd: Path) -> ExposurePlan:
    """The plan for the items of a build.

    Raises:
        DataError: There are no items yet, or they were built with other settings.
        RecipeError: The recipe names no model to ask.
    """
    store = Store(part.recipe.build_folder(cwd))
    items = [item for item in store.rows(require_items(part, store, "audit")) if isinstance(item, Item)]
    return plan_exposure(part, items, _original_choices(part, store, {item.fact for item in items}))


def plan_exposure(part: LoadedRecipe, items: Sequence[Item[Any]], choices: Mapping[str, Choice]) -> ExposurePlan:
    """The plan for `items`; `choices` has the original questions of their facts by id, if they are known."""
    recipe, spec = part.recipe, part.recipe.audit
    drawn: dict[str, Item[Any]] = {}
    for item in sorted(items, key=lambda item: hashlib.blake2b(f"{recipe.seed}:{item.id}".encode()).digest()):
        drawn.setdefault(item.family_name, item)
    unit = spec.unit or guess_unit([question_text(item) for item in items])
    material = ExposureMaterial(
        recipe.card.title, recipe.seed, unit, tuple(drawn.values()), items,
        ExposurePrompts(recipe.language, part.prompt_roots), choices,
        spec.exposure.items, spec.exposure.controls, spec.exposure.max_new_tokens,
    )  # fmt: skip
    tasks = {COMPLETION: completion_tasks(material), QUIZ: quiz_tasks(material), OPTIONS: option_tasks(material)}
    skipped = {test: _TOO_FEW for test, found in tasks.items() if not found}
    skipped |= dict.fromkeys(("order", "min_k"), _NO_LOG_PROBABILITIES)
    if spec.canary is None:
        skipped[CANARY] = "the recipe names no audit.canary"
    else:
        tasks[CANARY] = canary_tasks(material, spec.canary)
    return ExposurePlan(
        _models(part), {test: found for test, found in tasks.items() if found}, skipped, spec, recipe.seed
    )


def _models(part: LoadedRecipe) -> dict[str, KindSpec]:
    """The models of the evaluation, and the recipe's own if a command chooses it or there is no other."""
    recipe = part.recipe
    models: dict[str, KindSpec] = dict(recipe.evaluation.models) if recipe.evaluation is not None else {}
    if chooses_model(part.overrides) or not models:
        models[str(getattr(recipe.model, "name", "") or recipe.model.kind)] = recipe.model
    models = {name: spec for name, spec in models.items() if find_kind("model", spec.kind).load().can_answer}
    if not models:
        raise RecipeError([Problem("there is no model to ask", key="evaluation.models", where="command line: --model",
                                   hint="name one, for instance model=openai model.name=NAME")])  # fmt: skip
    return models


def _original_choices(part: LoadedRecipe, store: Store, facts: set[str]) -> dict[str, Choice]:
    """The multiple-choice questions of `facts`, as they were before statements were made of them."""
    checksums = Checksums(store.checksums)
    plan = make_plan(part.whole, store, checksums.sha256_of)
    found: dict[str, Choice] = {}
    role: Any = Fact[Choice]
    for name, manifest in committed_manifests(plan, store).items():
        if issubclass(plan.nodes[name].row, role):
            found.update((row.id, row.payload) for row in store.rows(manifest).find(facts - found.keys()))
    return found


def write_exposure(plan: ExposurePlan, findings: Sequence[ExposureFinding], folder: Path) -> list[Path]:
    """Write ``exposure.csv``, one row per model and test, and ``exposure_replies.jsonl``, one line per reply."""
    fields = ("model", "test", "word", "n", "score", "control_n", "control", "p", "p_holm", "why", "allowed")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["finding" if name == "word" else name for name in fields])
    table.writerows([_cell(getattr(finding, name)) for name in fields] for finding in findings)
    lines = [
        json.dumps({"model": model, **asdict(reply)}, ensure_ascii=False)
        for (model, _), group in plan.replies.items()
        for reply in sorted(group, key=lambda reply: (reply.item, reply.control))
    ]
    return [
        write_atomically(folder / "exposure.csv", text.getvalue()),
        write_atomically(folder / "exposure_replies.jsonl", "".join(f"{line}\n" for line in lines)),
    ]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


ExposureWord = Literal["shown", "not shown", "not tested"]
FEWEST = 10
"""With fewer replies, a test shows nothing."""


@dataclass(frozen=True)
class ExposureFinding:
    """What one test says of one model; "not shown" is no proof that the model has not seen the benchmark.

    Attributes:
        n: The number of originals that the model was asked about.
        score: Their mean score: overlap with the rest (completion), else the proportion of hits.
        control_n: The number of controls.
        control: Their mean score; ``None`` without controls.
        p: How probable the score is if the model has seen nothing; ``None`` if the test needs no p.
        p_holm: The same over all tests and models together.
        why: Why there is no finding, or what is to be known of it.
        allowed: Why the author accepts the finding.
    """

    model: str
    test: str
    word: ExposureWord
    n: int = 0
    score: float | None = None
    control_n: int = 0
    control: float | None = None
    p: float | None = None
    p_holm: float | None = None
    why: str = ""
    allowed: str = ""


def judge_replies(
    model: str, test: str, replies: Sequence[ScoredReply], failed: int, draws: int, seed: int
) -> ExposureFinding:
    """The finding of a test before the correction for several tests."""
    originals = [reply for reply in replies if not reply.control]
    controls = [reply for reply in replies if reply.control]
    found = ExposureFinding(
        model, test, "not shown", len(originals), _mean(originals), len(controls), _mean(controls),
        why=f"{failed} without a reply" if failed else "",
    )  # fmt: skip
    if test == CANARY and originals:
        return replace(found, word="shown") if found.score else found
    if len(originals) < FEWEST or (test == COMPLETION and len(controls) < FEWEST):
        why = f"too few replies: {len(originals)}, and {len(controls)} controls; {FEWEST} of each are needed"
        return replace(found, word="not tested", why=why)
    return replace(found, p=_p(test, originals, controls, draws, seed))


def conclude(findings: Sequence[ExposureFinding], level: float, allow: Sequence[AllowedLeak]) -> list[ExposureFinding]:
    """The findings, corrected for the number of tests, with what the author allows."""
    concluded: list[ExposureFinding] = []
    for found, p_holm in zip(findings, holm_adjusted([finding.p for finding in findings]), strict=True):
        shown = found.word == "shown" or (p_holm is not None and p_holm <= level)
        rules = [rule for rule in allow if rule.view == found.test and rule.scope in ("all", found.model)]
        concluded.append(replace(
            found, p_holm=p_holm, word="shown" if shown else found.word,
            allowed=rules[0].why if shown and rules else "",
        ))  # fmt: skip
    return concluded


def _mean(replies: Sequence[ScoredReply]) -> float | None:
    return sum(reply.score for reply in replies) / len(replies) if replies else None


def _p(
    test: str, originals: Sequence[ScoredReply], controls: Sequence[ScoredReply], draws: int, seed: int
) -> float | None:
    if test == COMPLETION:
        return permuted_excess([r.score for r in originals], [r.score for r in controls], draws, seed)
    if test == QUIZ:
        hits, control_hits = (round(sum(reply.score for reply in group)) for group in (originals, controls))
        return fisher_excess(hits, len(originals), control_hits, len(controls))
    if test == OPTIONS:
        return matched_excess([r.reply for r in originals], [r.expected for r in originals], same_option, draws, seed)
    return None


def permuted_excess(values: Sequence[float], controls: Sequence[float], draws: int, seed: int) -> float:
    """How often chance puts the mean of `values` as far above that of `controls`: groups drawn again `draws` times."""
    pooled = np.array([*values, *controls], float)
    generator = np.random.default_rng(seed)
    observed = float(np.sum(values)) - 1e-9
    sums = [float(generator.permutation(pooled)[: len(values)].sum()) for _ in range(draws)]
    return (1 + sum(found >= observed for found in sums)) / (1 + draws)


def fisher_excess(hits: int, n: int, control_hits: int, control_n: int) -> float:
    """Fisher's exact test, one-sided: how probable at least `hits` are if both groups have the same rate.

    >>> round(fisher_excess(3, 3, 0, 3), 3)
    0.05
    """
    total, every = hits + control_hits, comb(n + control_n, n)
    ways = sum(comb(total, k) * comb(n + control_n - total, n - k) for k in range(hits, min(n, total) + 1))
    return ways / every


def matched_excess(
    replies: Sequence[str], expected: Sequence[str], same: Callable[[str, str], bool], draws: int, seed: int
) -> float:
    """How often as many `replies` match if what is expected is dealt out at random."""
    texts = {text: at for at, text in enumerate(dict.fromkeys(expected))}
    matches = np.array([[same(reply, text) for text in texts] for reply in replies], bool)
    places = np.array([texts[text] for text in expected])
    rows, generator = np.arange(len(replies)), np.random.default_rng(seed)
    observed = int(matches[rows, places].sum())
    found = [int(matches[rows, generator.permutation(places)].sum()) for _ in range(draws)]
    return (1 + sum(count >= observed for count in found)) / (1 + draws)
