"""``benchbuild judge``: train judges, score a file of answers, and report how far judges can be trusted."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbuilder.cli.evaluate import recipe_of_single_task
from benchbuilder.cli.rated_answers import RatedTables, completed_tables, rated_tables
from benchbuilder.cli.session import split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import EvaluationSpec, LoadedRecipe, did_you_mean, display_path
from benchbuilder.core import (
    BenchbuilderError,
    DataError,
    Item,
    Problem,
    RecipeError,
    Score,
    count_phrase,
    create_from_spec,
    find_kind,
)
from benchbuilder.evaluation import (
    FINAL,
    JUDGE_CARD,
    SUFFIXES,
    AskingJudge,
    JudgeSpec,
    ScoringJudge,
    TrainedJudge,
    ValidationRun,
    carried_validation_run,
    changed_settings,
    clean_judge_folders,
    has_sample_ratings,
    judge_mismatches,
    judge_spec,
    judges_folder,
    load_validation_run,
    plain_spec,
    plan_evaluation,
    read_learned_hashes,
    read_records,
    read_trained_judge_card,
    record_cases,
    rubric_digest,
    score_records,
    train_judge,
    validation_run_from_scores,
    verify_judge_part,
    write_records,
)
from benchbuilder.pipeline import Store

Say = Callable[[str], None]


@dataclass(frozen=True)
class _JudgeSession:
    """A recipe that evaluates, and the folder of its judges."""

    loaded: LoadedRecipe
    spec: EvaluationSpec
    store: Store
    folder: Path


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action."""
    names, overrides = split_names(args.overrides)
    loaded = recipe_of_single_task(args, overrides)
    if loaded.recipe.evaluation is None:
        raise RecipeError([Problem(
            "this recipe has no evaluation, and so no judges", key="evaluation",
            hint="choose one, for instance `- override /evaluation: [zh_claims]` among its defaults",
        )])  # fmt: skip
    store = Store(loaded.recipe.build_folder(Path.cwd()))
    session = _JudgeSession(loaded, loaded.recipe.evaluation, store, judges_folder(loaded, Path.cwd()))
    say = partial(print_line, console)
    if args.action == "train":
        return _train(session, names, args.again, say, console)
    if args.action == "score":
        return _score(session, names, args, say)
    return _report(session, names, args, say, console)


def _chosen_judges(session: _JudgeSession, names: list[str], where: str) -> dict[str, JudgeSpec]:
    """The named judges of the recipe, or all; RecipeError for an unknown name."""
    judges: dict[str, JudgeSpec] = dict(session.spec.judges)
    if unknown := [name for name in names if name not in judges]:
        raise RecipeError([
            Problem(f"the recipe has no judge {name!r}", where=where, allowed=", ".join(judges) or "none",
                    hint=did_you_mean(name, list(judges)))
            for name in unknown
        ])  # fmt: skip
    return {name: judges[name] for name in names} if names else judges


# --- train


def _train(session: _JudgeSession, names: list[str], again: bool, say: Say, console: Console) -> int:
    wanted = _chosen_judges(session, names, "command line: judge train")
    if not names:
        kinds = {name: find_kind("judge", spec.kind).load() for name, spec in wanted.items()}
        wanted = {name: wanted[name] for name, cls in kinds.items() if issubclass(cls, TrainedJudge)}
    if not wanted:
        raise RecipeError([Problem("the recipe has no judge that is trained", key="evaluation.judges",
                                   hint="add one of a kind that is trained, for instance tfidf_ridge")])  # fmt: skip
    for spec in wanted.values():
        create_from_spec("judge", spec).ready()
    tables = rated_tables(session.loaded, session.loaded.overrides, console)
    recipe = session.loaded.recipe
    clean_judge_folders(session.folder)
    for name, spec in wanted.items():
        train_judge(
            name, spec, tables, session.spec, session.folder, language=recipe.language, seed=recipe.seed, note=say,
            retrain=again,
        )  # fmt: skip
    say(f"{count_phrase(len(wanted), 'judge')} in {display_path(session.folder)}")
    if has_sample_ratings(recipe, session.spec, session.loaded.roots):
        say("The bundled ratings are illustrative: judges trained on them are examples and measure nothing.")
    say(
        "next: `benchbuild judge report` with the same arguments reports how far to trust them; "
        "`evaluate` scores with them"
    )
    return 0


