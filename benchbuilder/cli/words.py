"""``benchbuild word-list``: make a word list from other lists, have it reviewed, and see how many rows it matches."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import (
    WORD_LIST_FOLDER,
    MatchCounts,
    TopicStep,
    WordDecision,
    WordListPlan,
    count_matches,
    decisions_by_word,
    find_sheet_content,
    list_provenance,
    plan_word_list,
    planned_terms,
    quote_plan,
    read_word_list_settings,
    read_word_sheet,
    render_word_sheet,
    save_sheet_content,
    sheet_content,
    split_arguments,
    word_list_sources,
    write_word_list,
)
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.cli.session import build_progress, receipts_if_stopped
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path, load_recipe
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    Waiting,
    count_phrase,
    load_words,
    printable_text,
    read_given_file,
    write_atomically,
)
from benchbuilder.pipeline import BuildReport, build_benchmark

_MOST = 20
"""Up to this many words of a list are shown."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the action; the exit code."""
    files, settings, overrides = split_arguments(args.overrides)
    loaded = load_recipe(overrides, recipes=args.recipes)
    if args.action == "collect":
        return _collect(args, loaded, (files, settings), console)
    if settings:
        raise RecipeError([Problem("this setting is about making a list", where=f"command line: {settings[0]}",
                                   hint="give it to benchbuild word-list collect")])  # fmt: skip
    if args.action == "accept":
        return _accept(args, loaded, files, console)
    if files:
        raise RecipeError([Problem("words show takes no file: it shows the list of the recipe",
                                   where=f"command line: {files[0]}",
                                   hint="set the key of its word list, paths.words=FILE")])  # fmt: skip
    return _print_matches(loaded, console)


def _collect(
    args: argparse.Namespace, loaded: LoadedRecipe, arguments: tuple[list[str], list[str]], console: Console
) -> int:
    files, changes = arguments
    if not files:
        hint = "benchbuild word-list collect FILE[:COLUMN][@LANGUAGE] ... recipe=NAME"
        raise RecipeError([Problem("no list is named", where="command line", hint=hint)])
    settings = read_word_list_settings(loaded, changes, Path(args.settings) if args.settings else None)
    plan = plan_word_list(loaded, word_list_sources(files, settings, loaded.recipe), settings, Path.cwd())
    assert plan is not None, "there are lists"
    if args.quote:
        with build_progress(console) as watcher:
            quote = quote_plan(plan.plan, plan.store, watcher)
        print_quote(console, quote, plan.plan.recipe.budget)
        return 0
    earlier = _earlier_decisions(args.former)
    report = _build_word_list(plan, loaded, console)
    if report.waiting:
        print_line(console, "; ".join(str(waiting) for waiting in report.waiting.values()))
        return Waiting.exit_code
    say, terms = partial(print_line, console), planned_terms(plan)
    matches = count_matches([term.text for term in terms], plan.topic_steps, plan.plan, plan.store, loaded.recipe.seed)
    facts = list_provenance(plan, loaded.recipe)
    content = sheet_content(terms, matches, facts, args.least_hits)
    save_sheet_content(content, plan.store.folder / "sheets")
    sheet = Path(args.output) if args.output else plan.store.folder / "sheet.csv"
    _write_sheet(sheet, render_word_sheet(content, sheet.suffix.lower() == ".xlsx", earlier))
    for line in (*_list_account_lines(plan, report), *_match_lines(matches, plan.topic_steps)):
        say(line)
    if left_out := content.facts.get("left_out"):
        say(f"{count_phrase(len(left_out), 'word')} in fewer than {args.least_hits} rows are left out")
    say(f"{count_phrase(len(content.rows), 'word')} to review in {display_path(sheet.absolute())}")
    say("next: write keep or drop into the column keep of every row, and a better word into correction, then")
    say(f"      benchbuild word-list accept {shlex.join([str(sheet), *loaded.overrides])} --output words.txt")
    return 0


def _earlier_decisions(path: str | None) -> dict[str, WordDecision]:
    """The decisions of an earlier sheet, by word."""
    if path is None:
        return {}
    answers = read_word_sheet(Path(path))
    return {decision.word: decision for decision in answers.rows.values()}


def _write_sheet(path: Path, data: bytes) -> None:
    """Write a sheet, but never over one with decisions."""
    if path.exists() and read_given_file(path) != data:
        answers = read_word_sheet(path)
        if any(row.decision or row.correction or row.comment for row in answers.rows.values()):
            raise DataError(
                f"{path} exists already", where=str(path), why="people have filled it in",
                next=f"name another file with --output; --former {path} takes over their decisions",
            )  # fmt: skip
    write_atomically(path, data)


def _build_word_list(plan: WordListPlan, loaded: LoadedRecipe, console: Console) -> BuildReport:
    with build_progress(console) as watcher, receipts_if_stopped(plan.plan, plan.store, watcher):
        write_outputs = bool(plan.words_node)  # without lists, the ledger stays that of the last collection
        report = build_benchmark(
            plan.plan, plan.store, loaded.yaml, watcher, overrides=loaded.overrides, write_outputs=write_outputs,
            keep_outputs=True,
        )  # fmt: skip
    for line in receipt_lines(report.receipts):
        print_line(console, line)
    return report


