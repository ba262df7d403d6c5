"""What the tests of exposure share: tasks, their prompts, and replies with a score."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchbuilder.core import Choice, Item, LengthUnit, RecipeError, split_characters, strip_reasoning
from benchbuilder.models import Message, Prompt, Reply, Request, find_prompt, render_prompt

FALLBACK = "en"
"""The language of the prompts where a recipe's own has none."""


@dataclass(frozen=True)
class ScoredReply:
    """One reply: what the original says, what the model wrote, and how well they agree (0 to 1).

    `control` marks a text that the model cannot have seen.
    """

    test: str
    item: str
    control: bool
    expected: str
    reply: str
    score: float


ExposureWork = Generator[Request, Reply, ScoredReply]


@dataclass(frozen=True)
class ExposureTask:
    """One thing that a model is asked; `begin` starts the conversation anew."""

    test: str
    item: str
    begin: Callable[[], ExposureWork]


@dataclass(frozen=True)
class ExposureMaterial:
    """The benchmark as the tests need it: items, the original choices of their facts by id, and how to ask.

    `items` is one item of each family, in random order. `pool` is every item.
    """

    title: str
    seed: int
    unit: LengthUnit
    items: Sequence[Item[Any]]
    pool: Sequence[Item[Any]]
    prompts: ExposurePrompts
    choices: Mapping[str, Choice] = field(default_factory=dict[str, Choice])
    wanted: int = 100
    controls: int = 20
    limit: int = 512

    def ask(self, prompt: str, expected: str, **values: Any) -> Generator[Request, Reply, str]:
        """Ask once; the reply without reasoning and outer white space."""
        message = Message("user", self.prompts.fill(prompt, values))
        sampling = {"temperature": 0.0, "max_new_tokens": self.limit}
        reply = yield Request((message,), sampling, expected=expected)
        return (strip_reasoning(reply.text) or "").strip()

    def tokens(self, text: str) -> list[str]:
        """The characters or words of a text."""
        return text.split() if self.unit == "words" else split_characters(text)

    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""
        return (" " if self.unit == "words" else "").join(tokens)


class ExposurePrompts:
    """The prompts of the tests in a language, or in English if there are none."""

    def __init__(self, language: str, roots: Sequence[Path]) -> None:
        self._language, self._roots = language.partition("-")[0], roots
        self._found: dict[str, Prompt] = {}

    def fill(self, name: str, values: Mapping[str, Any]) -> str:
        """The prompt `name` with its values."""
        if name not in self._found:
            self._found[name] = self._find(f"exposure_{name}.j2")
        return render_prompt(self._found[name], values)

    def _find(self, file: str) -> Prompt:
        try:
            return find_prompt(f"{self._language}/{file}", self._roots)
        except RecipeError:
            return find_prompt(f"{FALLBACK}/{file}", self._roots)


def question_text(item: Item[Any]) -> str:
    """The question of an item with its context; empty if its payload has none."""
    payload = item.payload
    return f"{getattr(payload, 'context', '')}{getattr(payload, 'question', '')}"
