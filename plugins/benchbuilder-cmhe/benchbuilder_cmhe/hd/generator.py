"""Trains the generator of answers: ``python -m benchbuilder_cmhe.hd.generator train recipe=cmhe --base FOLDER``.

The pairs are the rows of a step that is built (``hd_pairs``); a question is put as the step that asks the generator
puts it (``hd_answered``). What is written are adapters, for ``model: transformers`` with `adapter`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from benchbuilder.config import load_recipe
from benchbuilder.core import BenchbuilderError, DataError, parse_plain_yaml
from benchbuilder.evaluation import (
    CHECKPOINTS,
    Case,
    EncodedExamples,
    computing,
    library_versions,
    resolve_base_model,
    training_key,
)
from benchbuilder.models import read_prompt, render_prompt
from benchbuilder.pipeline import Checksums, Store, make_plan
from pydantic import ValidationError

from benchbuilder_cmhe.hd.answer_dialogue import AnswerDialogueSpec
from benchbuilder_cmhe.hd.dialogue import Dialogue
from benchbuilder_cmhe.hd.generator_learner import AnswerLearner, GeneratorSpec

DEFAULT_SETTINGS_FILE = Path(__file__).parents[1] / "recipes" / "generator" / "cmhe_hd.yaml"
CARD_FILE = "generator.json"
_LIBRARIES = ("torch", "transformers", "accelerate", "peft")


def train_generator(
    pairs: Sequence[Case], spec: GeneratorSpec, folder: Path, seed: int, on_progress: Callable[[str], None]
) -> None:
    """Train on `pairs`, and write adapters and a card into `folder`; resume there if the same training was interrupted.

    The same arguments give the same adapters.

    Args:
        pairs: Questions with the answers to learn.
        spec: The settings.
        folder: An empty folder, or one with the checkpoints of an interrupted training.
        seed: Seed of everything random.
        on_progress: Takes a line per epoch.

    Raises:
        DataError: If there are no pairs, or `folder` holds other files.
    """
    if not pairs:
        raise DataError("there is nothing to train a generator on", next="build the step with the pairs first")
    if folder.exists() and any(path.name != CHECKPOINTS for path in folder.iterdir()):
        raise DataError(
            "the folder of the generator is not empty", where=str(folder), next="name another one: --output"
        )
    from benchbuilder.evaluation import train_network

    base = resolve_base_model(spec)
    if base.folder is not None and not base.folder.is_dir():
        raise DataError("the model to start from is not there", where=str(base.folder), next="--base FOLDER")
    with computing("train", spec.device, spec.dtype, seed) as place:
        learner = AnswerLearner(base, place, spec)
        rows = [learner.row(pair) for pair in pairs]
        on_progress(
            f"{base.label}: {len(rows):,} answers to learn, on {place.device}, at most {learner.max_length} tokens"
        )
        ones = [1.0] * len(rows)
        examples, nothing = EncodedExamples(rows, ones, ones), EncodedExamples((), (), ())
        context = {"base": base.identity(learner.model.config), "seed": seed, "versions": library_versions(_LIBRARIES)}
        key, checkpoints = training_key(spec, examples, nothing, context), folder / CHECKPOINTS
        fitted = train_network(learner, spec, examples, nothing, checkpoints, key=key, seed=seed, note=on_progress)
        learner.save(folder)
        card: dict[str, Any] = {
            **context, "pairs": len(rows), "losses": fitted.losses, "steps": fitted.steps,
            "tokens_learned": fitted.tokens, "cut": sum(bool(row.truncation) for row in rows),
            "settings": spec.model_dump(mode="json", exclude={"path", "device"}),
        }  # fmt: skip
    text = json.dumps(card, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / CARD_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")
    shutil.rmtree(checkpoints)


def training_pairs(
    overrides: Sequence[str], recipes: Sequence[str], pairs: str, answers: str, cwd: Path
) -> tuple[list[Case], int]:
    """The prompts of the step `answers` for the rows of the step `pairs`, with their answers, and the recipe's seed."""
    recipe = load_recipe(list(overrides), recipes=recipes, cwd=cwd).recipe
    store = Store(recipe.build_folder(cwd))
    plan = make_plan(recipe, store, Checksums(store.checksums).sha256_of)
    for name in (pairs, answers):
        if name not in plan.nodes:
            raise DataError(f"the recipe has no step {name!r}", next=f"its steps are {', '.join(recipe.steps)}")
    manifest = store.manifest(pairs, plan.nodes[pairs].key)
    if manifest is None:
        raise DataError(f"the step {pairs!r} is not built", next="build the recipe first, with the same words")
    spec = recipe.steps[answers]
    if not isinstance(spec, AnswerDialogueSpec) or spec.prompt is None:
        raise DataError(f"the step {answers!r} asks no model for answers", next="name one of the kind answer_dialogue")
    prompt = read_prompt(spec.prompt.path, spec.prompt.file)
    found: list[Case] = []
    for row in store.rows(manifest):
        said: Dialogue = row.payload
        values = {"question": said.question, "title": said.title, "department": said.department, "pairs": []}
        found.append(Case(render_prompt(prompt, values), said.answer))
    return found, recipe.seed


def read_generator_settings(file: Path, changes: Mapping[str, Any]) -> GeneratorSpec:
    """The settings in a YAML file with `changes`; DataError says what is wrong with them."""
    try:
        return GeneratorSpec.model_validate({**parse_plain_yaml(file.read_text(encoding="utf-8")), **changes})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError) as error:
        raise DataError(
            "the settings cannot be read", where=str(file), why=str(error), next="--settings FILE"
        ) from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise DataError(
            "the settings are wrong", where=str(file), why=faults, next="correct them, or say --base"
        ) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; what it returns is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchbuilder_cmhe.hd.generator", description=__doc__)
    parser.add_argument("action", choices=["train"])
    parser.add_argument("words", nargs="*", metavar="key=value", help="recipe=NAME and any override, as of the build")
    parser.add_argument("--recipes", action="append", default=[], metavar="DIR", help="a further folder of recipes")
    parser.add_argument("--pairs", default="hd_pairs", help="the step whose answers are learned (default: hd_pairs)")
    parser.add_argument("--answers", default="hd_answered", help="the step that asks the generator (hd_answered)")
    parser.add_argument(
        "--settings", type=Path, default=DEFAULT_SETTINGS_FILE, metavar="FILE", help="settings of the training"
    )
    parser.add_argument("--base", metavar="FOLDER", help="the folder of the model to start from")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the adapters go")
    args = parser.parse_args(arguments)
    changes = {} if args.base is None else {"path": args.base, "name": None, "revision": None}
    try:
        spec = read_generator_settings(args.settings, changes)
        pairs, seed = training_pairs(args.words, args.recipes, args.pairs, args.answers, Path.cwd())
        train_generator(pairs, spec, args.output, seed, lambda text: print(text, file=sys.stderr))
    except BenchbuilderError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{args.output}: set model.adapter to it, beside the model that it was trained on")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