# --- score


def _score(session: _JudgeSession, names: list[str], args: argparse.Namespace, say: Say) -> int:
    where = "command line: judge score"
    if len(names) != 2:
        raise RecipeError([Problem("a judge and a file are needed", where=where, actual=" ".join(names) or "nothing",
                                   hint="benchbuild judge score NAME FILE recipe=...")])  # fmt: skip
    name, path = names[0], Path(names[1])
    judge, half_width = _open_judge(session, name, _chosen_judges(session, [name], where)[name], args.anyway, say)
    learned = read_learned_hashes(session.folder / name) if judge.trains else frozenset[str]()
    records = read_records(path)
    rows = score_records(records, record_cases(records, _items(session), str(path)), judge, half_width, learned)
    target = Path(args.output) if args.output else path.with_name(f"{path.stem}.{name}{path.suffix}")
    if target.resolve() == path.resolve():
        hint = f"name another file, ending in {', '.join(SUFFIXES)}"
        raise RecipeError([Problem("the output would overwrite the input", where="command line: --output",
                                   actual=str(target), hint=hint)])  # fmt: skip
    write_records(target, rows)
    interval = "without intervals" if half_width is None else f"each ± {half_width:.3f}"
    say(f"{count_phrase(len(rows), 'answer')} scored by {name}, {interval}:")
    say(f"  {display_path(target)}")
    return 0


def _open_judge(
    session: _JudgeSession, name: str, spec: JudgeSpec, allow_unvalidated: bool, say: Say
) -> tuple[ScoringJudge, float | None]:
    """An open judge and half the width of its intervals; DataError if it must not score here."""
    judge = create_from_spec("judge", spec)
    if not isinstance(judge, ScoringJudge) or (isinstance(judge, AskingJudge) and judge.model_spec is not None):
        raise DataError(
            f"the judge {name!r} asks a model",
            why="its requests need the budget and the journal of an evaluation",
            next="benchbuild evaluate evaluation.answers=FILE recipe=... scores a file of answers with every judge",
        )
    judge.ready()
    if not judge.trains:
        judge.open(None)
        return judge, None
    card = read_trained_judge_card(session.folder, name)
    mismatches = judge_mismatches(
        card, language=session.loaded.recipe.language, rubric=rubric_digest(session.spec.rubric)
    )
    if mismatches and not (allow_unvalidated or session.spec.any_rubric):
        raise DataError(
            f"the judge {name!r} was made for something else",
            why="; ".join(mismatches),
            next="train a matching judge, or give --anyway: `judge report` says how far it agrees with people here",
        )
    _warn_of_changes(session, name, spec, card, say)
    if plain_spec(spec) != card["spec"]:
        judge = create_from_spec("judge", judge_spec(card, spec))
    judge.open(verify_judge_part(session.folder / name, FINAL, card))
    return judge, card["conformal"]["half_width"]


def _warn_of_changes(session: _JudgeSession, name: str, spec: JudgeSpec, card: Mapping[str, Any], say: Say) -> None:
    """Warn about settings that the recipe changed after the judge was trained."""
    if keys := changed_settings(card, spec, session.spec, session.loaded.recipe.seed):
        say(
            f"warning: {name} was trained with other settings than the recipe has now ({', '.join(keys)}); "
            "it keeps them until it is trained again"
        )


def _items(session: _JudgeSession) -> dict[str, Item[Any]]:
    """The items of the build by id; empty if there is no build."""
    manifest = session.store.latest(session.loaded.recipe.items)
    return {} if manifest is None else {item.id: item for item in session.store.rows(manifest)}


# --- report


def _report(
    session: _JudgeSession, names: list[str], args: argparse.Namespace, say: Say, console: Console
) -> int:  # fmt: skip
    from benchbuilder.evaluation import JUDGE_REPORT_STEM, write_judge_report

    wanted = _chosen_judges(session, names, "command line: judge report")
    runs = list(_validation_runs(session, wanted, bool(names), say, console))
    spec = session.spec
    probes, published = (ref.file if ref is not None else None for ref in (spec.probes, spec.published_judges))
    folder = Path(args.output) if args.output else session.folder
    stem = JUDGE_REPORT_STEM if set(wanted) == set(session.spec.judges) else f"{JUDGE_REPORT_STEM}_{'-'.join(wanted)}"
    loaded = session.loaded
    files = write_judge_report(
        runs, spec, folder, language=loaded.recipe.language, probes=probes, published=published, texts=args.words,
        illustrative=has_sample_ratings(loaded.recipe, spec, loaded.roots), stem=stem,
    )  # fmt: skip
    say(f"{count_phrase(len(runs), 'judge')} validated, {count_phrase(len(files), 'file')} in {display_path(folder)}")
    if pages := [file for file in files if file.suffix == ".html"]:
        say(f"next: open {display_path(pages[0])} in a browser")
    return 0


