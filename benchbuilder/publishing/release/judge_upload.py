"""Uploads a trained judge to the Hugging Face Hub, with a card: licence, data by digest, scores by source, limits."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchbuilder.core import Problem, RecipeError, parse_plain_yaml, seal_json
from benchbuilder.evaluation import (
    FINAL,
    JUDGE_CARD,
    LEARNED,
    PREDICTIONS,
    card_metrics,
    format_figure,
    read_predictions,
    read_trained_judge_card,
    verify_judge_part,
)
from benchbuilder.exporters import render_markdown
from benchbuilder.pipeline import BuiltBenchmark
from benchbuilder.publishing.release.upload import Upload, planned_files, publish_files, repository_of

_TAG_LENGTH = 12
_UNPUBLISHED = ("checksum", "raters", "predictions_sha256")
"""What of a card stays: people, and what is not published with the judge."""


def is_judge(folder: Path) -> bool:
    """Whether a folder is that of a trained judge."""
    return (folder / JUDGE_CARD).is_file() and (folder / FINAL).is_dir()


def plan_judge_upload(folder: Path, repository: str | None, licence: str) -> Upload:
    """What `publish_judge` would send, without asking anybody; see there."""
    with _written(folder, licence) as (working, tag):
        return Upload(repository_of(repository), tag, planned_files(working), None)


def publish_judge(
    folder: Path, repository: str | None, licence: str, *, hidden: bool = False, endpoint: str | None = None
) -> Upload:
    """Upload a trained judge as a repository of a model, once, tagged with the beginning of its digest.

    The answers that it learned from, and its raters, are not sent.

    Raises:
        DataError: The judge was changed since it was trained, or it lies in no build.
        RecipeError: No repository or no licence is named.
        ServiceError: The Hub refuses or does not answer.
    """
    with _written(folder, licence) as (working, tag):
        plan = Upload(repository_of(repository), tag, planned_files(working), None)
        return publish_files(plan, working, "model", hidden=hidden, endpoint=endpoint)


@contextmanager
def _written(folder: Path, licence: str) -> Generator[tuple[Path, str]]:
    """A folder for this while with the files of a judge and its card, and the tag."""
    if not licence.strip():
        raise RecipeError(
            [
                Problem(
                    "a published judge has a licence",
                    where="command line: publish",
                    hint="--licence CC-BY-4.0, or what the licences of its data allow",
                )
            ]
        )
    folder = folder.resolve()
    card = read_trained_judge_card(folder.parent, folder.name)
    final = verify_judge_part(folder, FINAL, card)
    with TemporaryDirectory(prefix="benchbuilder-") as made:
        working = Path(made) / "judge"
        shutil.copytree(final, working / FINAL)
        if (folder / LEARNED).is_file():
            shutil.copyfile(folder / LEARNED, working / LEARNED)
        shared = {key: value for key, value in card.items() if key not in _UNPUBLISHED}
        (working / JUDGE_CARD).write_bytes(seal_json({**shared, "raters": []}))
        (working / "README.md").write_text(_readme(folder, card, licence), encoding="utf-8", newline="\n")
        yield working, card["artefact_sha256"][:_TAG_LENGTH]


def _readme(folder: Path, card: Mapping[str, Any], licence: str) -> str:
    recipe: Any = parse_plain_yaml(BuiltBenchmark(folder.parent.parent).recipe_yaml)
    held = [one for one in read_predictions(folder / PREDICTIONS) if one.side == "held_out"]
    sources = sorted({one.example.source for one in held})
    rows: list[dict[str, Any]] = []
    for source, chosen in [("all", held), *((name, [o for o in held if o.example.source == name]) for name in sources)]:
        figures = {name: format_figure(value) for name, value in card_metrics(chosen).items()}
        rows.append({"source": source, "n": len(chosen), **figures})
    return render_markdown(
        "judge.md.j2",
        ("benchbuilder.publishing.release",),
        card=card,
        licence=licence.strip(),
        rows=rows,
        title=recipe["card"]["title"],
        not_for=recipe["card"]["not_for"],
        learned=card["counts"]["training"],
        held=card["counts"]["held_out"],
    )
