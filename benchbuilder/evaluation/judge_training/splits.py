"""Splits: the examples that a judge is trained on, and those that it is validated on."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.config import TrainingSpec
from benchbuilder.core import DataError
from benchbuilder.evaluation.judge_training.predictions import Side
from benchbuilder.evaluation.judges.base import Example


@dataclass(frozen=True)
class Split:
    """Training examples, held-out examples (rated answers only), and examples left out of both.

    `models` and `families` are the held-out ones; one that the split does not use is empty.
    """

    name: str
    training: tuple[Example, ...]
    held_out: tuple[Example, ...]
    left_out: tuple[Example, ...]
    models: tuple[str, ...]
    families: tuple[str, ...]

    def card_data(self) -> dict[str, Any]:
        """Plain data for the card: what is held out, and the sizes of all sides."""
        return {
            "by": self.name,
            "models": list(self.models),
            "families": list(self.families),
            "questions": len({example.item for example in self.held_out}),
            "shared_paragraphs": self.shared_paragraphs(),
            "counts": {
                "training": _count(self.training), "held_out": _count(self.held_out), "left_out": _count(self.left_out),
            },
        }  # fmt: skip

    def shared_paragraphs(self) -> dict[str, int]:
        """How many held-out answers have paragraphs, and share ``some`` or ``all`` of them with the training data.

        Families separate questions, not paragraphs: the same passage may be evidence for several questions.
        """
        known = {paragraph for example in self.training for paragraph in example.case.evidence}
        evidence = [set(example.case.evidence) for example in self.held_out if example.case.evidence]
        return {
            "answers": len(evidence),
            "some": sum(not paragraphs.isdisjoint(known) for paragraphs in evidence),
            "all": sum(paragraphs <= known for paragraphs in evidence),
        }

    def partly_seen(self) -> list[tuple[Example, Side]]:
        """The rated answers that are left out, each with its side: a training model, or a training question."""
        families = set(self.families)
        return [
            (example, "known_model" if example.family in families else "known_question")
            for example in self.left_out
            if not example.synthetic
        ]


def _count(examples: Sequence[Example]) -> dict[str, int]:
    rated = [example for example in examples if not example.synthetic]
    return {
        "rated": len(rated),
        "synthetic": len(examples) - len(rated),
        "questions": len({example.item for example in examples}),
        "families": len({example.family for example in examples}),
        "models": len({example.model for example in rated}),
    }


def split_examples(examples: Sequence[Example], training: TrainingSpec, seed: int) -> Split:
    """Split the examples as `training` says. Held-out examples are never synthetic: judges must match human ratings.

    - ``by_model``: holds out all answers of some models; the statements of every question are for training
    - ``by_question``: holds out all answers to some families of questions, and leaves out their statements
    - ``both``: holds out answers of held-out models to held-out families; answers with only one of the two are left out

    Raises:
        DataError: A side would be empty.
    """
    rated = [example for example in examples if not example.synthetic]
    models = _held_models(rated, training, seed) if training.split != "by_question" else frozenset[str]()
    families = _held_families(rated, training.held_out, seed) if training.split != "by_model" else frozenset[str]()
    sides: dict[str, list[Example]] = {"training": [], "held_out": [], "left_out": []}
    for example in examples:
        sides[_side(example, training.split, models, families)].append(example)
    split = Split(
        training.split, tuple(sides["training"]), tuple(sides["held_out"]), tuple(sides["left_out"]),
        tuple(sorted(models)), tuple(sorted(families)),
    )  # fmt: skip
    if not split.held_out or all(example.synthetic for example in split.training):
        empty = "is held out" if not split.held_out else "is left for training"
        raise DataError(
            f"no rated answer {empty} by the split {training.split}",
            why=f"{len(rated)} answers by {len({e.model for e in rated})} models to "
            f"{len({e.family for e in rated})} families of questions are rated",
            next="have more answers rated, or change evaluation.training.split or held_out",
        )
    return split


def _side(example: Example, split_by: str, models: frozenset[str], families: frozenset[str]) -> str:
    model, family = example.model in models, example.family in families
    if split_by == "by_model":
        return "held_out" if model else "training"
    if split_by == "by_question":
        return "training" if not family else "left_out" if example.synthetic else "held_out"
    if model and family:
        return "held_out"
    return "left_out" if model or family else "training"


def _held_models(rated: Sequence[Example], training: TrainingSpec, seed: int) -> frozenset[str]:
    models = sorted({example.model for example in rated})
    if unknown := sorted(set(training.models) - set(models)):
        raise DataError(
            f"there is no rated answer of {', '.join(unknown)}", where="evaluation.training.models",
            why=f"rated: {', '.join(models)}", next="name models whose answers are rated",
        )  # fmt: skip
    if training.models:
        return frozenset(training.models)
    wanted = max(1, round(training.held_out * len(models)))
    return frozenset(sorted(models, key=lambda model: _hash("model", model, seed))[:wanted])


def _held_families(rated: Iterable[Example], proportion: float, seed: int) -> frozenset[str]:
    """Random families, with about a `proportion` of the rated questions of each source."""
    questions: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, str] = {}
    for example in rated:
        questions[example.family].add(example.item)
        sources[example.family] = min(sources.get(example.family, example.source), example.source)
    due, taken = 0.0, 0
    chosen: set[str] = set()
    for family in sorted(questions, key=lambda name: (sources[name], _hash("family", name, seed))):
        size = len(questions[family])
        due += proportion * size
        if due - taken >= size / 2:
            chosen.add(family)
            taken += size
    return frozenset(chosen)


def _hash(what: str, name: str, seed: int) -> str:
    return hashlib.blake2b(f"{seed}:{what}:{name}".encode(), digest_size=8).hexdigest()
