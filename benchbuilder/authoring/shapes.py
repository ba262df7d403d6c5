"""The shapes of a benchmark's questions, and the file in which a speaker states a few questions of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.authoring.dry_run.run import nodes_without_prompts, open_dry_run
from benchbuilder.authoring.dry_run.transcripts import JournalDriver, empty_lookup
from benchbuilder.config import LoadedRecipe
from benchbuilder.core import LengthUnit, Problem, RecipeError, comparison_form, count_phrase
from benchbuilder.pipeline import Plan, Store, Watcher
from benchbuilder.steps import PAIR_COLUMNS, StatementPair, StatePairsSpec, bare_question, render_rows, tokens_of

_EXAMPLES = 3
_LONGEST = {"words": 4, "characters": 6}
_FEWEST = 2
"""A shape is not worth a rule if fewer questions have it."""


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A question with its right answer, and the id of its fact."""

    id: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """How questions begin or end: `place` is ``first``, ``last``, ``colon`` or ``blank``, `tokens` what stands there.

    `count` is the number of questions that no shape before it covers, and `examples` are the first of these.
    """

    place: str
    tokens: tuple[str, ...]
    count: int
    examples: tuple[AskedFact, ...]

    def text(self, unit: LengthUnit) -> str:
        """The shape for people."""
        words = (" " if unit == "words" else "").join(self.tokens)
        texts = {"first": f"{words} …", "last": f"… {words}", "colon": "… :", "blank": "… ____ …"}
        return texts[self.place]


def find_shapes(facts: Sequence[AskedFact], unit: LengthUnit, most: int = 12) -> list[QuestionShape]:
    """The shapes that together cover most questions: each time the one of most questions not yet covered.

    Of equally frequent shapes, the longest counts.
    """
    by_fact = [frozenset(_shapes_of(fact.question, unit)) for fact in facts]
    left, found = set(range(len(facts))), list[QuestionShape]()
    counts = Counter(shape for shapes in by_fact for shape in shapes)
    while counts and len(found) < most:
        place, tokens = max(counts, key=lambda shape: (counts[shape], len(shape[1]), shape))
        count = counts[place, tokens]
        if count < _FEWEST:
            break
        covered = sorted(n for n in left if (place, tokens) in by_fact[n])
        step = max(1, len(covered) // _EXAMPLES)
        found.append(QuestionShape(place, tokens, count, tuple(facts[n] for n in covered[::step][:_EXAMPLES])))
        left -= set(covered)
        for number in covered:
            counts.subtract(by_fact[number])
    return found


def _shapes_of(question: str, unit: LengthUnit) -> Iterator[tuple[str, tuple[str, ...]]]:
    tokens = tokens_of(bare_question(question), unit)
    if any(token.sort == "blank" for token in tokens):
        yield "blank", ()
    if tokens and tokens[-1].text in (":", "："):
        yield "colon", ()
    for size in range(2, _LONGEST[unit] + 1):
        for place, part in (("first", tokens[:size]), ("last", tokens[-size:])):
            if len(part) == size and sum(token.sort == "word" for token in part) >= 2:
                yield place, tuple(token.text for token in part)


def state_pairs_step(loaded: LoadedRecipe) -> tuple[str, StatePairsSpec]:
    """The step of a recipe that states questions by example, with its spec; RecipeError if there is none."""
    for name, spec in loaded.recipe.steps.items():
        if isinstance(spec, StatePairsSpec):
            if spec.pairs is None or spec.accepted is None:
                key = "pairs" if spec.pairs is None else "accepted"
                hint = f"set paths.{key}, for instance paths.{key}=../pairs/{loaded.recipe.name}.tsv"
                raise RecipeError([Problem("no file is named here", key=f"steps.{name}.{key}", hint=hint)])
            return name, spec
    hint = "`benchbuild new NAME --language xx --source questions:multiple_choice` makes a recipe with one"
    raise RecipeError([Problem("no step of this recipe states questions by example (kind state_pairs)",
                               where=f"recipe={loaded.recipe.name}", hint=hint)])  # fmt: skip


def asked_facts(plan: Plan, store: Store, step: str, watcher: Watcher) -> tuple[list[AskedFact], list[str]]:
    """The questions that a step gets, and the options of all of them; the steps before it are built."""
    inputs = plan.nodes[step].inputs["each"]
    spec: Any = plan.recipe.steps[step]
    wanted: set[str] = set()
    waiting = list(inputs)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += plan.nodes[name].upstream()
    if not wanted <= nodes_without_prompts(plan):
        hint = "leave the steps before it to rules"
        raise RecipeError([Problem("models or people decide before this step", key=f"steps.{step}.from", hint=hint)])
    facts: list[AskedFact] = []
    options: list[str] = []
    with open_dry_run(plan, store, JournalDriver(empty_lookup), watcher, only=wanted) as dry_run:
        for name in inputs:
            for row in dry_run.store.rows(dry_run.manifests[name]):
                payload: Any = row.payload
                facts.append(AskedFact(row.id, spec.split(payload.question)[1], payload.answer))
                options += [option.text for option in payload.options]
    return facts, options


def render_pairs(shapes: Iterable[QuestionShape], kept: Sequence[StatementPair], unit: LengthUnit, total: int) -> str:
    """The file of pairs: what is filled in already, then three questions of each shape with an empty statement."""
    known = {comparison_form(pair.question) for pair in kept}
    blocks = [("written by a speaker", [(pair.question, pair.answer, pair.statement) for pair in kept])] if kept else []
    for number, shape in enumerate(shapes, 1):
        share = round(100 * shape.count / max(total, 1))
        comment = f"shape {number}: {shape.text(unit)} | {count_phrase(shape.count, 'question')}, {share} %"
        rows = [(fact.question, fact.answer, "") for fact in shape.examples
                if comparison_form(fact.question) not in known]  # fmt: skip
        blocks.append((comment, rows))
    return render_rows(PAIR_COLUMNS, blocks)
