"""``benchbuild words``: make a word list of other lists, have it reviewed, and see what it hits."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
from benchbuilder.cli.costs import budget_lines, quote_notes, quote_table, receipt_lines
from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.config import display_path as shown_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    ServiceError,
    TooManyFailures,
    Waiting,
    count_phrase,
    load_words,
    printable_text,
)
from benchbuilder.pipeline import BarProgress, BuildReport, LineProgress, Watcher, build_benchmark, open_gateway

_MOST = 20
"""Words that are shown of a list."""


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("collect", "accept", "show"), help="make a list and the sheet to review "
                        "it; take the reviewed sheet back; or show what the recipe's list hits")  # fmt: skip
    parser.add_argument("overrides", nargs="*", metavar="LIST|SHEET|key=value",
                        help="collect: lists, FILE, FILE:COLUMN, FILE@LANGUAGE or FILE:COLUMN@LANGUAGE; accept: the "
                        "sheet; recipe=NAME and any override; words.KEY=VALUE for how a list is made")  # fmt: skip
    parser.add_argument("--output", metavar="FILE", help="the sheet (.csv, .xlsx), or the word list")
    parser.add_argument("--settings", metavar="FILE", help="collect: how the list is made, instead of the settings "
                        "for the recipe's language")  # fmt: skip
    parser.add_argument("--least-hits", type=int, default=0, metavar="N", help="collect: show no words that hit fewer "
                        "rows; they are named in the provenance")  # fmt: skip
    parser.add_argument("--former", metavar="SHEET", help="collect: take over what this sheet says of the same words")
    parser.add_argument("--quote", action="store_true", help="collect: ask no model, say what that may cost")
    parser.add_argument("--undecided", choices=("keep", "drop"), help="accept: what becomes of undecided words")
    parser.add_argument("--by", default="", metavar="NAME", help="accept: who decided, where the sheet does not say it")


def run(args: argparse.Namespace, console: Console) -> int:
    """Do what is asked; exit code 0 when it is done."""
    files, making, words = split_arguments(args.overrides)
    loaded = load_recipe(words, recipes=args.recipes)
    if args.action == "collect":
        return _collect(args, loaded, (files, making), console)
    if making:
        raise RecipeError([Problem("this is about making a list", where=f"command line: {making[0]}",
                                   hint="say it to benchbuild words collect")])  # fmt: skip
    if args.action == "accept":
        return _accept(args, loaded, files, console)
    if files:
        raise RecipeError([Problem("what is shown is the list of the recipe", where=f"command line: {files[0]}",
                                   hint="set the key of its word list, paths.words=FILE")])  # fmt: skip
    return _print_matches(loaded, console)


def _say(console: Console, text: str = "") -> None:
    console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)


def _collect(
    args: argparse.Namespace, loaded: LoadedRecipe, arguments: tuple[list[str], list[str]], console: Console
) -> int:
    files, changes = arguments
    if not files:
        hint = "benchbuild words collect FILE[:COLUMN][@LANGUAGE] ... recipe=NAME"
        raise RecipeError([Problem("no list is named", where="command line", hint=hint)])
    settings = read_word_list_settings(loaded, changes, Path(args.settings) if args.settings else None)
    making = plan_word_list(loaded, word_list_sources(files, settings, loaded.recipe), settings, Path.cwd())
    assert making is not None, "there are lists"
    if args.quote:
        return _print_quote(making, console)
    former = _earlier_decisions(args.former)
    report = _build_word_list(making, loaded, console)
    if report.waiting:
        _say(console, "; ".join(str(waits) for waits in report.waiting.values()))
        return Waiting.exit_code
    terms = planned_terms(making)
    hits = count_matches(
        [term.text for term in terms], making.topic_steps, making.plan, making.store, loaded.recipe.seed
    )
    facts = list_provenance(making, loaded.recipe)
    seen = sheet_content(terms, hits, facts, args.least_hits)
    save_sheet_content(seen, making.store.folder / "sheets")
    sheet = Path(args.output) if args.output else making.store.folder / "sheet.csv"
    _write_sheet(sheet, render_word_sheet(seen, sheet.suffix.lower() == ".xlsx", former))
    for line in (*_list_account_lines(making, report), *_match_lines(hits, making.topic_steps)):
        _say(console, line)
    if left_out := seen.facts.get("left_out"):
        _say(console, f"{count_phrase(len(left_out), 'word')} in fewer than {args.least_hits} rows are left out")
    _say(console, f"{count_phrase(len(seen.rows), 'word')} to review in {shown_path(sheet.absolute())}")
    _say(console, "next: write keep or drop into the column keep of every row, and a better word into correction, then")
    _say(console, f"      benchbuild words accept {shlex.join([str(sheet), *loaded.overrides])} --output words.txt")
    return 0


def _earlier_decisions(path: str | None) -> dict[str, WordDecision]:
    """What a former sheet says, by word."""
    if path is None:
        return {}
    answers = read_word_sheet(Path(path))
    return {said.word: said for said in answers.rows.values()}


def _write_sheet(path: Path, data: bytes) -> None:
    """Write a sheet, but not over one in which people decided."""
    if path.exists() and path.read_bytes() != data:
        answers = read_word_sheet(path)
        if any(said.decision or said.correction or said.comment for said in answers.rows.values()):
            raise DataError(
                f"{path} is there already", where=str(path), why="people have filled it in",
                next=f"name another file with --output; --former {path} takes over what they decided",
            )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _build_word_list(plan: WordListPlan, loaded: LoadedRecipe, console: Console) -> BuildReport:
    with contextlib.ExitStack() as stack:
        watcher: Watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        try:
            outputs = bool(plan.words_node)  # without lists, the ledger stays that of the last collection
            report = build_benchmark(
                plan.plan,
                plan.store,
                loaded.yaml,
                watcher,
                overrides=loaded.overrides,
                write_outputs=outputs,
                keep_outputs=True,
            )
        except (ServiceError, TooManyFailures, KeyboardInterrupt):
            with open_gateway(plan.plan, plan.store, watcher.note) as gateway:
                for line in receipt_lines(() if gateway is None else gateway.receipts()):
                    watcher.note(line)
            raise
    for line in receipt_lines(report.receipts):
        _say(console, line)
    return report


def _print_quote(plan: WordListPlan, console: Console) -> int:
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        quoted = quote_plan(plan.plan, plan.store, watcher)
    if quoted is None:
        _say(console, "no model would be asked: nothing to pay")
        return 0
    console.print(quote_table(quoted))
    for line in (*quote_notes(quoted), *budget_lines(quoted, plan.plan.recipe.budget)):
        _say(console, line)
    return 0


def _list_account_lines(plan: WordListPlan, report: BuildReport) -> Iterator[str]:
    """What became of the words of each list."""
    for name, spec in plan.lists.items():
        outcomes = Counter[str]()
        for step, manifest in report.manifests.items():
            node = plan.plan.nodes[step]
            if step != name and node.kind not in ("translate", "tidy_term", "merge_terms"):
                continue
            for partition, outcome, reason, count in manifest.counts:
                if partition == name and outcome in ("dropped", "failed"):
                    outcomes[reason or outcome] += count
        read = sum(n for _, _, _, n in report.manifests[name].counts)
        told = ", ".join(f"{reason} {count}" for reason, count in outcomes.most_common())
        language = spec.language or plan.plan.recipe.language
        yield f"{name} ({language}): {count_phrase(read, 'unit')} read" + (f"; dropped: {told}" if told else "")
    translated = [one for name, one in report.manifests.items() if plan.plan.nodes[name].kind == "translate"]
    if any(reason == "needs_model" for one in translated for _, _, reason, _ in one.counts):
        yield "note: words that no dictionary translates were dropped: give a model, or words.translate.dictionary=FILE"
    yield f"every unit and its outcome: {shown_path((plan.store.folder / 'ledger.tsv').absolute())}"


def _match_lines(match_counts: MatchCounts, topic_steps: Sequence[TopicStep]) -> Iterator[str]:
    if not topic_steps:
        yield "note: this recipe has no step of kind `topic`: nothing says where its words are looked for"
        return
    none = sum(int(count) == 0 for count in match_counts.totals()) if match_counts.words else 0
    yield (f"{count_phrase(match_counts.rows, 'row')} searched as the recipe does ({', '.join(one.step for one in topic_steps)}): "
           f"{match_counts.rows_on_topic} on topic by these words; {count_phrase(none, 'word')} hit nothing")  # fmt: skip


def _accept(args: argparse.Namespace, loaded: LoadedRecipe, files: Sequence[str], console: Console) -> int:
    if len(files) != 1:
        raise RecipeError([Problem("one sheet is taken at a time", where="command line",
                                   hint="benchbuild words accept SHEET recipe=NAME --output words.txt")])  # fmt: skip
    sheet, path = Path(files[0]), Path(args.output or "words.txt")
    answers = read_word_sheet(sheet)
    seen = find_sheet_content(answers, loaded.recipe.build_folder(Path.cwd()) / WORD_LIST_FOLDER / "sheets", sheet)
    decided = decisions_by_word(seen, answers, args.undecided, args.by, sheet)
    written = write_word_list(seen, decided, sheet, path)
    _say(
        console,
        f"{count_phrase(written.kept_count, 'word')} kept ({written.corrected_count} corrected), {written.dropped_count} dropped",
    )
    for file in written.files:
        _say(console, shown_path(file.absolute()))
    _say(
        console,
        f"next: build with it: benchbuild {shlex.join([*loaded.overrides, f'{_word_list_key(loaded)}={path}'])}",
    )
    _say(console, "      (or write that key into the recipe)")
    return 0


def _word_list_key(loaded: LoadedRecipe) -> str:
    """The key that names the word list of the recipe."""
    steps = {name: spec for name, spec in loaded.recipe.steps.items() if spec.kind == "topic"}
    for spec in steps.values():
        for name, path in loaded.recipe.paths.items():
            if path == spec.words.path:
                return f"paths.{name}"
    return f"steps.{next(iter(steps), 'NAME')}.words"


def _print_matches(loaded: LoadedRecipe, console: Console) -> int:
    making = plan_word_list(loaded, {}, None, Path.cwd())
    if making is None or not making.topic_steps:
        raise RecipeError([Problem("this recipe looks for no words", key="steps",
                                   hint="a step of kind `topic` does that")])  # fmt: skip
    by_file: dict[Path, list[TopicStep]] = {}
    for one in making.topic_steps:
        by_file.setdefault(one.spec.words.file, []).append(one)
    found = {file: load_words(file) for file in by_file}
    _build_word_list(making, loaded, console)
    for file, searched in by_file.items():
        hits = count_matches(found[file], searched, making.plan, making.store, loaded.recipe.seed)
        _say(console)
        _say(console, f"{shown_path(file)}: {count_phrase(len(hits.words), 'word')}")
        for line in _match_lines(hits, searched):
            _say(console, line)
        console.print(_match_table(hits))
        idle = [word for word, count in zip(hits.words, hits.totals(), strict=True) if not count]
        if idle:
            _say(console, f"hit nothing: {', '.join(idle)}")
    return 0


def _match_table(match_counts: MatchCounts) -> Table:
    """The words that bring most rows that no other word brings."""
    table = Table("word", *(f"hits {name}" for name in match_counts.counts), "alone", "for instance", box=None)
    order = sorted(
        range(len(match_counts.words)),
        key=lambda at: (-int(match_counts.only_match_counts[at]), -int(match_counts.totals()[at])),
    )
    for at in order[:_MOST]:
        samples: list[Any] = match_counts.samples[at]
        if match_counts.totals()[at]:
            table.add_row(printable_text(match_counts.words[at]), *(str(int(counts[at])) for counts in match_counts.counts.values()),
                          str(int(match_counts.only_match_counts[at])), printable_text(samples[0].text) if samples else "")  # fmt: skip
    return table
