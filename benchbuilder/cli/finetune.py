"""``benchbuild finetune``: training files for a judge that a service fine-tunes, and the jobs that it does."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbuilder.cli.evaluate import add_task_argument, recipe_of_single_task
from benchbuilder.cli.rated_answers import RatedTables, rated_tables
from benchbuilder.config import LoadedRecipe, did_you_mean, display_path
from benchbuilder.core import DataError, Problem, RecipeError, ServiceError, Waiting, count_phrase, printable_text
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
from benchbuilder.exporters import format_dollars
from benchbuilder.models import CLOSING, OFFICIAL, Gateway, OpenAIModel, OpenAISpec

_ACTIONS = ("export", "check", "submit", "status", "cancel")
_HELP = (
    "export: write the training files; check: look them over and count tokens; submit: say what a job may cost and, "
    "with --yes, have it done; status: see how it gets on and, when it is through, make the judge; cancel: end it"
)
Say = Callable[[str], None]


@dataclass(frozen=True)
class _FinetunedJudge:
    """A judge of a recipe that a service fine-tunes, and where its files lie."""

    name: str
    spec: OpenAIFinetunedSpec
    loaded: LoadedRecipe
    folder: Path
    print_line: Say

    @property
    def training_folder(self) -> Path:
        """Where its training files and its jobs lie; the judge itself is beside it."""
        return self.folder / f"{self.name}.fine_tuning"


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=_ACTIONS, help=_HELP)
    add_task_argument(parser)
    parser.add_argument(
        "overrides", nargs="*", metavar="judge=NAME key=value", help="the judge, recipe=NAME and any override"
    )
    parser.add_argument(
        "--everything", action="store_true",
        help="a second job that learns from all ratings, those included that the first is held to account by",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="submit: have it done, within the budget")
    parser.add_argument("--budget", type=float, metavar="USD", help="submit: the most that the job may cost")
    parser.add_argument("--budget-tokens", type=int, metavar="N", help="submit: the most tokens that it may train on")
    parser.add_argument("--again", action="store_true", help="submit: another job after one that failed")
    parser.add_argument("--wait", action="store_true", help="submit, status: until the job is through")
    parser.add_argument(
        "--every", type=float, default=60.0, metavar="S", help="with --wait: seconds between two looks (default: 60)"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Do it; exit code 75 while a job is not through."""

    def say(text: str) -> None:
        console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)

    bench = _finetuned_judge(args, say)
    place = bench.training_folder / (ALL_PART if args.everything else HELD_OUT_PART)
    if args.action == "check":
        return _check(bench, place)
    desk = JobClient(JobLog(bench.training_folder), _model(bench), say)
    if args.action == "cancel":
        return _cancel(bench, desk, place.name)
    tables = rated_tables(bench.loaded, (), console)  # nobody is evaluated here
    tuning = _tuning(bench, tables)
    if args.action == "export":
        export_training_files(tuning, bench.training_folder, everything=args.everything, note=say)
        return _check(bench, place)
    if args.action == "submit":
        return _submit(bench, tuning, place, desk, tables.journal, args)
    return _status(bench, tuning, desk, _last_job(bench, place.name), tables.journal, args)


def _finetuned_judge(args: argparse.Namespace, print_line: Say) -> _FinetunedJudge:
    """The judge that the words name; RecipeError if there is none of a fine-tuned kind."""
    where = f"command line: finetune {args.action}"
    named = [word.partition("=")[2] for word in args.overrides if word.startswith("judge=")]
    words = [word for word in args.overrides if not word.startswith("judge=")]
    bare = [word for word in words if "=" not in word and not word.startswith("~")]
    if len(named + bare) > 1:
        raise RecipeError([Problem("one judge at a time", where=where, actual=", ".join(named + bare))])
    words, named = [word for word in words if word not in bare], named + bare
    loaded = recipe_of_single_task(args, words)
    spec = loaded.recipe.evaluation
    judges: Mapping[str, Any] = {} if spec is None else spec.judges
    tuned = {name: judge for name, judge in judges.items() if isinstance(judge, OpenAIFinetunedSpec)}
    if not named and len(tuned) == 1:
        named = list(tuned)
    if not named or named[-1] not in tuned:
        told = f"the recipe has no judge {named[-1]!r} that a service fine-tunes" if named else "no judge was named"
        hint = did_you_mean(named[-1], list(tuned)) if named else "judge=NAME names one"
        raise RecipeError([Problem(told, where=where, allowed=", ".join(tuned) or "none: add a judge with kind: "
                                   "openai_finetuned to evaluation.judges", hint=hint)])  # fmt: skip
    assert spec is not None
    name, folder = named[-1], judges_folder(loaded, Path.cwd())
    if not isinstance(tuned[name].model, OpenAISpec):
        raise RecipeError([Problem("the model of this judge is not one of a service", where=where,
                                   key=f"evaluation.judges.{name}.model", allowed="kind: openai",
                                   hint=f"model@evaluation.judges.{name}.model=openai "
                                   f"evaluation.judges.{name}.model.name=NAME names one")])  # fmt: skip
    return _FinetunedJudge(name, tuned[name], loaded, folder, print_line)


def _model(judge: _FinetunedJudge) -> OpenAIModel:
    model = OpenAIModel(judge.spec.model)
    model.ready()
    return model


def _tuning(judge: _FinetunedJudge, tables: RatedTables) -> FineTuning:
    """What the judge learns from."""
    recipe = judge.loaded.recipe
    assert recipe.evaluation is not None
    return plan_fine_tuning(
        judge.name, judge.spec, tables, recipe.evaluation, language=recipe.language, seed=recipe.seed
    )


# --- files


