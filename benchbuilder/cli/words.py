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

from benchbuilder.authoring.dry_run.estimate_cost import quote
from benchbuilder.authoring.wordlists.accept import write_list
from benchbuilder.authoring.wordlists.count_hits import Hits, look_for
from benchbuilder.authoring.wordlists.lists import list_specs, read_settings, told_apart
from benchbuilder.authoring.wordlists.plan import FOLDER, Making, Searched, plan_words
from benchbuilder.authoring.wordlists.provenance import facts_of, made_terms
from benchbuilder.authoring.wordlists.sheet import (
    Decided,
    decisions,
    find_shown,
    keep_shown,
    read_sheet,
    sheet_bytes,
    shown_rows,
)
from benchbuilder.cli.costs import budget_lines, quote_notes, quote_table, receipt_lines
from benchbuilder.config.load import Loaded, load_recipe
from benchbuilder.config.search_path import shown as shown_path
from benchbuilder.core.display import counted, harmless
from benchbuilder.core.errors import DataError, Problem, RecipeError, ServiceError, TooManyFailures, Waiting
from benchbuilder.core.text.wordlist import load_words
from benchbuilder.pipeline.build import BuildReport, build, open_gateway
from benchbuilder.pipeline.progress import Bars, Lines, Watcher

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
    files, making, words = told_apart(args.overrides)
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
    return _show(loaded, console)


def _say(console: Console, text: str = "") -> None:
    console.print(harmless(text), highlight=False, markup=False, soft_wrap=True)


def _collect(args: argparse.Namespace, loaded: Loaded, given: tuple[list[str], list[str]], console: Console) -> int:
    files, changes = given
    if not files:
        hint = "benchbuild words collect FILE[:COLUMN][@LANGUAGE] ... recipe=NAME"
        raise RecipeError([Problem("no list is named", where="command line", hint=hint)])
    settings = read_settings(loaded, changes, Path(args.settings) if args.settings else None)
    making = plan_words(loaded, list_specs(files, settings, loaded.recipe), settings, Path.cwd())
    assert making is not None, "there are lists"
    if args.quote:
        return _quote(making, console)
    former = _former(args.former)
    report = _built(making, loaded, console)
    if report.waiting:
        _say(console, "; ".join(str(waits) for waits in report.waiting.values()))
        return Waiting.exit_code
    terms = made_terms(making)
    hits = look_for([term.text for term in terms], making.searched, making.plan, making.store, loaded.recipe.seed)
    facts = facts_of(making, loaded.recipe)
    seen = shown_rows(terms, hits, facts, args.least_hits)
    keep_shown(seen, making.store.folder / "sheets")
    sheet = Path(args.output) if args.output else making.store.folder / "sheet.csv"
    _write_sheet(sheet, sheet_bytes(seen, sheet.suffix.lower() == ".xlsx", former))
    for line in (*_account(making, report), *_hits_lines(hits, making.searched)):
        _say(console, line)
    if left_out := seen.facts.get("left_out"):
        _say(console, f"{counted(len(left_out), 'word')} in fewer than {args.least_hits} rows are left out")
    _say(console, f"{counted(len(seen.rows), 'word')} to review in {shown_path(sheet.absolute())}")
    _say(console, "next: write keep or drop into the column keep of every row, and a better word into correction, then")
    _say(console, f"      benchbuild words accept {shlex.join([str(sheet), *loaded.words])} --output words.txt")
    return 0


def _former(path: str | None) -> dict[str, Decided]:
    """What a former sheet says, by word."""
    if path is None:
        return {}
    answers = read_sheet(Path(path))
    return {said.word: said for said in answers.rows.values()}


def _write_sheet(path: Path, data: bytes) -> None:
    """Write a sheet, but not over one in which people decided."""
    if path.exists() and path.read_bytes() != data:
        answers = read_sheet(path)
        if any(said.decision or said.correction or said.comment for said in answers.rows.values()):
            raise DataError(
                f"{path} is there already", where=str(path), why="people have filled it in",
                next=f"name another file with --output; --former {path} takes over what they decided",
            )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _built(making: Making, loaded: Loaded, console: Console) -> BuildReport:
    with contextlib.ExitStack() as stack:
        watcher: Watcher = stack.enter_context(Bars(console)) if console.is_terminal else Lines(console)
        try:
            outputs = bool(making.words)  # without lists, the ledger stays that of the last collection
            report = build(
                making.plan, making.store, loaded.yaml, watcher, words=loaded.words, outputs=outputs, keep=True
            )
        except (ServiceError, TooManyFailures, KeyboardInterrupt):
            with open_gateway(making.plan, making.store, watcher.note) as gateway:
                for line in receipt_lines(() if gateway is None else gateway.receipts()):
                    watcher.note(line)
            raise
    for line in receipt_lines(report.receipts):
        _say(console, line)
    return report


def _quote(making: Making, console: Console) -> int:
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Bars(console)) if console.is_terminal else Lines(console)
        quoted = quote(making.plan, making.store, watcher)
    if quoted is None:
        _say(console, "no model would be asked: nothing to pay")
        return 0
    console.print(quote_table(quoted))
    for line in (*quote_notes(quoted), *budget_lines(quoted, making.plan.recipe.budget)):
        _say(console, line)
    return 0


