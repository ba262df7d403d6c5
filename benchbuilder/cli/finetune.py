"""``benchbuild finetune``: export training files for a judge that a service fine-tunes, and manage its jobs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbuilder.cli.evaluate import recipe_of_single_task
from benchbuilder.cli.rated_answers import RatedTables, rated_tables
from benchbuilder.cli.session import split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, did_you_mean, display_path
from benchbuilder.core import DataError, Problem, RecipeError, ServiceError, Waiting, count_phrase, format_dollars
from benchbuilder.evaluation import (
    ALL_PART,
    HELD_OUT_PART,
    FineTuning,
    JobClient,
    JobLog,
    JobStatus,
    OpenAIFinetunedSpec,
    TrainingFileCheck,
    adopt_finetuned_model,
    check_export,
    export_training_files,
    job_request,
    job_tokens,
    judges_folder,
    plan_fine_tuning,
    wait_for_job,
)
from benchbuilder.models import CLOSING, OFFICIAL, Gateway, OpenAIModel, OpenAISpec

Say = Callable[[str], None]


@dataclass(frozen=True)
class _FinetunedJudge:
    """A judge of a recipe that a service fine-tunes, and the folder of its files."""

    name: str
    spec: OpenAIFinetunedSpec
    loaded: LoadedRecipe
    folder: Path
    say: Say

    @property
    def training_folder(self) -> Path:
        """The folder of its training files and jobs, next to the judge itself."""
        return self.folder / f"{self.name}.fine_tuning"


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action; exit code 75 while a job runs."""
    say = partial(print_line, console)
    judge = _finetuned_judge(args, say)
    part_folder = judge.training_folder / (ALL_PART if args.everything else HELD_OUT_PART)
    if args.action == "check":
        return _check(judge, part_folder)
    client = JobClient(JobLog(judge.training_folder), _model(judge), say)
    if args.action == "cancel":
        return _cancel(judge, client, part_folder.name)
    tables = rated_tables(judge.loaded, (), console)  # no model is evaluated here
    tuning = _tuning(judge, tables)
    if args.action == "export":
        export_training_files(tuning, judge.training_folder, everything=args.everything, note=say)
        return _check(judge, part_folder)
    if args.action == "submit":
        return _submit(judge, tuning, part_folder, client, tables.journal, args)
    return _status(judge, tuning, client, _last_job(judge, part_folder.name), tables.journal, args)


def _finetuned_judge(args: argparse.Namespace, say: Say) -> _FinetunedJudge:
    """The judge that the arguments name; RecipeError if it is not one that a service fine-tunes."""
    where = f"command line: finetune {args.action}"
    names, overrides = split_names([text.removeprefix("judge=") for text in args.overrides])
    if len(names) > 1:
        raise RecipeError([Problem("give one judge at a time", where=where, actual=", ".join(names))])
    loaded = recipe_of_single_task(args, overrides)
    spec = loaded.recipe.evaluation
    judges: Mapping[str, Any] = {} if spec is None else spec.judges
    tuned = {name: judge for name, judge in judges.items() if isinstance(judge, OpenAIFinetunedSpec)}
    if not names and len(tuned) == 1:
        names = list(tuned)
    if not names or names[0] not in tuned:
        message = f"the recipe has no judge {names[0]!r} that a service fine-tunes" if names else "no judge was named"
        hint = did_you_mean(names[0], list(tuned)) if names else "judge=NAME names one"
        raise RecipeError([Problem(message, where=where, allowed=", ".join(tuned) or "none: add a judge with kind: "
                                   "openai_finetuned to evaluation.judges", hint=hint)])  # fmt: skip
    assert spec is not None
    name, folder = names[0], judges_folder(loaded, Path.cwd())
    if not isinstance(tuned[name].model, OpenAISpec):
        raise RecipeError([Problem("the model of this judge does not run at a service", where=where,
                                   key=f"evaluation.judges.{name}.model", allowed="kind: openai",
                                   hint=f"model@evaluation.judges.{name}.model=openai "
                                   f"evaluation.judges.{name}.model.name=NAME names one")])  # fmt: skip
    return _FinetunedJudge(name, tuned[name], loaded, folder, say)


def _model(judge: _FinetunedJudge) -> OpenAIModel:
    model = OpenAIModel(judge.spec.model)
    model.ready()
    return model


def _tuning(judge: _FinetunedJudge, tables: RatedTables) -> FineTuning:
    """What the judge learns from: items, answers and ratings."""
    recipe = judge.loaded.recipe
    assert recipe.evaluation is not None
    return plan_fine_tuning(
        judge.name, judge.spec, tables, recipe.evaluation, language=recipe.language, seed=recipe.seed
    )


# --- files


def _check(judge: _FinetunedJudge, folder: Path) -> int:
    """Print what the training files hold; DataError if a service would reject them."""
    files, problems = check_export(folder, judge.spec)
    for file in files:
        judge.say(
            f"  {display_path(file.file)}: {count_phrase(file.examples, 'example')}, {file.tokens:,} tokens "
            f"({file.how}), {file.longest:,} in the longest"
        )
    for line in _cost_lines(files, judge.spec):
        judge.say(line)
    if problems:
        raise DataError(
            f"{count_phrase(len(problems), 'thing')} in the training files would be refused or teach something else",
            where=display_path(folder), why="; ".join(problems), next="fix the data they come from, and export again",
        )  # fmt: skip
    judge.say("the files follow all known rules; nothing was sent")
    return 0


