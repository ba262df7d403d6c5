"""``benchbuild stem-shapes``: show what questions look like, and what rules of examples make of them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import asked_facts, render_pairs, state_pairs_step
from benchbuilder.cli.session import open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, bundled_folder, display_path, open_casing
from benchbuilder.core import Problem, RecipeError, count_phrase, printable_text, read_given_text, write_atomically
from benchbuilder.steps import (
    ACCEPTED_COLUMNS,
    AskedFact,
    PairRules,
    QuestionShape,
    StatePairsSpec,
    find_shapes,
    read_accepted,
    read_pairs,
    render_rows,
)

_COPY = "`benchbuild new NAME --from {}` makes one of your own"


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the file of pairs and show the rules that its pairs hold; with ``--accept``, note that rules are right."""
    session = open_session(args, console)
    name, spec = state_pairs_step(session.loaded)
    assert spec.pairs is not None
    assert spec.accepted is not None
    with progress_watcher(console) as watcher:
        facts, options = asked_facts(session.plan, session.store, name, watcher)
    file = read_pairs(spec.pairs.file, spec.unit)
    casing = open_casing(spec.casing, session.loaded.recipe.language)
    rules = PairRules(file.pairs, spec.unit, casing, (fact.question for fact in facts), options)
    examples = rules.examples(((f.id, f.question, f.answer) for f in facts), session.loaded.recipe.seed)
    accepted = read_accepted(spec.accepted.file)
    is_own = not spec.pairs.file.resolve().is_relative_to(bundled_folder("recipes").resolve())
    if args.accept:
        if not is_own:
            raise RecipeError([Problem("a bundled recipe is not changed", where=display_path(spec.accepted.file),
                                       hint=_COPY.format(session.loaded.recipe.name))])  # fmt: skip
        _accept(args.accept, rules, examples, accepted, spec, console)
        return 0
    shapes = find_shapes(facts, spec.unit, max(1, args.most))
    _print_shapes(shapes, facts, spec, console)
    if not is_own:
        print_line(console, f"a bundled recipe is not changed: {_COPY.format(session.loaded.recipe.name)}")
        return 0
    write_atomically(spec.pairs.file, render_pairs(shapes, file.pairs, spec.unit, len(facts)).encode())
    if rules.rules:
        _print_rules(rules, examples, accepted, len(facts), spec, console)
    else:
        _print_next(session.loaded, spec, console)
    return 0


def _print_shapes(
    shapes: Sequence[QuestionShape], facts: Sequence[AskedFact], spec: StatePairsSpec, console: Console
) -> None:
    covered = sum(shape.count for shape in shapes)
    share = round(100 * covered / max(len(facts), 1))
    print_line(console, f"{count_phrase(len(facts), 'question')}; {len(shapes)} shapes cover {covered} ({share} %)")
    for number, shape in enumerate(shapes, 1):
        print_line(console, printable_text(f"{number:>4}  {shape.count:>6}  {shape.text(spec.unit)}"))


def _print_next(loaded: LoadedRecipe, spec: StatePairsSpec, console: Console) -> None:
    assert spec.pairs is not None
    print_line(console, f"wrote {display_path(spec.pairs.file)}; next, if you want statements besides the other forms:")
    print_line(console, "  1. write the statement of two questions of a shape, with the answer in it word for word")
    print_line(
        console, f"  2. benchbuild stem-shapes recipe={loaded.recipe.name}   shows what rules of these make of others"
    )


def _print_rules(
    rules: PairRules, examples: dict[str, tuple[int, list[str]]], accepted: Collection[str], total: int,
    spec: StatePairsSpec, console: Console,
) -> None:  # fmt: skip
    assert spec.pairs is not None
    number_of = count_phrase(len(rules.rules), "rule")
    print_line(
        console, f"\n{number_of} of {count_phrase(len(rules.pairs), 'pair')} in {display_path(spec.pairs.file)}:"
    )
    for number, rule in enumerate(rules.rules, 1):
        count, texts = examples[rule.digest]
        state = "accepted" if rule.digest in accepted else "not accepted"
        print_line(console, printable_text(f"rule {number}: {rule.shape}  ({count} of {total} questions, {state})"))
        for text in texts:
            print_line(console, printable_text(f"    {text}{spec.stop}"))
    waiting = [number for number, rule in enumerate(rules.rules, 1) if rule.digest not in accepted]
    if waiting:
        print_line(
            console,
            "a rule is used only when its outputs are right, all three: "
            f"benchbuild stem-shapes --accept {waiting[0]} ...",
        )


def _accept(
    numbers: Sequence[int], rules: PairRules, examples: dict[str, tuple[int, list[str]]], accepted: Collection[str],
    spec: StatePairsSpec, console: Console,
) -> None:  # fmt: skip
    """Add rules to the accepted ones, with what they made when somebody looked."""
    assert spec.accepted is not None
    if wrong := [number for number in numbers if not 1 <= number <= len(rules.rules)]:
        allowed = f"1 to {len(rules.rules)}" if rules.rules else "none: the file of pairs holds no statement"
        hint = "`benchbuild stem-shapes` with the same recipe lists the rules"
        raise RecipeError([Problem("there is no such rule", where=f"--accept {wrong[0]}", allowed=allowed, hint=hint)])
    lines = read_given_text(spec.accepted.file, "utf-8-sig").splitlines()
    for number in dict.fromkeys(numbers):
        rule = rules.rules[number - 1]
        if rule.digest in accepted:
            print_line(console, f"rule {number} was accepted before")
            continue
        texts = [*examples[rule.digest][1], "", "", ""][:3]
        lines += render_rows((), [("", [[rule.digest, rule.shape, *texts]])]).strip("\n").splitlines()
        print_line(console, printable_text(f"accepted rule {number}: {rule.shape}"))
    if not any(line.startswith(ACCEPTED_COLUMNS[0]) for line in lines):
        lines.insert(0, "\t".join(ACCEPTED_COLUMNS))
    write_atomically(spec.accepted.file, ("\n".join(line for line in lines if line) + "\n").encode())
    print_line(console, f"wrote {display_path(Path(spec.accepted.file))}; "
               f"{count_phrase(sum(examples[rules.rules[n - 1].digest][0] for n in set(numbers)), 'question')} "
               "can become statements")  # fmt: skip
