"""The tasks of a benchmark as evaluation harnesses see them: prompts as they are sent, and who scores the replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchbuilder.config import EvaluationSpec, LoadedRecipe
from benchbuilder.core import Problem, RecipeError
from benchbuilder.evaluation import (
    SimilaritySpec,
    VerdictReader,
    VerdictSpec,
    YesNoQuestion,
    read_verdict_table,
    verdict_reader,
)
from benchbuilder.models import Prompt, read_prompt, render_prompt
from benchbuilder.publishing.harnesses.reader import reader_module
from benchbuilder.publishing.release.items import BenchmarkToShare, SharedItem

Scoring = Literal["verdict", "open"]
"""Whether a task's replies are read for a verdict, or compared with the right and the wrong answer."""
_COLUMNS = ("id", "source", "type", "language", "context", "question", "expected", "answer", "answer_wrong", "family")


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
    """A benchmark ready for harnesses. `name` is one that programs can use; `reader` is the text of the module that
    scores. `system` is empty if no system message is sent. `left_out` says which items no harness can score."""

    name: str
    title: str
    release: str
    canary: str
    licence: str
    system: str
    max_tokens: int
    tasks: tuple[HarnessTask, ...]
    reader: str
    left_out: tuple[str, ...]


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
        RecipeError: The recipe has no evaluation, its tasks differ in how they ask or score, or none can be exported.
    """
    spec = _evaluation(loaded)
    verdicts = [scorer for scorer in spec.scorers.values() if isinstance(scorer, VerdictSpec)]
    similar = [s for s in spec.scorers.values() if isinstance(s, SimilaritySpec) and "chrf" in s.measures]
    paths = [table.file for table in verdicts[0].tables] if verdicts else []
    system, prompt = (None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.system, spec.prompt))
    maker = _RowMaker(prompt, benchmark.canary, paths)
    known: set[Scoring] = {*(("verdict",) if verdicts else ()), *(("open",) if similar else ())}
    tasks: list[HarnessTask] = []
    left_out: list[str] = []
    for config, items in sorted(benchmark.configs.items()):
        scorings: set[Scoring] = {scoring for item in items if (scoring := _scoring(item))}
        if len(scorings) != 1 or not scorings <= known:
            left_out.append(config)
            continue
        (scoring,) = scorings
        rows, examples = (
            tuple(maker.row(item) for item in some if _scoring(item) == scoring)
            for some in (items, benchmark.examples.get(config, ()))
        )
        tasks.append(HarnessTask(program_name(f"{benchmark.name}_{config}"), config, scoring, rows, examples))
    if not tasks:
        raise RecipeError([Problem(
            f"no items of {benchmark.name} can be exported: {', '.join(left_out)}", key=loaded.file_key("evaluation"),
            hint="true/false questions need a scorer `verdict`, open questions a scorer `similarity` with chrf",
        )])  # fmt: skip
    limits = {"longest_verdict": verdicts[0].longest} if verdicts else {}
    limits |= {"longest_open": similar[0].longest} if similar else {}
    return HarnessBenchmark(
        name=program_name(benchmark.name), title=benchmark.title or benchmark.name, release=benchmark.version,
        canary=benchmark.canary, licence=benchmark.licence, system="" if system is None else render_prompt(system, {}),
        max_tokens=spec.sampling.max_new_tokens or 2048, tasks=tuple(tasks), left_out=tuple(left_out),
        reader=reader_module(paths, benchmark.name, benchmark.version, **limits),
    )  # fmt: skip


def _evaluation(loaded: LoadedRecipe) -> EvaluationSpec:
    """How the benchmark is evaluated; all its tasks must agree."""
    specs = [part.recipe.evaluation for part in loaded.by_task()]
    spec = specs[0]
    if spec is None or any(other is None for other in specs):
        raise RecipeError([Problem(
            "this recipe says nothing of evaluating, so no harness can know how replies are scored",
            key=loaded.file_key("evaluation"),
            hint="choose settings, for instance `- override /evaluation: [zh_claims]` among its defaults",
        )])  # fmt: skip
    for name in ("prompt", "system", "sampling"):
        if any(getattr(other, name) != getattr(spec, name) for other in specs):
            raise RecipeError([Problem(
                f"the tasks of this benchmark differ in {name}", key=loaded.file_key("evaluation"),
                hint="give them the same, or use the plain files of each task",
            )])  # fmt: skip
    return spec


def _scoring(item: SharedItem) -> Scoring | None:
    """How a reply to `item` can be scored; ``None`` if no harness can."""
    if item.question and item.expected in ("yes", "no"):
        return "verdict"
    open_question = item.question and item.answer and not item.expected and not item.columns.get("options")
    return "open" if open_question and not item.columns.get("verdict_only") else None


class _RowMaker:
    """Makes rows for harnesses."""

    def __init__(self, prompt: Prompt | None, canary: str, tables: Sequence[Path]) -> None:
        self._prompt, self._canary = prompt, {"canary": canary} if canary else {}
        self._reader: VerdictReader | None = verdict_reader(tables) if tables else None
        self._said = read_verdict_table(tables[0]).examples if tables else None

    def row(self, item: SharedItem) -> dict[str, str]:
        """The row of an item."""
        row = {name: str(getattr(item, name)) for name in _COLUMNS}
        asked = item.context + item.question
        if self._prompt is not None:
            asked = render_prompt(self._prompt, {**item.columns, "question": asked, "type": item.type})
        return {**row, "prompt": asked, "target": self._target(item), **self._canary}

    def _target(self, item: SharedItem) -> str:
        """A right reply, as an example for a prompt: the verdict in the language of the tables, and the answer."""
        if item.expected not in ("yes", "no") or self._reader is None or self._said is None:
            return item.answer
        words = (self._said.affirm if item.expected == "yes" else self._said.deny)[:1]
        right, wrong = item.answer, item.answer_wrong
        claim, contrary = (right, wrong) if item.expected == "yes" else (wrong, right)
        for text in (f"{''.join(words)}{right}", "".join(words)):
            if self._reader.read(text, YesNoQuestion(item.question, claim, contrary)).verdict == item.expected:
                return text
        return item.expected