def _cost(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec) -> tuple[int, int, float | None, float | None]:
    """Expected tokens, those if the estimate is too low, and both in US dollars if a price is known."""
    expected, most = job_tokens(files, spec)
    price = spec.tuning.price
    if price is None:
        return expected, most, None, None
    return expected, most, expected * price.usd / 1e6, most * price.usd / 1e6


def _cost_lines(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec) -> list[str]:
    expected, most, usd, most_usd = _cost(files, spec)
    epochs = count_phrase(spec.tuning.epochs, "epoch")
    up_to = "" if most == expected else f", or {most:,} if the estimate is too low"
    lines = [f"a job of {epochs} trains on {expected:,} tokens{up_to}"]
    if usd is None or most_usd is None or spec.tuning.price is None:
        lines.append("the cost is unknown: set tuning.price of the judge, {usd: per million, as_of: date}")
    else:
        up_to = "" if most == expected else f", or {format_dollars(most_usd)} if the estimate is too low"
        price = f"price of {spec.tuning.price.as_of}, from the recipe"
        lines.append(f"that is {format_dollars(usd)} USD{up_to} ({price})")
    return lines


# --- jobs


def _submit(
    judge: _FinetunedJudge, tuning: FineTuning, folder: Path, client: JobClient, journal: Path, args: argparse.Namespace
) -> int:
    files, problems = check_export(folder, judge.spec)
    model = _model(judge)
    for line in _cost_lines(files, judge.spec):
        judge.say(line)
    if model.endpoint == OFFICIAL:
        judge.say(CLOSING)
    if problems:
        raise DataError("the training files have errors", where=display_path(folder), why="; ".join(problems),
                        next="benchbuild finetune check says more")  # fmt: skip
    request = job_request(tuning, folder, files, model.spec.name)
    if args.everything and not (judge.folder / judge.name / "card.json").exists():
        raise DataError(
            f"the judge {judge.name!r} is not validated yet",
            where=display_path(judge.folder),
            next="submit the job without --everything first: it validates the judge",
        )
    if not args.yes:
        judge.say(f"nothing was sent. To train {model.spec.name} at {model.endpoint}, add --yes and --budget USD")
        return 0
    _check_budget(files, judge.spec, args)
    last = client.submit(request, retry=args.again)
    judge.say(f"the job {last.ident} is recorded in {display_path(judge.training_folder)}; it is never submitted twice")
    return _status(judge, tuning, client, last, journal, args)


def _check_budget(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec, args: argparse.Namespace) -> None:
    """RecipeError unless there is a budget and even the most expensive outcome stays within it."""
    _, most, _, usd = _cost(files, spec)
    where = "command line: finetune submit --yes"
    if args.budget is None and args.budget_tokens is None:
        raise RecipeError([Problem("a job costs money: give a budget", where=where,
                                   hint="--budget USD, or --budget-tokens N where no price is known")])  # fmt: skip
    if args.budget is not None and usd is None:
        raise RecipeError([Problem("--budget needs a price", where=where, key=f"evaluation.judges.{spec.aspect}",
                                   hint="set tuning.price of the judge, or cap with --budget-tokens")])  # fmt: skip
    for cap, need, unit in ((args.budget, usd, "USD"), (args.budget_tokens, most, "tokens")):
        if cap is not None and need is not None and need > cap:
            raise RecipeError([Problem(f"the job may need more than the budget, {need:,.2f} {unit}", where=where,
                                       actual=f"{cap:,} {unit}", hint="a model.token_counter counts exactly; fewer "
                                       "tuning.epochs cost less")])  # fmt: skip


def _last_job(judge: _FinetunedJudge, part: str) -> JobStatus:
    """The last job of a part; DataError if there is none."""
    last = JobLog(judge.training_folder).last_job(part)
    if last is None:
        raise DataError(f"there is no job of {judge.name!r}", where=display_path(judge.training_folder),
                        next="benchbuild finetune submit creates one")  # fmt: skip
    return last


def _status(
    judge: _FinetunedJudge, tuning: FineTuning, client: JobClient, last: JobStatus, journal: Path,
    args: argparse.Namespace,
) -> int:  # fmt: skip
    if not last.ident:
        raise ServiceError(
            "it is unknown whether the service created the job",
            where=last.endpoint,
            next="repeat finetune submit: it looks for the job before it creates one",
        )
    last = wait_for_job(client, last, args.every, judge.say, time.sleep) if args.wait else client.poll(last)
    judge.say(f"job {last.ident}: {last.message}")
    if not last.has_ended:
        event = client.last_event(last)
        raise Waiting(
            "the job is still running", missing={"jobs": 1}, where=last.endpoint, why=event,
            next="benchbuild finetune status with the same arguments asks again; --wait waits for the end",
        )  # fmt: skip
    if last.phase != "succeeded":
        raise ServiceError(
            f"the job {last.ident} produced no model", where=last.endpoint, why=f"{last.message}",
            next="fix the cause, then submit with --again",
        )  # fmt: skip
    budget = judge.loaded.recipe.budget
    with Gateway(journal, usd=budget.usd, tokens=budget.tokens, notice=judge.say) as gateway:
        adopt_finetuned_model(tuning, last, judge.folder, gateway, judge.say)
    judge.say(f"the judge {judge.name} asks {last.model}: {display_path(judge.folder / judge.name)}")
    judge.say(
        "next: `benchbuild judge report` with the same arguments reports how far to trust it; `evaluate` scores with it"
    )
    return 0


def _cancel(judge: _FinetunedJudge, client: JobClient, part: str) -> int:
    last = client.cancel(_last_job(judge, part))
    judge.say(f"job {last.ident}: {last.message}; its work so far may be billed")
    return 0
