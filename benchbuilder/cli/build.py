"""``benchbuild recipe=NAME``: build a benchmark."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console

from benchbuilder.annotation import DATABASE_FILE as REVIEW_FILE
from benchbuilder.annotation import AppSpec
from benchbuilder.api import build_opened
from benchbuilder.authoring import UnadaptedText
from benchbuilder.cli.label_quality import labels_line
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.cli.remember import remember_build
from benchbuilder.cli.session import build_progress, open_session, receipts_if_stopped
from benchbuilder.cli.terminal import Terminal, print_line
from benchbuilder.config import Recipe, RecipeRoot, display_path
from benchbuilder.core import DEFAULT_LANGUAGE, STATEMENT_FORM, WaitingForPeople, count_phrase, page_texts, public_path
from benchbuilder.pipeline import BuildReport, Manifest, graph_lines, graph_next, judging_option, without_secrets
from benchbuilder.steps import TopicSpec, keeps_few

_ASKED = frozenset(
    f"fact[{kind}]" for kind in ("triple", "choice", "several_choice", "labelled_claim", "procedure", "question_answer")
)
"""Rows of sources that questions are made of."""
_MUCH_OFF_TOPIC = 0.2
"""A topic filter that drops this proportion of a source or more is mentioned."""
_MANY, _FEWER = 500, 50
"""From this many missing judgements on, the report says how to ask about so few rows."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Build; exit code 0 when done, 75 when people's judgements are missing."""
    session = open_session(args, console)
    for warning in session.warnings:
        print_line(console, f"warning: {warning}")
    with build_progress(console) as watcher, receipts_if_stopped(session.plan, session.store, watcher):
        result = build_opened(session, args.overrides, watcher, frozenset(args.refresh or ()))
    exit_code = print_report(result.report, console, result.recipe, session.loaded.roots, args.overrides)
    if not exit_code:
        result.require_open_gate()
        if args.command is not None and isinstance(console, Terminal) and not args.refresh and not args.verify:
            remember_build(args.command, session, result, "".join(console.lines))
    return exit_code


def print_report(
    report: BuildReport, console: Console, recipe: Recipe, roots: Sequence[RecipeRoot], overrides: Sequence[str] = ()
) -> int:
    """Print what the build with these `overrides` made and what to do next; the exit code."""
    say = partial(print_line, console)
    say()
    for note in report.notes:
        say(f"note: {note}")
    if report.waiting:
        say(f"\nin {display_path(report.folder)}:")
    elif (count_text := _item_counts(report, recipe)) is not None:
        say(f"{count_text} in {display_path(report.folder)}:")
    if closed := _closed_tasks(report):
        say(f"not ready: the audit closes the gate of {', '.join(closed)}: something in the texts gives answers away")
    for file in report.written_files:
        say(f"  {display_path(file)}")
    if report.removed_files:
        say(f"\nremoved outdated outputs: {', '.join(display_path(file) for file in report.removed_files)}")
        say("the command that wrote them brings them back; run.dir=FOLDER builds into another folder")
    for remark in _remarks(report, recipe, roots):
        say(f"\n{remark}")
    has_items = not report.waiting and all(report.manifests[part.items].rows for part in recipe.by_task().values())
    for line in _waiting_lines(report, recipe):
        say(line)
    if not report.waiting and (line := _next_line(report, overrides, closed, is_empty=not has_items)):
        say(line)
    return 75 if report.waiting else 0 if has_items else 3


