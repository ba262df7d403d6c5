"""States questions by rules that are induced from pairs which a speaker wrote."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import regex
from pydantic import Field

from benchbuilder.config import CasingSpec, FileRef, StepSpec, display_path, open_casing
from benchbuilder.core import (
    Casing,
    Choice,
    DataError,
    Fact,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Problem,
    RecipeError,
    Row,
    Span,
    SpecIssue,
    Statement,
    Table,
    comparison_form,
    count_phrase,
    escape_cell,
    normalise_space,
    read_given_text,
    sentence_spans,
    text_length,
    unescape_cell,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.punctuation import strip_marks
from benchbuilder.steps.pairs.rules import PairRule, StatementPair, find_tokens, rules_of, tokens_of, without_final_stop


class StatePairsSpec(StepSpec):
    """How questions become statements by example."""

    pairs: FileRef | None = None
    """A table of questions, answers and statements, as ``benchbuild stem-shapes`` writes it; ``null``: no rule."""
    accepted: FileRef | None = None
    """The rules whose outputs a speaker accepted (``benchbuild stem-shapes --accept N``); no other is used."""
    unit: LengthUnit
    """What a rule compares: words, or characters in languages without spaces."""
    stop: str
    """The end of every statement."""
    stops: tuple[str, ...] = ()
    """What ends a sentence of a question anywhere: only its last sentence is stated, after the others."""
    soft_stops: tuple[str, ...] = (".",)
    """What ends a sentence unless it is part of a number, a name or an abbreviation."""
    abbreviations: tuple[str, ...] = ()
    """Abbreviations, without their stop."""
    joiner: str = " "
    """What stands between two sentences."""
    max_length: Annotated[int, Field(ge=1)] = 60
    """The largest length of a statement with its stop, in words or characters (`unit`)."""
    casing: CasingSpec | None = CasingSpec(default="keep")
    """The case of answers inside a statement, and of its first letter; ``null``: unchanged."""

    def split(self, question: str) -> tuple[str, str]:
        """The sentences before the last one, which end in the joiner, and the last one."""
        spans = sentence_spans(question, self.stops, self.soft_stops, self.abbreviations)
        if len(spans) < 2:
            return "", question
        start = spans[-1].start
        return question[:start].rstrip() + self.joiner, question[start:].strip()


class StatePairs(Map):
    """A true statement of question and answer, by the first accepted rule that fits.

    A rule is induced from one pair of the file, or from two that differ in words which the statement leaves out.
    """

    kind = "state_pairs"
    spec_class = StatePairsSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Fact[Choice]),
        "facts": Port(Fact[Choice], mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "no_rule": "No rule from pairs fits the question.",
        "not_accepted": "Only a rule fits whose outputs were not accepted.",
        "too_long": "The statement is longer than the recipe allows.",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the pairs and the accepted rules; the texts of all facts tell words of asking from others."""
        self._accepted = self._read_accepted()
        self._rules = self._read_rules(lookups.get("facts") or ())

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The statement, or that there is none; a fact without one may be asked in another form."""
        fact: Fact[Choice] = row
        spec: StatePairsSpec = self.spec
        before, question = spec.split(fact.payload.question)
        made = self._rules.apply(question, fact.payload.answer, self._accepted)
        if made is None:
            waiting = self._rules.apply(question, fact.payload.answer)
            return [NotApplicable("no_rule" if waiting is None else "not_accepted")]
        text = made.text + spec.stop
        if text_length(text, spec.unit) > spec.max_length:
            return [NotApplicable("too_long")]
        statement = Statement.child(
            fact, produced_by=self.produced_by(made.rule.digest), polarity="true", text=text, joined="induced",
            answer=made.answer, context=fact.payload.context + before, fact=fact.id,
            checks=("holds_answer", "no_question_word", "within_length"),
        )  # fmt: skip
        return [Kept(statement)]

    def remarks(self) -> Iterator[SpecIssue]:
        """Rules that wait to be accepted, questions that are stated twice, and pairs that no other pair confirms."""
        spec: StatePairsSpec = self.spec
        if spec.pairs is None:
            return
        file, rules, accepted = self._read_file(), self._read_rules(()), self._read_accepted()
        name = display_path(spec.pairs.file)
        for first, second in file.repeated:
            yield SpecIssue(
                "pairs", f"{name}:{first} and :{second} write the same question in two ways; the first counts", "", ()
            )
        waiting = [(n, rule) for n, rule in enumerate(rules.rules, 1) if rule.digest not in accepted]
        if waiting and len(waiting) == len(rules.rules):
            yield SpecIssue("accepted", f"no rule of {name} was accepted, so it makes no statement", "", ())
        for number, rule in waiting:
            what = "leaves words of the question out of the statement" if rule.drops_words else "was not looked at yet"
            yield SpecIssue("accepted", f"rule {number} ({rule.shape}) {what}: accept its outputs before it is used "
                            f"(benchbuild stem-shapes --accept {number})", "", ())  # fmt: skip
        left_out = list(rules.not_reproduced())
        for pair, made in left_out:
            what = f"make of it: {made}" if made else "make nothing of it"
            yield SpecIssue("pairs", f"{name}:{pair.line}: without this pair the others {what}", pair.statement, ())
        if left_out:
            said = f"{len(file.pairs) - len(left_out)} of {count_phrase(len(file.pairs), 'pair')}"
            yield SpecIssue(
                "pairs", f"{said} are what the others make, too; two pairs a shape confirm each other", "", ()
            )

    def _read_file(self) -> PairsFile:
        spec: StatePairsSpec = self.spec
        return PairsFile((), ()) if spec.pairs is None else read_pairs(spec.pairs.file, spec.unit)

    def _read_accepted(self) -> frozenset[str]:
        return frozenset() if self.spec.accepted is None else read_accepted(self.spec.accepted.file)

    def _read_rules(self, facts: Iterable[Any]) -> PairRules:
        pairs = self._read_file().pairs
        payloads: list[Choice] = [fact.payload for fact in facts] if pairs else []
        return PairRules(
            pairs, self.spec.unit, open_casing(self.spec.casing, self.context.language),
            (self.spec.split(payload.question)[1] for payload in payloads),
            (option.text for payload in payloads for option in payload.options),
        )  # fmt: skip

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """Faults of the two files, as errors with their lines."""
        spec: StatePairsSpec = self.spec
        if all(ref is None or ref.file.is_file() for ref in (spec.pairs, spec.accepted)):  # else reported already
            self._read_file()
            self._read_accepted()
        return ()


PAIR_COLUMNS = ("question", "answer", "statement")
ACCEPTED_COLUMNS = ("rule", "shape", "first", "second", "third")


@dataclass(frozen=True)
class PairsFile:
    """The pairs with a statement, all rows of the file (each with its line), and repeated questions by their lines."""

    pairs: tuple[StatementPair, ...]
    rows: tuple[StatementPair, ...]
    repeated: tuple[tuple[int, int], ...] = ()


def read_pairs(path: Path, unit: LengthUnit) -> PairsFile:
    """The pairs in `path`: a table with the columns question, answer and statement, and comments after ``#``.

    Raises:
        DataError: The file cannot be read.
        RecipeError: An answer does not stand in its statement; with every such line.
    """
    rows = [StatementPair(*map(normalise_space, cells), line=line) for line, cells in _table(path, PAIR_COLUMNS)]
    filled = [row for row in rows if row.statement]
    problems = [
        Problem(f'the answer "{row.answer}" does not stand in the statement', where=f"{display_path(path)}:{row.line}",
                actual=row.statement, hint="write the answer as it is, or leave the statement empty")
        for row in filled
        if find_tokens(tokens_of(without_final_stop(row.answer), unit), tokens_of(row.statement, unit)) < 0
    ]  # fmt: skip
    if problems:
        raise RecipeError(problems)
    first: dict[str, StatementPair] = {}
    repeated: list[tuple[int, int]] = []
    for row in filled:
        known = first.setdefault(comparison_form(row.question), row)
        if known is not row and known.statement != row.statement:
            repeated.append((known.line, row.line))
    return PairsFile(tuple(first.values()), tuple(rows), tuple(repeated))


def read_accepted(path: Path) -> frozenset[str]:
    """The digests of the rules in `path` whose outputs were accepted; DataError if the file cannot be read."""
    return frozenset(cells[0] for _, cells in _table(path, ACCEPTED_COLUMNS))


def render_rows(columns: Sequence[str], blocks: Iterable[tuple[str, Sequence[Sequence[str]]]]) -> str:
    """A table with a comment above each block of rows."""
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    for comment, rows in blocks:
        lines.write("".join(f"# {line}\n" for line in comment.splitlines()))
        writer.writerows([escape_cell(cell) for cell in row] for row in rows)
    return lines.getvalue()


def _table(path: Path, columns: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """The cells of the columns of `path`, each row with its line."""
    try:
        text = read_given_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        hint = "`benchbuild stem-shapes recipe=NAME` writes it"
        raise DataError("the file of pairs cannot be read", where=str(path), why=str(error), next=hint) from error
    lines = [
        (number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("# ")
    ]
    rows = [row for _, line in lines for row in csv.reader([line], delimiter="\t")]
    if not rows:
        return []
    header: Mapping[str, int] = {name.strip(): position for position, name in enumerate(rows[0])}
    if missing := [name for name in columns if name not in header]:
        raise DataError(f"the file of pairs has no column {missing[0]!r}", where=f"{display_path(path)}:{lines[0][0]}",
                        why=f"its columns are {', '.join(rows[0])}",
                        next=f"begin with the line {'<tab>'.join(columns)}")  # fmt: skip
    found: list[tuple[int, tuple[str, ...]]] = []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        cells = (*row, *[""] * len(columns))
        found.append((number, tuple(unescape_cell(cells[header[name]]) for name in columns)))
    return found


_OPTION_SHARE = 0.08
"""A dropped word asks if options hold it at most so many times as often as questions do."""
_ASKS = regex.compile(r"[?？؟¿]")


@dataclass(frozen=True, slots=True)
class InducedStatement:
    """What a rule makes of a question: the text without its stop, the place of the answer, and the rule."""

    rule: PairRule
    text: str
    answer: Span


class PairRules:
    """The rules of pairs, in the order in which they are tried, and the words of asking that no statement may hold.

    `questions` and `options` are texts of the benchmark's sources; they tell words of asking from other words.
    """

    def __init__(
        self, pairs: Sequence[StatementPair], unit: LengthUnit, casing: Casing | None,
        questions: Iterable[str] = (), options: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.pairs, self._casing = tuple(pairs), casing
        self._unit: LengthUnit = unit
        self.rules = rules_of(pairs, unit)
        self._asking = self._question_words(questions, options) if self.rules else frozenset[str]()

    def apply(self, question: str, answer: str, accepted: Collection[str] | None = None) -> InducedStatement | None:
        """What the first rule that fits makes of a question; ``None`` if none does.

        Only rules with a digest among `accepted` are tried; ``None`` tries all.
        """
        answer = without_final_stop(strip_marks(answer, " ;,."))
        for rule in self.rules if answer else ():
            if accepted is not None and rule.digest not in accepted:
                continue
            made = rule.apply(question, answer, self._unit, self._casing)
            if made is not None and not self._asks(*made):
                return InducedStatement(rule, *made)
        return None

    def not_reproduced(self) -> Iterator[tuple[StatementPair, str]]:
        """Each pair that the others do not reproduce, with what they make of it (empty: nothing)."""
        for pair in self.pairs:
            others = [other for other in self.pairs if other is not pair]
            made = PairRules(others, self._unit, self._casing).apply(pair.question, pair.answer)
            text = "" if made is None else made.text
            if comparison_form(text) != comparison_form(without_final_stop(pair.statement)):
                yield pair, text

    def examples(
        self, facts: Iterable[tuple[str, str, str]], seed: int, most: int = 3
    ) -> dict[str, tuple[int, list[str]]]:
        """For each rule, the number of facts (id, question, answer) that it states, and the first few by `seed`.

        Questions of pairs are left out.
        """
        known = {comparison_form(pair.question) for pair in self.pairs}
        made: dict[str, list[tuple[str, str]]] = {rule.digest: [] for rule in self.rules}
        for name, question, answer in facts:
            stated = None if comparison_form(question) in known else self.apply(question, answer)
            if stated is not None:
                rank = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).hexdigest()
                made[stated.rule.digest].append((rank, stated.text))
        return {digest: (len(texts), [text for _, text in sorted(texts)[:most]]) for digest, texts in made.items()}

    def _asks(self, text: str, answer: Span) -> bool:
        """Whether a statement still asks, outside of its answer."""
        for rest in (text[: answer.start], text[answer.end :]):
            if _ASKS.search(rest) or any(token.text in self._asking for token in tokens_of(rest, self._unit)):
                return True
        return False

    def _question_words(self, questions: Iterable[str], options: Iterable[str]) -> frozenset[str]:
        dropped = {word for rule in self.rules for word in rule.dropped_words}
        for pair in self.pairs:
            dropped -= {token.text for token in tokens_of(pair.statement, self._unit)}
        asked, offered = self._counts(questions, dropped), self._counts(options, dropped)
        return frozenset(word for word in dropped if offered[word] <= _OPTION_SHARE * max(asked[word], 1))

    def _counts(self, texts: Iterable[str], words: Collection[str]) -> Counter[str]:
        return Counter(token.text for text in texts for token in tokens_of(text, self._unit) if token.text in words)