def _check(judge: _FinetunedJudge, place: Path) -> int:
    """What is in the training files; exit code 3 if a service would not take them."""
    files, wrong = check_export(place, judge.spec)
    for file in files:
        judge.print_line(
            f"  {display_path(file.file)}: {count_phrase(file.examples, 'example')}, {file.tokens:,} tokens ({file.how}), "
            f"{file.longest:,} in the longest"
        )
    for line in _cost_lines(files, judge.spec):
        judge.print_line(line)
    if wrong:
        raise DataError(
            f"{count_phrase(len(wrong), 'thing')} in the training files would be refused or teach something else",
            where=display_path(place), why="; ".join(wrong), next="mend them where they come from, and export again",
        )  # fmt: skip
    judge.print_line("nothing is wrong with them by the rules that are known here; nothing was sent")
    return 0


def _cost(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec) -> tuple[int, int, float | None, float | None]:
    """Tokens expected and at most, and US dollars for these where a price is known."""
    expected, most = job_tokens(files, spec)
    price = spec.tuning.price
    if price is None:
        return expected, most, None, None
    return expected, most, expected * price.usd / 1e6, most * price.usd / 1e6


def _cost_lines(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec) -> list[str]:
    expected, most, usd, most_usd = _cost(files, spec)
    epochs = count_phrase(spec.tuning.epochs, "epoch")
    up_to = "" if most == expected else f", {most:,} at most"
    lines = [f"a job of {epochs} trains on {expected:,} tokens{up_to}"]
    if usd is None or most_usd is None or spec.tuning.price is None:
        lines.append("what that costs is not known: set tuning.price of the judge, {usd: per million, as_of: date}")
    else:
        at_most = "" if most == expected else f", {format_dollars(most_usd)} at most"
        lines.append(
            f"that is {format_dollars(usd)} USD{at_most} (price of {spec.tuning.price.as_of}, as the recipe says)"
        )
    return lines


# --- jobs


def _submit(
    judge: _FinetunedJudge, tuning: FineTuning, place: Path, client: JobClient, journal: Path, args: argparse.Namespace
) -> int:
    files, wrong = check_export(place, judge.spec)
    model = _model(judge)
    for line in _cost_lines(files, judge.spec):
        judge.print_line(line)
    if model.endpoint == OFFICIAL:
        judge.print_line(CLOSING)
    if wrong:
        raise DataError("the training files are not right", where=display_path(place), why="; ".join(wrong),
                        next="benchbuild finetune check says more")  # fmt: skip
    wanted = job_request(tuning, place, files, model.spec.name)
    if args.everything and not (judge.folder / judge.name / "card.json").exists():
        raise DataError(
            f"the judge {judge.name!r} was not on trial yet", where=display_path(judge.folder),
            next="submit the job without --everything first: it says how far the judge can be trusted",
        )  # fmt: skip
    if not args.yes:
        judge.print_line(
            f"nothing was sent. To have {model.spec.name} trained at {model.endpoint}, add --yes and --budget USD"
        )
        return 0
    _check_budget(files, judge.spec, args)
    last = client.submit(wanted, retry=args.again)
    judge.print_line(
        f"the job {last.ident} has its place in {display_path(judge.training_folder)}; it is never asked for twice"
    )
    return _status(judge, tuning, client, last, journal, args)


def _check_budget(files: list[TrainingFileCheck], spec: OpenAIFinetunedSpec, args: argparse.Namespace) -> None:
    """RecipeError unless a budget was given and the job stays below it, whatever the tokens come to."""
    _, most, _, usd = _cost(files, spec)
    where = "command line: finetune submit --yes"
    if args.budget is None and args.budget_tokens is None:
        raise RecipeError([Problem("a job costs money: say how much it may", where=where,
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
        raise DataError(
            f"there is no job of {judge.name!r}",
            where=display_path(judge.training_folder),
            next="benchbuild finetune submit makes one",
        )
    return last


def _status(
    judge: _FinetunedJudge,
    tuning: FineTuning,
    client: JobClient,
    last: JobStatus,
    journal: Path,
    args: argparse.Namespace,
) -> int:
    if not last.ident:
        raise ServiceError(
            "nobody knows whether the service made the job", where=last.endpoint,
            next="give the command with submit again: it looks for the job before it makes one",
        )  # fmt: skip
    last = wait_for_job(client, last, args.every, judge.print_line, time.sleep) if args.wait else client.poll(last)
    judge.print_line(f"job {last.ident}: {last.told}")
    if not last.has_ended:
        event = client.last_event(last)
        raise Waiting(
            "the job is not through", missing={"jobs": 1}, where=last.endpoint, why=event,
            next="benchbuild finetune status with the same arguments looks again; --wait until it is through",
        )  # fmt: skip
    if last.phase != "succeeded":
        raise ServiceError(
            f"the job {last.ident} made no model", where=last.endpoint, why=f"{last.told}",
            next="mend what it says, then submit with --again",
        )  # fmt: skip
    budget = judge.loaded.recipe.budget
    with Gateway(journal, usd=budget.usd, tokens=budget.tokens, notice=judge.print_line) as gateway:
        adopt_finetuned_model(tuning, last, judge.folder, gateway, judge.print_line)
    judge.print_line(f"the judge {judge.name} asks {last.model}: {display_path(judge.folder / judge.name)}")
    after = "`benchbuild judge report` with the same arguments says how far to trust it; `evaluate` has it score"
    judge.print_line(f"next: {after}")
    return 0


def _cancel(judge: _FinetunedJudge, client: JobClient, part: str) -> int:
    last = client.cancel(_last_job(judge, part))
    judge.print_line(f"job {last.ident}: {last.told}; what it did so far may be billed")
    return 0