def _list_account_lines(plan: WordListPlan, report: BuildReport) -> Iterator[str]:
    """How many words of each list were read and dropped, and why."""
    for name, spec in plan.lists.items():
        outcomes = Counter[str]()
        for step, manifest in report.manifests.items():
            if step != name and manifest.kind not in ("translate", "normalise_term", "merge_terms"):
                continue
            for partition, outcome, reason, count in manifest.counts:
                if partition == name and outcome in ("dropped", "failed"):
                    outcomes[reason or outcome] += count
        read = sum(n for _, _, _, n in report.manifests[name].counts)
        reasons = ", ".join(f"{reason} {count}" for reason, count in outcomes.most_common())
        language = spec.language or plan.plan.recipe.language
        yield f"{name} ({language}): {count_phrase(read, 'unit')} read" + (f"; dropped: {reasons}" if reasons else "")
    translations = [manifest for manifest in report.manifests.values() if manifest.kind == "translate"]
    if any(reason == "needs_model" for manifest in translations for _, _, reason, _ in manifest.counts):
        yield "note: words that no dictionary translates were dropped: give a model, or words.translate.dictionary=FILE"
    yield f"every unit and its outcome: {display_path((plan.store.folder / 'ledger.tsv').absolute())}"


def _match_lines(match_counts: MatchCounts, topic_steps: Sequence[TopicStep]) -> Iterator[str]:
    if not topic_steps:
        yield "note: this recipe has no step of kind `topic`: no rows to look for words in"
        return
    unmatched = sum(int(count) == 0 for count in match_counts.totals()) if match_counts.words else 0
    steps = ", ".join(topic.step for topic in topic_steps)
    yield (
        f"{count_phrase(match_counts.rows, 'row')} searched as the recipe does ({steps}): "
        f"{match_counts.rows_on_topic} on topic by these words; {count_phrase(unmatched, 'word')} match nothing"
    )


def _accept(args: argparse.Namespace, loaded: LoadedRecipe, files: Sequence[str], console: Console) -> int:
    if len(files) != 1:
        hint = "benchbuild word-list accept SHEET recipe=NAME --output words.txt"
        raise RecipeError([Problem("accept takes one sheet at a time", where="command line", hint=hint)])
    sheet, path = Path(files[0]), Path(args.output or "words.txt")
    answers = read_word_sheet(sheet)
    content = find_sheet_content(answers, loaded.recipe.build_folder(Path.cwd()) / WORD_LIST_FOLDER / "sheets", sheet)
    decided = decisions_by_word(content, answers, args.undecided, args.by, sheet)
    written, say = write_word_list(content, decided, sheet, path), partial(print_line, console)
    kept = f"{count_phrase(written.kept_count, 'word')} kept ({written.corrected_count} corrected)"
    say(f"{kept}, {written.dropped_count} dropped")
    for file in written.files:
        say(display_path(file.absolute()))
    overrides = shlex.join([*loaded.overrides, f"{_word_list_key(loaded)}={path}"])
    say(f"next: build with it: benchbuild {overrides}")
    say("      (or write that key into the recipe)")
    return 0


def _word_list_key(loaded: LoadedRecipe) -> str:
    """The key that names the word list of the recipe."""
    steps = {name: spec for name, spec in loaded.recipe.steps.items() if spec.kind == "topic"}
    for spec in steps.values():
        for name, path in loaded.recipe.paths.items():
            if spec.words is not None and path == spec.words.path:
                return f"paths.{name}"
    return f"steps.{next(iter(steps), 'NAME')}.words"


def _print_matches(loaded: LoadedRecipe, console: Console) -> int:
    plan = plan_word_list(loaded, {}, None, Path.cwd())
    if plan is None or not plan.topic_steps:
        raise RecipeError([Problem("this recipe has no word list", key="steps", hint="a step of kind `topic` has one")])
    by_file: dict[Path, list[TopicStep]] = {}
    for topic in plan.topic_steps:
        if topic.spec.words is not None:
            by_file.setdefault(topic.spec.words.file, []).append(topic)
    words = {file: load_words(file) for file in by_file}
    _build_word_list(plan, loaded, console)
    for file, topics in by_file.items():
        matches = count_matches(words[file], topics, plan.plan, plan.store, loaded.recipe.seed)
        print_line(console)
        print_line(console, f"{display_path(file)}: {count_phrase(len(matches.words), 'word')}")
        for line in _match_lines(matches, topics):
            print_line(console, line)
        console.print(_match_table(matches))
        unmatched = [word for word, count in zip(matches.words, matches.totals(), strict=True) if not count]
        if unmatched:
            print_line(console, f"match nothing: {', '.join(unmatched)}")
    return 0


def _match_table(match_counts: MatchCounts) -> Table:
    """The words whose rows no other word matches, most such rows first."""
    table = Table("word", *(f"matches {name}" for name in match_counts.counts), "alone", "for instance", box=None)
    alone_counts, totals = match_counts.only_match_counts.tolist(), match_counts.totals().tolist()
    order = sorted(range(len(match_counts.words)), key=lambda index: (-alone_counts[index], -totals[index]))
    for index in order[:_MOST]:
        samples = match_counts.samples[index]
        if totals[index]:
            counts = [str(int(by_word[index])) for by_word in match_counts.counts.values()]
            sample = printable_text(samples[0].text) if samples else ""
            table.add_row(printable_text(match_counts.words[index]), *counts, str(alone_counts[index]), sample)
    return table