def _waiting_lines(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """What people are asked, where, and what to do next."""
    if any(isinstance(waiting, WaitingForPeople) for waiting in report.waiting.values()):
        yield "\nvotes are bound to the words that people see: mend sentences before they vote"
    for step, waiting in report.waiting.items():
        inputs = () if (spec := recipe.steps.get(step)) is None else spec.from_.get("each", ())
        asked = sum(report.manifests[name].rows for name in inputs if name in report.manifests)
        if getattr(spec, "sample", 0) is None and sum(waiting.missing.values()) > _MANY and asked > _FEWER:
            fewer = f"steps.{step}.sample={_FEWER} asks about {_FEWER} rows, drawn at random, and drops the others"
            yield f"\nif what people are asked is too much: {fewer}"
        yield f"\n{waiting}"


def _next_line(report: BuildReport, overrides: Sequence[str], closed: Sequence[str], *, is_empty: bool) -> str:
    """What to do next: one thing."""
    if is_empty and (line := graph_next(report.manifests)):
        return line
    if closed:
        return f"next: benchbuild audit {shlex.join(without_secrets(overrides))}   says which, and what may help"
    pages = [file for file in report.written_files if file.suffix == ".html"]
    return f"next: open {display_path(pages[0])} in a browser" if pages else ""


def _closed_tasks(report: BuildReport) -> list[str]:
    """The tasks of which the audit closes the gate; none while people are asked."""
    return [task or "the benchmark" for task, audit in report.audits.items() if audit.closed and not report.waiting]


def form_counts(manifest: Manifest) -> str:
    """How many candidates each form has; empty if all are statements, or for another step."""
    forms: Mapping[str, int] = manifest.notes.get("forms") or {}
    if all(name.endswith(f" {STATEMENT_FORM}") for name in forms):
        return ""
    return ", ".join(f"{name} {count}" for name, count in forms.items())


def _item_counts(report: BuildReport, recipe: Recipe) -> str | None:
    """How many items there are, in total and by task; None if there are none yet."""
    rows = {task: report.manifests[part.items].rows for task, part in recipe.by_task().items()
            if part.items in report.manifests}  # fmt: skip
    if not rows:
        return None
    task_counts = ", ".join(f"{task} {count}" for task, count in rows.items() if task)
    return f"{sum(rows.values())} items" + (f" ({task_counts})" if task_counts else "")


def _remarks(report: BuildReport, recipe: Recipe, roots: Sequence[RecipeRoot]) -> Iterator[str]:
    """What a user may want to know besides the counts."""
    for name, manifest in report.manifests.items():
        if counts := form_counts(manifest):
            yield f"{name} by form: {counts}"
    if report.receipts:
        yield "\n".join(receipt_lines(report.receipts))
    yield from _emptiness_notes(report, recipe)
    yield from _topic_notes(report, recipe, roots)
    yield from graph_lines(report.manifests)
    yield from _unread_notes(report, recipe)
    if line := labels_line({name: manifest.notes for name, manifest in report.manifests.items()}, recipe):
        yield line
    for task, audit in report.audits.items():
        if audit.checks:
            yield f"{audit.summary()}{f' ({task})' if task else ''}"
    if (report.folder / "annotation" / REVIEW_FILE).exists() and not isinstance(recipe.annotation, AppSpec):
        app = judging_option(roots, recipe, "app")
        rule = page_texts(DEFAULT_LANGUAGE)("common.votes_rule")
        yield f"{rule} This one reads none of them: annotation={app} does."
    if recipe.card.illustrative:
        tasks = [task for task, part in recipe.by_task().items() if task and part.card.illustrative]
        of = f" of {', '.join(tasks)}" if len(tasks) < len(recipe.tasks) else ""
        yield f"The sources{of} are bundled samples: illustrative, not checked by experts."


def _unread_notes(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """How many sentences of documents no rule could read, and the command that quotes what a model would cost."""
    for name, spec in recipe.steps.items():
        if spec.kind != "find_claims" or (manifest := report.manifests.get(name)) is None:
            continue
        every = sum(count for *_, count in manifest.counts)
        unread = sum(count for _, _, reason, count in manifest.counts if reason == "no_rule")
        lines = [
            f"{name}: of {every} sentences and cells, {manifest.rows} are claims that rules can read; "
            f"{every - manifest.rows - unread} fail a check; no rule reads {unread}"
        ]
        changed = [report.manifests.get(one) for one, other in recipe.steps.items() if other.kind == "false_claims"]
        counts = [count for one in changed if one for *_, reason, count in one.counts if reason == "needs_model"]
        if counts:
            lines.append(f"no rule makes a false claim of {count_phrase(sum(counts), 'claim')} (needs_model)")
        if any(reason == "needs_model" for made in report.manifests.values() for _, _, reason, _ in made.counts):
            quote = f"benchbuild plan recipe={recipe.name} model=openai model.name=gpt-4o-mini"
            lines.append(f"a model would read claims of every paragraph besides, at a cost that this quotes: {quote}")
        yield "\n".join(lines)


def _topic_notes(report: BuildReport, recipe: Recipe, roots: Sequence[RecipeRoot]) -> Iterator[str]:
    """Which topic filters lose a good part of a source, by which words, and the setting that keeps all of it."""
    for name, spec in recipe.steps.items():
        manifest = report.manifests.get(name)
        if manifest is None or not isinstance(spec, TopicSpec) or spec.words is None:
            continue
        for source in dict.fromkeys(partition for partition, *_ in manifest.counts):
            rows = sum(n for partition, _, _, n in manifest.counts if partition == source)
            kept = sum(n for partition, outcome, _, n in manifest.counts if (partition, outcome) == (source, "kept"))
            if rows - kept < _MUCH_OFF_TOPIC * rows:
                continue
            words = {word: n for sort, partition, word, n in manifest.tallies if (sort, partition) == ("words", source)}
            most = sorted((word for word, n in words.items() if n), key=lambda word: -words[word])[:5]
            named = ", ".join(f"{word} ({words[word]})" for word in most) or "none"
            silent = sum(not n for n in words.values())
            origin = UnadaptedText(recipe.name, roots).origin_of_list(spec.words.file)
            copied = f", a list copied from {origin} and not changed" if origin else ""
            yield (
                f"{'warning' if origin or keeps_few(kept, rows) else 'note'}: {rows - kept} of {rows} rows of {source} "
                f"are off topic by {public_path(spec.words.path)}{copied}. Words that match most: {named}; {silent} of "
                f"{count_phrase(len(words), 'word')} match nothing. steps.{name}.words=null keeps every row"
            )


def _emptiness_notes(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """Which sources gave no row, and which tasks have no items."""
    for name in recipe.sources:
        manifest = report.manifests.get(name)
        if manifest is not None and not manifest.rows:
            why = ", ".join(f"{reason} {n}" for _, outcome, reason, n in manifest.units if outcome == "dropped")
            say = f"no row of source {name!r} could be used" + (f" ({why})" if why else ": its files hold none")
            yield f"{say}; the ledger names file and line, and sources.{name} says how to read them"
    yield from sources_without_items(report, recipe)
    for task, part in recipe.by_task().items():
        if part.items not in report.manifests:
            continue
        if not report.manifests[part.items].rows:
            of = f" of the task {task}" if task else ""
            why = "`benchbuild why FILE:LINE` with the same arguments says what became of a line"
            yield f"there are no items{of}: {why}"


def sources_without_items(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """Which sources of facts gave rows and no item of any task.

    Nothing, if items are not parted by source: then nothing tells which one they are of.
    """
    steps = {part.items for part in recipe.by_task().values()} & report.manifests.keys()
    counts = [line for step in steps for line in report.manifests[step].counts]
    with_items = {partition for partition, outcome, _, n in counts if outcome == "kept" and n}
    if not steps or not with_items <= set(recipe.sources):
        return
    for name in recipe.sources:
        manifest = report.manifests.get(name)
        if manifest is None or not manifest.rows or name in with_items or manifest.row not in _ASKED:
            continue
        why = Counter[str]()
        for step, lost in report.manifests.items():
            for partition, outcome, reason, n in lost.counts:
                if (partition, outcome) == (name, "dropped"):
                    why[f"{step} {reason}"] += n
        named = ", ".join(f"{reason} {n:,}" for reason, n in why.most_common(3))
        of = f"no item came of the {manifest.rows:,} rows of source {name!r}"
        yield f"warning: {of}" + (f": {named}" if named else "")
