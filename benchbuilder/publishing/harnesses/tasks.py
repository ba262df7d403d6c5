"""The tasks of a benchmark as evaluation harnesses see them: prompts as they are sent, and who scores the replies."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.config import EvaluationSpec, LoadedRecipe
from benchbuilder.core import OPEN_SET, SET_FORM, Problem, RecipeError
from benchbuilder.evaluation import (
    ExactSpec,
    SetAnswerSpec,
    SimilaritySpec,
    VerdictReader,
    VerdictSpec,
    YesNoQuestion,
    read_verdict_table,
    verdict_reader,
)
from benchbuilder.models import read_prompt, render_prompt
from benchbuilder.publishing.harnesses.judge import CarriedJudge
from benchbuilder.publishing.harnesses.reader import Scoring, TaskScoring
from benchbuilder.publishing.release.items import BenchmarkToShare, SharedItem

_TRIED = 50
"""How many items of a verdict the words of examples are tried on."""
_COLUMNS = ("id", "source", "type", "language", "context", "question", "expected", "answer", "answer_wrong", "family")
_SET_NOTE = (
    "Where answers are sets of names, the harness shows set_recall, and set_contradiction (less is better) if every "
    "question of a task has a set of wrong names. "
    "It does not show set_precision, which many replies have not got: score_set of verdict_reader.py gives it"
)
_FIGURES: Mapping[Scoring, tuple[str, str]] = {
    "open": ("chrf_right", "chrf_difference"),
    "set": ("set_recall", "set_contradiction"),
}


@dataclass(frozen=True)
class HarnessTask:
    """Questions of one configuration. `name` is one that programs can use, and `examples` are never asked.

    A row has the columns of an item, with `prompt`, the text that is sent, and `target`, a right reply for examples.
    """

    name: str
    config: str
    scoring: Scoring
    rows: tuple[Mapping[str, str], ...]
    examples: tuple[Mapping[str, str], ...]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures of each reply, if it is not right, wrong or invalid."""
        known = _FIGURES.get(self.scoring, ())
        return known if all(row["answer_wrong"] for row in self.rows) else known[:1]

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of its questions."""
        return tuple(sorted({row["source"] for row in self.rows}))

    def files(self) -> Iterator[tuple[str, str]]:
        """The data files, and what is in them."""
        yield f"data/{self.config}.test.jsonl", lines_of(self.rows)
        if self.examples:
            yield f"data/{self.config}.dev.jsonl", lines_of(self.examples)


@dataclass(frozen=True)
class HarnessBenchmark:
    """A benchmark ready for harnesses. `name` is one that programs can use; `scorings` are the ways to score, by
    configuration. `system` is empty if no system message is sent. `left_out` says of configurations why no harness can
    score them, and `notes` what of the evaluation an export does not do."""

    name: str
    title: str
    release: str
    canary: str
    licence: str
    system: str
    max_tokens: int
    tasks: tuple[HarnessTask, ...]
    scorings: Mapping[str, TaskScoring]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    judge: CarriedJudge | None = None
    """The judge of open questions that the export carries."""
    pushes: tuple[HarnessTask, ...] = ()
    """Tasks in which a person contradicts the answers, for harnesses whose tasks may have several turns."""


def lines_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """JSON Lines of `rows`."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def program_name(text: str) -> str:
    """`text` as a name in a program.

    >>> program_name("care-mi 2"), program_name("2x")
    ('care_mi_2', 'b2x')
    """
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if name.isidentifier() else f"b{name}"


