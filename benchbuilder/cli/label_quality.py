"""What ``benchbuild votes quality`` and the build print about labels: floors, the recheck, the model of voters."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.annotation import DATABASE_FILE, AppSpec, csv_bytes, escape_formula, row_decisions
from benchbuilder.cli.session import Session, open_session
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import Recipe, ReviewProjectSpec, display_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    count_phrase,
    floor_lead,
    floor_reason,
    floor_word,
    page_texts,
    write_atomically,
)
from benchbuilder.exporters import (
    AnnotationSummary,
    CheckedPart,
    RecheckResult,
    holds_sample_votes,
    summaries_of_notes,
    voter_model_lines,
)
from benchbuilder.pipeline import committed_manifests, recheck_result, recheck_sample, write_recheck

SECOND_LOOK = "second_look.csv"
Notes = Mapping[str, Mapping[str, Any]]


def labels_line(notes_by_step: Notes, recipe: Recipe) -> str:
    """How many guiding questions reach the floor of agreement; empty if nobody was asked or there is no floor."""
    if not any("agreement" in notes for notes in notes_by_step.values()):
        return ""
    plain = _plain_settings(recipe)
    judged = list(summaries_of_notes(notes_by_step, plain).values())
    held = [row for one in judged for row in one.agreement if row.decides and row.standing]
    if not held:
        return ""
    weak, unknown = (sum(len(one.questions(word)) for one in judged) for word in ("weak", "unknown"))
    reached = len(held) - weak - unknown
    counts = [f"{n} {word}" for n, word in ((weak, "weak"), (unknown, "with too few judgements to tell")) if n]
    more = f" ({', '.join(counts)}); `benchbuild votes quality`, with the same arguments, says more" if counts else ""
    more += "; the votes are illustrative" if holds_sample_votes(plain) else ""
    return f"labels: {reached} of {count_phrase(len(held), 'guiding question')} reach the floor of agreement{more}"


def _plain_settings(recipe: Recipe) -> dict[str, Any]:
    parts = {"annotation", "card", "steps"}
    return recipe.model_dump(mode="json", by_alias=True, include=parts, serialize_as_any=True)


def print_quality(names: Sequence[str], args: argparse.Namespace, console: Console) -> int:
    """Print how good the labels of a build are, and keep the result of the recheck for report and card."""
    if names:
        raise RecipeError([Problem(f"quality takes no name: {names[0]}", where="command line: votes quality",
                                   hint="benchbuild votes quality recipe=NAME")])  # fmt: skip
    session = open_session(args, console)
    recipe = session.plan.recipe
    manifests = committed_manifests(session.plan, session.store)
    missing = [part.items for part in recipe.by_task().values() if part.items not in manifests]
    if missing:
        raise DataError(
            f"{display_path(session.store.folder)} has no {missing[0]} of this recipe",
            why="it is not built, it was built with other settings, or it waits for people",
            next="build the benchmark first: the same command without `votes quality`",
        )
    plain = _plain_settings(recipe)
    notes = {name: manifest.notes for name, manifest in manifests.items()}
    judged = summaries_of_notes(notes, plain)
    if holds_sample_votes(plain):
        print_line(console, "The votes came with the sample: they show the form, and nobody gave them.")
    if not judged:
        print_line(console, "The recipe asks no people, so there is no agreement.")
    for step, summary in judged.items():
        _print_floors(step, summary, console)
        for line in voter_model_lines(summary, page_texts("en")):
            print_line(console, line)
    _write_second_look(session, judged, console)
    for name, spec in recipe.reviews.items():
        if spec.rows.recheck:
            _print_recheck(session, name, spec, console)
    return 0


def _print_floors(step: str, summary: AnnotationSummary, console: Console) -> None:
    t = page_texts("en")
    print_line(console, f"\n{step}")
    table = Table("question", "judged", "agree", "alpha", "floor", box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in summary.agreement:
        standing = row.standing
        second = "ac1" if standing is not None and standing.one_sided else "alpha"
        label = "AC1 " if second == "ac1" else ""
        word = "–" if standing is None else floor_word(t, standing)
        reason = "" if standing is None else floor_reason(t, standing)
        name = row.name if row.decides else f"{row.name} (no filter)"
        table.add_row(name, f"{row.count:,}", _interval(row.measures["percent"]),
                      label + _interval(row.measures[second]), f"{word}: {reason}" if reason else word)  # fmt: skip
    console.print(table)
    if summary.has_floor:
        print_line(console, floor_lead(t, summary.floor.get("alpha"), summary.floor.get("raw")))


def _interval(measure: Any) -> str:
    if measure.value is None:
        return "undefined"
    bounds = "" if measure.low is None else f" [{measure.low:.2f}, {measure.high:.2f}]"
    return f"{measure.value:.2f}{bounds}"


def _write_second_look(session: Session, judged: Mapping[str, AnnotationSummary], console: Console) -> None:
    """Write what the model of voters would decide otherwise, for an adjudicator to look at."""
    rows = [
        (step, question, f"{one['decision']:g}", f"{one['likely']:g}", f"{one['probability']:.3f}",
         "yes" if one["adjudicated"] else "no", one["shown"], one["text"])
        for step, summary in judged.items() for question, model in summary.voter_model.items()
        for one in model.get("differs", ())
    ]  # fmt: skip
    path = session.store.workplace / SECOND_LOOK
    if not rows:
        path.unlink(missing_ok=True)
        return
    head = ("step", "question", "decision", "likely", "probability", "adjudicated", "key", "text")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, csv_bytes([head, *([escape_formula(cell) for cell in row] for row in rows)]))
    print_line(console, f"for the adjudicator: {display_path(path)} ({count_phrase(len(rows), 'decision')})")


def _print_recheck(session: Session, name: str, spec: ReviewProjectSpec, console: Console) -> None:
    """The rate of wrong labels by the votes on a recheck, kept in a file once there are votes."""
    from benchbuilder.cli.annotation_session import open_annotation_session  # builds do without both
    from benchbuilder.evaluation import TO_EXPERTS

    recipe, store = session.plan.recipe, session.store
    part = recipe.for_task(spec.rows.task) if spec.rows.task else recipe
    manifest = committed_manifests(session.plan, store)[part.items]
    sample = recheck_sample(part, store.rows(manifest), store.folder / (spec.rows.task or "") / "analysis" / TO_EXPERTS)
    annotation = recipe.annotation
    shared = isinstance(annotation, AppSpec) and annotation.database_env is not None
    decisions = []
    if shared or (store.workplace / DATABASE_FILE).is_file():
        with open_annotation_session(session) as opened:
            decisions = row_decisions(opened.store, name)
    result = recheck_result(part, sample, spec.rows.recheck, decisions)
    print_line(console, f"\nrecheck ({name}): {count_phrase(result.drawn, 'item')} drawn of {result.whole.size:,}")
    for line in recheck_lines(result):
        print_line(console, f"  {line}")
    if result.people:
        print_line(console, f"  kept for report and card: {display_path(write_recheck(store, result))}; the next build "
                   "puts it there")  # fmt: skip
    if result.whole.wrong:
        follow = f"benchbuild votes decisions recipe={recipe.name} --project {name}"
        print_line(console, f"  next: {follow} writes the errors as reports of errata")
    elif not result.people:
        print_line(console, "  next: benchbuild review with the same arguments shows them to people who did not vote")


def recheck_lines(result: RecheckResult) -> Iterator[str]:
    """A recheck in lines: the rate of all items, of each source, and of those that an analysis flagged."""
    if not result.is_complete:
        yield f"decided: {result.decided} of {result.drawn}. The rate is known when all are decided"
        return
    yield f"wrong labels: {_rate(result.whole)}"
    parts = [*result.sources.items(), *([("flagged by the analysis", result.flagged)] if result.flagged else [])]
    for label, part in parts:
        yield f"  {label}: {_rate(part)}"
    yield f"bounds: {result.level * 100:g} %, Wilson, two-sided; {', '.join(result.questions)} make a label wrong"


def _rate(part: CheckedPart) -> str:
    if part.rate is None or part.high is None:
        return f"{part.wrong} of {part.checked}"
    rate = f", {part.rate * 100:.1f} %" if part.wrong else ""
    return f"{part.wrong} of {part.checked}{rate}: at most {part.high * 100:.1f} %"