def _validation_runs(
    session: _JudgeSession, judges: Mapping[str, JudgeSpec], named: bool, say: Say, console: Console
) -> Iterator[ValidationRun]:
    """The validation runs of the judges; untrained ones are validated by their scores in the evaluation.

    An unreadable run is reported; the rest continue.

    Raises:
        DataError: If a judge that was `named` has no run, or if no judge has one.
    """
    untrained_scores = _UntrainedScores(session)
    rated = cache(partial(rated_tables, session.loaded, session.loaded.overrides, console))
    missing: list[str] = []
    clean_judge_folders(session.folder)
    for name, spec in judges.items():
        if (session.folder / name / JUDGE_CARD).exists():
            try:
                run = _trained_validation_run(session, name, spec, rated, say)
            except DataError as error:
                if len(judges) == 1:
                    raise
                say(f"note: {name} is left out: {error.what}{f' ({error.why})' if error.why else ''}; train it again")
                continue
            yield run
        elif find_kind("judge", spec.kind).load().trains:
            missing.append(name)
            if named:
                read_trained_judge_card(session.folder, name)
        elif (run := untrained_scores.validation_run(name, spec)) is not None:
            yield run
        else:
            say(f"note: {name} has not scored rated answers yet: `benchbuild evaluate` with the same arguments")
    if missing and len(missing) == len(judges):
        read_trained_judge_card(session.folder, missing[0])
    for name in missing:
        say(f"note: {name} is not trained yet: `benchbuild judge train` with the same arguments")


def _trained_validation_run(
    session: _JudgeSession, name: str, spec: JudgeSpec, rated: Callable[[], RatedTables], say: Say
) -> ValidationRun:
    """The validation run of a trained judge; without the judge itself if it cannot be opened.

    One that was trained for other items is validated by the `rated` answers of this recipe.
    """
    run_without_judge = load_validation_run(session.folder, name, open_judge=False)
    _warn_of_changes(session, name, spec, run_without_judge.card, say)
    items, training = _items(session), session.spec.training
    if items and training and not any(row.example.item in items for row in run_without_judge.predictions):
        run = carried_validation_run(name, spec, session.folder, rated(), training)
        say(f"note: {name} was trained for other items: the report compares it with the people who rated answers here")
        for mismatch in judge_mismatches(
            run.card, language=session.loaded.recipe.language, rubric=rubric_digest(session.spec.rubric)
        ):
            say(f"  {mismatch}")
        return run
    try:
        return load_validation_run(session.folder, name, spec=spec)
    except BenchbuilderError as error:
        why = f" ({error.why})" if error.why else ""
        say(f"note: {name} cannot be opened, so it gets no robustness card: {error.what}{why}")
        return run_without_judge


class _UntrainedScores:
    """Scores of untrained judges in the evaluation, read on first use."""

    def __init__(self, session: _JudgeSession) -> None:
        self._session = session
        self._rated: RatedTables | None = None
        self._scores: list[Score] = []

    def validation_run(self, name: str, spec: JudgeSpec) -> ValidationRun | None:
        """The validation run of a judge; ``None`` if it has no scores yet."""
        if self._rated is None:
            loaded = self._session.loaded
            self._scores = completed_tables(plan_evaluation(loaded, Path.cwd(), rated_only=False)).scores
            self._rated = completed_tables(plan_evaluation(loaded, Path.cwd(), rated_only=True))
        scores = [score for score in self._scores if score.scorer == f"judge_{name}"]
        if not scores:
            return None
        recipe = self._session.loaded.recipe
        return validation_run_from_scores(
            name, spec, self._rated, scores, self._session.spec, language=recipe.language, seed=recipe.seed
        )