def harness_benchmark(benchmark: BenchmarkToShare, loaded: LoadedRecipe) -> HarnessBenchmark:
    """The tasks of `benchmark`, asked and scored as the evaluation of its recipe does.

    Raises:
        RecipeError: The recipe has no evaluation, its tasks differ in what all prompts share, or none can be exported.
    """
    specs = _evaluations(loaded)
    tasks: list[HarnessTask] = []
    scorings: dict[str, TaskScoring] = {}
    left_out: dict[str, str] = {}
    configs, examples_of = _apart(benchmark.configs), _apart(benchmark.examples)
    for config, items in sorted(configs.items()):
        spec = specs[items[0].task]
        known: dict[Scoring, TaskScoring] = {found.scoring: found for found in _scorings(spec)}
        wanted: set[Scoring] = {scoring for item in items if (scoring := _scoring(item, spec, known))}
        if len(wanted) != 1:
            left_out[config] = _why_left_out(items, spec, known)
            continue
        (scoring,) = wanted
        scorings[config] = known[scoring]
        maker = _RowMaker(config, spec, known[scoring], benchmark.canary, items)
        rows, examples = (
            tuple(maker.row(item) for item in some if _scoring(item, spec, known) == scoring)
            for some in (items, examples_of.get(config, ()))
        )
        tasks.append(HarnessTask(program_name(f"{benchmark.name}_{config}"), config, scoring, rows, examples))
    if not tasks:
        raise RecipeError([
            Problem(f"{config} of {benchmark.name} cannot be exported: {why}", key=loaded.file_key("evaluation"))
            for config, why in left_out.items()
        ])  # fmt: skip
    spec = next(iter(specs.values()))
    system = "" if spec.system is None else render_prompt(read_prompt(spec.system.path, spec.system.file), {})
    return HarnessBenchmark(
        name=program_name(benchmark.name), title=benchmark.title or benchmark.name, release=benchmark.version,
        canary=benchmark.canary, licence=benchmark.licence, system=system,
        max_tokens=spec.sampling.max_new_tokens or 2048, tasks=tuple(tasks), left_out=left_out,
        notes=(*dict.fromkeys(note for spec in specs.values() for note in _notes(spec)),
               *([_SET_NOTE] if any(task.scoring == "set" for task in tasks) else [])),
        scorings=scorings,
    )  # fmt: skip


def _apart(configs: Mapping[str, Sequence[SharedItem]]) -> dict[str, list[SharedItem]]:
    """The items by configuration; those whose answers are sets have one of their own, as they are scored by names."""
    found: dict[str, list[SharedItem]] = {}
    for items in configs.values():
        for item in items:
            found.setdefault(item.asked_as, []).append(item)
    return found


def _is_set(item: SharedItem) -> bool:
    return item.columns.get("form") == SET_FORM


def _evaluations(loaded: LoadedRecipe) -> dict[str, EvaluationSpec]:
    """How each task is evaluated; all must agree in what a harness sets once."""
    specs: dict[str, EvaluationSpec] = {}
    for part in loaded.by_task():
        if part.recipe.evaluation is None:
            raise RecipeError([Problem(
                "this recipe says nothing of evaluating, so no harness can know how replies are scored",
                key=part.file_key("evaluation"),
                hint="choose settings, for instance `- override /evaluation: [zh_claims]` among its defaults",
            )])  # fmt: skip
        specs[part.task] = part.recipe.evaluation
    first = next(iter(specs.values()))
    for name in ("system", "sampling"):
        if any(getattr(other, name) != getattr(first, name) for other in specs.values()):
            raise RecipeError([Problem(
                f"the tasks of this benchmark differ in {name}", key=loaded.file_key("evaluation"),
                hint=f"give them the same {name}: a harness sets it once for all",
            )])  # fmt: skip
    return specs


def _scorings(spec: EvaluationSpec) -> Iterator[TaskScoring]:
    """The ways to score that an export can carry: the first scorer of each kind."""
    scorers = list(spec.scorers.values())
    for scorer in reversed(scorers):
        if isinstance(scorer, VerdictSpec):
            yield TaskScoring("verdict", tuple(table.file for table in scorer.tables), scorer.longest)
        elif isinstance(scorer, ExactSpec):
            yield TaskScoring("exact", announced=scorer.announced, ignore=scorer.ignore, drop=scorer.drop,
                              also_words=scorer.also_words)  # fmt: skip
        elif isinstance(scorer, SetAnswerSpec):
            yield TaskScoring("set", longest=scorer.longest, names=scorer.reader())
        elif isinstance(scorer, SimilaritySpec) and "chrf" in scorer.measures:
            yield TaskScoring("open", longest=scorer.longest)


def _exact(spec: EvaluationSpec) -> ExactSpec | None:
    return next((scorer for scorer in spec.scorers.values() if isinstance(scorer, ExactSpec)), None)


def _scoring(item: SharedItem, spec: EvaluationSpec, known: Collection[Scoring]) -> Scoring | None:
    """How a reply to `item` can be scored; ``None`` if no harness can."""
    if not item.question:
        return None
    if _is_set(item):
        return "set" if "set" in known else None
    if item.expected in ("yes", "no"):
        return "verdict" if "verdict" in known else None
    exact = _exact(spec)
    if exact is not None and (options_of(item, exact.options) or item.columns.get(exact.answer)):
        return "exact"
    if item.columns.get("options") or item.columns.get("verdict_only") or not item.answer:
        return None
    return "open" if "open" in known else None


def options_of(item: SharedItem, field: str = "options") -> dict[str, str]:
    """The texts of the options of an item by their keys; empty if it has none."""
    return {str(option["key"]): str(option["text"]) for option in item.columns.get(field) or ()}