def _account(making: Making, report: BuildReport) -> Iterator[str]:
    """What became of the words of each list."""
    for name, spec in making.lists.items():
        fates = Counter[str]()
        for step, manifest in report.manifests.items():
            node = making.plan.nodes[step]
            if step != name and node.kind not in ("translate", "tidy_term", "merge_terms"):
                continue
            for partition, fate, reason, count in manifest.counts:
                if partition == name and fate in ("dropped", "failed"):
                    fates[reason or fate] += count
        read = sum(n for _, _, _, n in report.manifests[name].counts)
        told = ", ".join(f"{reason} {count}" for reason, count in fates.most_common())
        language = spec.language or making.plan.recipe.language
        yield f"{name} ({language}): {counted(read, 'unit')} read" + (f"; dropped: {told}" if told else "")
    translated = [one for name, one in report.manifests.items() if making.plan.nodes[name].kind == "translate"]
    if any(reason == "needs_model" for one in translated for _, _, reason, _ in one.counts):
        yield "note: words that no dictionary translates were dropped: give a model, or words.translate.dictionary=FILE"
    yield f"every unit and its fate: {shown_path((making.store.folder / 'ledger.tsv').absolute())}"


def _hits_lines(hits: Hits, searched: Sequence[Searched]) -> Iterator[str]:
    if not searched:
        yield "note: this recipe has no step of kind `topic`: nothing says where its words are looked for"
        return
    none = sum(int(count) == 0 for count in hits.in_all()) if hits.words else 0
    yield (f"{counted(hits.rows, 'row')} searched as the recipe does ({', '.join(one.step for one in searched)}): "
           f"{hits.kept} on topic by these words; {counted(none, 'word')} hit nothing")  # fmt: skip


def _accept(args: argparse.Namespace, loaded: Loaded, files: Sequence[str], console: Console) -> int:
    if len(files) != 1:
        raise RecipeError([Problem("one sheet is taken at a time", where="command line",
                                   hint="benchbuild words accept SHEET recipe=NAME --output words.txt")])  # fmt: skip
    sheet, path = Path(files[0]), Path(args.output or "words.txt")
    answers = read_sheet(sheet)
    seen = find_shown(answers, loaded.recipe.folder(Path.cwd()) / FOLDER / "sheets", sheet)
    decided = decisions(seen, answers, args.undecided, args.by, sheet)
    written = write_list(seen, decided, sheet, path)
    _say(console, f"{counted(written.kept, 'word')} kept ({written.corrected} corrected), {written.dropped} dropped")
    for file in written.files:
        _say(console, shown_path(file.absolute()))
    _say(console, f"next: build with it: benchbuild {shlex.join([*loaded.words, f'{_key_of(loaded)}={path}'])}")
    _say(console, "      (or write that key into the recipe)")
    return 0


def _key_of(loaded: Loaded) -> str:
    """The key that names the word list of the recipe."""
    steps = {name: spec for name, spec in loaded.recipe.steps.items() if spec.kind == "topic"}
    for spec in steps.values():
        for name, path in loaded.recipe.paths.items():
            if path == spec.words.path:
                return f"paths.{name}"
    return f"steps.{next(iter(steps), 'NAME')}.words"


def _show(loaded: Loaded, console: Console) -> int:
    making = plan_words(loaded, {}, None, Path.cwd())
    if making is None or not making.searched:
        raise RecipeError([Problem("this recipe looks for no words", key="steps",
                                   hint="a step of kind `topic` does that")])  # fmt: skip
    by_file: dict[Path, list[Searched]] = {}
    for one in making.searched:
        by_file.setdefault(one.spec.words.file, []).append(one)
    found = {file: load_words(file) for file in by_file}
    _built(making, loaded, console)
    for file, searched in by_file.items():
        hits = look_for(found[file], searched, making.plan, making.store, loaded.recipe.seed)
        _say(console)
        _say(console, f"{shown_path(file)}: {counted(len(hits.words), 'word')}")
        for line in _hits_lines(hits, searched):
            _say(console, line)
        console.print(_table(hits))
        idle = [word for word, count in zip(hits.words, hits.in_all(), strict=True) if not count]
        if idle:
            _say(console, f"hit nothing: {', '.join(idle)}")
    return 0


def _table(hits: Hits) -> Table:
    """The words that bring most rows that no other word brings."""
    table = Table("word", *(f"hits {name}" for name in hits.counts), "alone", "for instance", box=None)
    order = sorted(range(len(hits.words)), key=lambda at: (-int(hits.alone[at]), -int(hits.in_all()[at])))
    for at in order[:_MOST]:
        samples: list[Any] = hits.samples[at]
        if hits.in_all()[at]:
            table.add_row(harmless(hits.words[at]), *(str(int(counts[at])) for counts in hits.counts.values()),
                          str(int(hits.alone[at])), harmless(samples[0].text) if samples else "")  # fmt: skip
    return table