def _why_left_out(items: Sequence[SharedItem], spec: EvaluationSpec, known: Collection[Scoring]) -> str:
    if any(map(_is_set, items)) and "set" not in known:
        return "its answers are sets of names, and the recipe has no scorer `set_answer`"
    if any(item.expected in ("yes", "no") for item in items) and "verdict" not in known:
        return "its items are true/false questions, and the recipe has no scorer `verdict`"
    if any(item.columns.get("options") for item in items):
        return "its items have options, and the recipe has no scorer `exact`"
    if any(isinstance(scorer, SimilaritySpec) for scorer in spec.scorers.values()) and "open" not in known:
        return "rouge_l needs the tokenizer of the recipe, which an export does not carry: add chrf to its measures"
    if len({_scoring(item, spec, known) for item in items} - {None}) > 1:
        return "its items are scored in several ways: give each way a task of its own"
    return "it has no scorer that an export can carry: verdict, exact, or similarity with chrf"


def _notes(spec: EvaluationSpec) -> Iterator[str]:
    """What of the evaluation is not exported."""
    if any(isinstance(scorer, SimilaritySpec) and set(scorer.measures) > {"chrf"} for scorer in spec.scorers.values()):
        yield "ROUGE-L is not exported, because it needs the tokenizer of the recipe; chrF is"


class _RowMaker:
    """Makes rows for harnesses."""

    def __init__(
        self, config: str, spec: EvaluationSpec, scoring: TaskScoring, canary: str, items: Sequence[SharedItem]
    ) -> None:
        self._config, self._scoring, self._exact = config, scoring, _exact(spec)
        self._prompt = None if spec.prompt is None else read_prompt(spec.prompt.path, spec.prompt.file)
        self._canary = {"canary": canary} if canary else {}
        self._reader: VerdictReader | None = verdict_reader(scoring.tables) if scoring.tables else None
        self._words: dict[str, str] = {}
        if scoring.tables:
            said = read_verdict_table(scoring.tables[0]).examples
            self._words = {
                verdict: self._clearest(words, [item for item in items if item.expected == verdict][:_TRIED])
                for verdict, words in (("yes", said.affirm), ("no", said.deny))
            }

    def row(self, item: SharedItem) -> dict[str, str]:
        """The row of an item."""
        row = {name: str(getattr(item, name)) for name in _COLUMNS} | {"config": self._config}
        if self._scoring.scoring == "exact" and self._exact is not None:
            row |= _exact_cells(item, self._exact)
        if self._scoring.scoring == "set":
            row["open_set"] = OPEN_SET if OPEN_SET in (item.columns.get("tags") or ()) else ""
        asked = item.context + item.question
        if self._prompt is not None:
            asked = render_prompt(self._prompt, {**item.columns, "question": asked, "type": item.type})
        return {**row, "prompt": asked, "target": self._target(item, row), **self._canary}

    def _target(self, item: SharedItem, row: Mapping[str, str]) -> str:
        """A right reply, as an example for a prompt: the verdict in the language of the tables, and the answer."""
        if self._scoring.scoring == "exact":
            return row["expected"] or row["answer"]
        words = self._words.get(item.expected, "")
        told = f"{words}{' ' if words.isascii() else ''}{item.answer}"
        found = (text for text in (told, words) if words and self._reads(text, item))
        return next(found, item.expected or item.answer)

    def _clearest(self, words: Sequence[str], items: Sequence[SharedItem]) -> str:
        """The words for a verdict that are read as it for most `items`: of a negated question, some are unclear."""
        return max(words, key=lambda text: sum(self._reads(text, item) for item in items), default="")

    def _reads(self, text: str, item: SharedItem) -> bool:
        """Whether `text` is read as the right verdict on `item`."""
        right, wrong = item.answer, item.answer_wrong
        claim, contrary = (right, wrong) if item.expected == "yes" else (wrong, right)
        read = self._reader and self._reader.read(text, YesNoQuestion(item.question, claim, contrary))
        return bool(read) and read.verdict == item.expected


def _exact_cells(item: SharedItem, spec: ExactSpec) -> dict[str, str]:
    """What the reader needs: the options, the key of the right one, and the right texts, lists and maps as JSON."""
    found = item.columns.get(spec.answer) or ()
    right = [found] if isinstance(found, str) else [str(text) for text in found]
    options = options_of(item, spec.options)
    return {
        "expected": str(item.columns.get(spec.key) or "") if options else "",
        "answer": right[0] if right else item.answer,
        "options": json.dumps(options, ensure_ascii=False),
        "right": json.dumps(right, ensure_ascii=False),
    }
