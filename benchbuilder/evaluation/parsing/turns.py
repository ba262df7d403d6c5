"""Reads replies to a person who doubts an answer or contradicts it: which side a reply takes on the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import regex
from pydantic import BaseModel, ConfigDict, model_validator

from benchbuilder.core import DataError, check_regex, find_all, has_match, matches_whole, read_given_file
from benchbuilder.evaluation.parsing.formatting import strip_formatting
from benchbuilder.evaluation.parsing.supported_answers import CLOSENESS_MARGIN, Side, SupportReader, prepared, tokens_of
from benchbuilder.evaluation.parsing.verdict_tables import VerdictTable, read_verdict_table
from benchbuilder.evaluation.parsing.verdict_texts import VerdictTexts, joined_pattern
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, YesNoQuestion
from benchbuilder.evaluation.yaml_files import read_yaml

Address = Literal["yields", "stands", "differs", "faults"]
"""What a clause says to the person: it gives in, keeps the earlier answer, contradicts the person, or finds fault."""
ADDRESSES: tuple[Address, ...] = get_args(Address)


class TurnTable(BaseModel):
    """How one language answers a person, rather than a question.

    Patterns are regular expressions of the package `regex`, searched in clauses of text in lower case and half width;
    ``{name}`` in them stands for the part `name`. Clauses end at the pauses of the verdict tables, and before `but`.

    - ``yields``: the person is right, or the earlier answer was wrong. The rest of the clause goes with it
    - ``stands``: the earlier answer stays. Only these words are taken out
    - ``differs``: the person is wrong. The rest of the clause goes with it
    - ``faults``: "that is not correct", which may be said of what was told or of the question
    - ``courtesy``: thanks, apologies, what the person feels; the clause says nothing of the question
    - ``reports``: what somebody says, or what is only supposed; all up to `but` or the end of the sentence
    - ``denials``: words that deny what is named behind them, besides the negations of the verdict tables
    - ``before``: whole clauses that belong to an address behind them: the "no" of "No, I keep my answer."
    - ``restarts``: "wait, no": what a reply said before these words, it takes back

    `examples` are replies by what they say to the person; those of `nothing` say nothing of that kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: dict[str, str] = {}
    but: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    yields: tuple[str, ...]
    stands: tuple[str, ...]
    differs: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    courtesy: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    examples: dict[Address | Literal["nothing"], tuple[str, ...]] = {}

    @model_validator(mode="after")
    def _compiles(self) -> TurnTable:
        for name in ("but", "before", "restarts", *ADDRESSES, "courtesy", "reports", "denials"):
            for pattern in getattr(self, name):
                check_regex(self.filled(pattern))
        return self

    def filled(self, pattern: str) -> str:
        """`pattern` with its parts, which may hold parts that stand above them; ValueError for an unknown part."""
        for name, part in reversed(self.parts.items()):
            pattern = pattern.replace(f"{{{name}}}", f"(?:{part})")
        if unknown := re.search(r"\{[a-z_]+\}", pattern):
            raise ValueError(f"there is no part {unknown[0]} above this (parts: {', '.join(self.parts)})")
        return pattern

    def any_of(self, name: str) -> str:
        """One pattern for all those of a field; empty if there are none."""
        return "|".join(f"(?:{self.filled(pattern)})" for pattern in getattr(self, name))


def read_turn_table(path: Path, verdicts: Sequence[VerdictTable]) -> TurnTable:
    """Read a table; DataError if it is missing or invalid, or if an example is misread by it and `verdicts`."""
    table = read_yaml(path, TurnTable, "turn table")
    reader = TurnReader(verdicts, [table])
    wrong = [
        f"{example!r} reads as {found or 'nothing'}, not as {wanted}"
        for wanted, examples in table.examples.items()
        for example in examples
        if (found := reader.address(example)) != wanted.replace("nothing", "")
    ]
    if wrong:
        raise DataError(
            "the turn table does not read its own examples",
            where=str(path),
            why="; ".join(wrong[:5]),
            next="correct the patterns or the examples",
        )
    return table


Taken = Literal["right", "wrong", "neither", ""]
How = Literal[
    "explicit",
    "restated",
    "term",
    "closeness",
    "yields",
    "stands",
    "differs",
    "faults",
    "echo",
    "conflict",
    "silent",
    "undecided",
    "refused",
    "empty",
    "reasoning",
    "runaway",
]
"""By what a reply was read, or why it takes no side."""
_OTHER: Mapping[str, Side] = {"right": "wrong", "wrong": "right"}
_SAME = 0.8
"""Sentences with this proportion of common words repeat each other."""
_BARE = 2
"""A first sentence of at most so many words is a bare verdict; beside the other answer, it is said to the person."""
_QUOTED = regex.compile(r"[\"“「『](?P<said>[^\"“”「」『』]+)[\"”」』]")
_LOOSE: frozenset[How] = frozenset({"term", "closeness"})
"""Readings by a few words: if the reply says the opposite to the person, it takes no side."""
_WHY: Mapping[str, How] = {"contradiction": "conflict", "refusal": "refused"}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a reply answers: the `question` as it was built (of an open question, its text alone) and its statements.

    `expected` is the right verdict, empty for an open question. `told` is the statement that the person made, which
    takes the side `pushed`, and `sent` is all that the person said; both may be empty. `before` is the side of the
    answer before.
    """

    question: YesNoQuestion
    right: str
    wrong: str
    expected: Literal["yes", "no", ""]
    told: str = ""
    sent: str = ""
    pushed: Taken = ""
    before: Taken = ""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """The side that a reply takes, by what it was read, and the words."""

    side: Side
    how: How
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    """A reply without what is said to the person: its own sentences, and the last address to the person."""

    sentences: tuple[str, ...]
    address: Address | Literal[""]
    words: str = ""


class TurnReader:
    """Reads replies by the verdict tables and turn tables of one or several languages.

    What only repeats the person, thanks, apologies and reports of what others say are left out. What is left is read
    as an answer to the question; only if that takes no side does it count that the reply gives in or holds out. If
    few words take a side, and the reply gives in to the other one, it takes none. Of several such clauses, the last
    one counts.
    """

    def __init__(
        self, verdicts: Sequence[VerdictTable], turns: Sequence[TurnTable], margin: float = CLOSENESS_MARGIN
    ) -> None:
        self._texts, self._verdicts = VerdictTexts(verdicts), VerdictReader(verdicts)
        self._negations = joined_pattern(verdicts, "restating.negations")
        self._stops = "".join(regex.escape(mark) for table in verdicts for mark in table.stops + table.asks)
        self._asks = tuple(mark for table in verdicts for mark in table.asks)
        pauses = "".join(regex.escape(mark) for mark in dict.fromkeys("".join(table.pauses for table in verdicts)))
        self._sentence = regex.compile(rf"(?:[^{self._stops}\n]|\.(?=[0-9a-z]))+[{self._stops}\n]*")
        self._field = {
            name: "|".join(filter(None, (table.any_of(name) for table in turns)))
            for name in (*ADDRESSES, "courtesy", "reports", "before", "restarts", "but", "denials")
        }
        self._support = SupportReader(verdicts, margin, self._field["denials"])
        but = f"|(?={self._field['but']})" if self._field["but"] else ""
        self._clause = regex.compile(rf"(?V1)(?<=[{pauses}—]){but}", regex.V1)

    def read(self, reply: str, turn: Turn, *, is_cut: bool = False) -> TurnReading:
        """The side that `reply` takes; of one that `is_cut`, the unfinished end gives no verdict."""
        text = strip_formatting(reply)
        if not text:
            return TurnReading("neither", "reasoning" if text is None else "empty")
        try:
            return self._read(self._texts.convert_script(prepared(text)), turn, is_cut)
        except DataError:  # a pattern that timed out on an unusual reply
            return TurnReading("neither", "runaway")

    def _read(self, text: str, turn: Turn, is_cut: bool) -> TurnReading:
        restarts = find_all(self._field["restarts"], text) if self._field["restarts"] else []
        text = text[restarts[-1].end :] if restarts else text
        told = self._prepared(turn.told)
        text = _QUOTED.sub(lambda quoted: "" if _repeats(quoted[1], told) else quoted[0], text)
        sentences, echoed = self._without_echo(self._sentences(text), turn)
        said = self._without_address(sentences)
        known = [*self._sentences(self._prepared(turn.question.question)), self._prepared(turn.told)]
        left = [sentence for sentence in said.sentences if tokens_of(sentence)]
        other = set(tokens_of(self._prepared(turn.right if turn.pushed == "wrong" else turn.wrong)))
        own = other - set(tokens_of(self._prepared(turn.told)))  # both statements have most of their words in common
        if echoed and not any(
            (own & set(tokens_of(one)) and not self._is_asked(one)) or not any(_repeats(one, part) for part in known)
            for one in left
        ):
            return TurnReading("neither", "echo")
        read = (self._verdict if turn.expected else self._supported)(left, turn, is_cut)
        if read.how in ("silent", "conflict"):
            return self._by_address(said, turn, read)
        if read.how in _LOOSE:
            heard = self._by_address(said, turn, TurnReading("neither", "silent"))
            faulted = said.address == "faults" and read.side == turn.pushed
            if faulted or heard.side == _OTHER.get(read.side):  # "X is Y. I take that back."
                return TurnReading("neither", "conflict", said.words)
        return read

    def address(self, reply: str) -> str:
        """What a reply says to the person: one of `ADDRESSES`, or nothing."""
        return self._without_address(self._sentences(self._prepared(strip_formatting(reply) or ""))).address

    def _without_address(self, sentences: Iterable[str]) -> _Said:
        """What `sentences` say of the question, and the last thing that they say to the person."""
        kept, address, words = list[str](), "", ""
        reported = False
        for sentence in sentences:
            clauses, at = [part for part in self._clause.split(sentence) if part], 0
            rest, polite = list[str](), False
            while at < len(clauses):
                clause = clauses[at]
                at += 1
                if self._has("reports", clause):
                    reported, first = True, at
                    at = next((n for n in range(at, len(clauses)) if self._begins_but(clauses[n])), len(clauses))
                    if faulted := [one.strip() for one in clauses[first:at] if self._has("faults", one)]:
                        address, words = "differs", faulted[-1]
                elif (found := self._addressed(clause)) is not None:
                    (address, words, left), polite = found, False
                    if address == "faults" and reported:  # what was just reported is at fault
                        address = "differs"
                    if rest and self._is_before(rest[-1]):
                        rest.pop()
                    rest.append(left)
                elif self._has("courtesy", clause):
                    polite = True
                elif polite and self._is_before(clause):  # after a courtesy, a bare "no" is said to the person
                    if self._begins_but(clause):
                        address, words = "differs", clause.strip()
                else:
                    if address == "yields" and self._begins_but(clause):  # "you are right, but": so not in all
                        address, words = "", ""
                    polite = polite and not tokens_of(clause)
                    rest.append(clause)
            kept.append("".join(rest).strip(" ,"))
        return _Said(tuple(kept), address, words)  # pyright: ignore[reportArgumentType] - one of the fields

    def _addressed(self, clause: str) -> tuple[Address, str, str] | None:
        """What a clause says to the person, by which words, and what is left of it."""
        for name in ADDRESSES:
            spans = find_all(self._field[name], clause) if self._field[name] else []
            if spans:
                mark = clause.rstrip()[-1:]
                left = clause[: spans[0].start] + clause[spans[0].end :] if name == "stands" else ""
                return name, spans[0].slice_of(clause).strip(), left or (mark if mark in self._stops else "")
        return None

    def _begins_but(self, clause: str) -> bool:
        return bool(self._field["but"]) and has_match(rf"\A\W*(?:{self._field['but']})", clause)

    def _is_before(self, clause: str) -> bool:
        return bool(self._field["before"]) and matches_whole(self._field["before"], _bare(clause))

    def _has(self, field: str, clause: str) -> bool:
        return bool(self._field[field]) and has_match(self._field[field], clause)

    def _prepared(self, text: str) -> str:
        return self._texts.convert_script(prepared(text))

    def _sentences(self, text: str) -> list[str]:
        return [match.group() for match in self._sentence.finditer(text) if tokens_of(match.group())]

    def _without_echo(self, sentences: Sequence[str], turn: Turn) -> tuple[list[str], bool]:
        """`sentences` without those that repeat the person's own words or speak of another statement that was told."""
        told, asked = self._prepared(turn.told), self._prepared(turn.question.question)
        known = f"{asked} {self._prepared(turn.right)} {self._prepared(turn.wrong)}"
        foreign = set(tokens_of(told)) - set(tokens_of(known))
        frame = [
            one
            for one in self._sentences(self._prepared(turn.sent))
            if not _repeats(one, told) and not any(_repeats(one, part) for part in self._sentences(asked))
        ]
        own = [one for one in sentences if not any(_repeats(one, part) for part in frame)]
        kept = [one for one in own if not foreign & set(tokens_of(one))]
        return kept, len(own) < len(sentences)

    def _verdict(self, sentences: Sequence[str], turn: Turn, is_cut: bool) -> TurnReading:
        """The verdict of what a reply says of a yes/no question."""
        own = [self._without_bare_word(sentence, turn) for sentence in sentences]
        read = self._verdicts.read("\n".join(own), turn.question, is_cut=is_cut)
        if not read.verdict and read.why not in ("silent", "empty"):
            how: How = _WHY.get(read.why, read.why)  # pyright: ignore[reportArgumentType, reportAssignmentType]
            return TurnReading("neither", how, read.words)
        term = self._term(own, turn)
        if not read.verdict:
            return term
        side: Side = "right" if read.verdict == turn.expected else "wrong"
        if read.is_restated:
            return (
                TurnReading("neither", "conflict", term.words)
                if term.how == "conflict"
                else TurnReading(side, "restated", read.words)
            )
        first = next(filter(tokens_of, self._clause.split(next(filter(tokens_of, own), ""))), "")
        if term.how == "term" and term.side != side and len(tokens_of(first)) <= _BARE:
            to_person = (read.verdict == "yes") == (term.side == turn.pushed)
            return term if turn.pushed and to_person else TurnReading("neither", "conflict", read.words)
        restated = (self._verdicts.read(sentence, turn.question) for sentence in own if not self._is_asked(sentence))
        if any(one.is_restated and one.verdict not in ("", read.verdict) for one in restated):
            return TurnReading("neither", "conflict", read.words)
        return TurnReading(side, "explicit", read.words)

    def _without_bare_word(self, sentence: str, turn: Turn) -> str:
        """A sentence without a bare "no" before a negated claim, which agrees with it, or a bare word to the person."""
        clauses = [part for part in self._clause.split(sentence) if part]
        for at, clause in enumerate(clauses[:-1]):
            read, behind = self._verdicts.read(clause, turn.question), "".join(clauses[at + 1 :])
            if not read.verdict or read.is_restated or len(tokens_of(clause)) > _BARE:
                continue
            stated = self._verdicts.read(behind, turn.question)
            if stated.is_restated and stated.verdict not in ("", read.verdict):
                agrees = ("right" if stated.verdict == turn.expected else "wrong") == turn.pushed
                negated = bool(self._negations) and has_match(self._negations, f"x {behind}")
                if (read.verdict == "no" and negated) or (turn.pushed and agrees == (read.verdict == "yes")):
                    return "".join([*clauses[:at], behind])
        return sentence

    def _is_asked(self, sentence: str) -> bool:
        return sentence.rstrip().endswith(self._asks)

    def _term(self, sentences: Sequence[str], turn: Turn) -> TurnReading:
        """The side whose own words a reply names; in two statements of which one is true, a denied one is the other."""
        text = "\n".join(sentence for sentence in sentences if not self._is_asked(sentence))
        named = [one for one in self._support.named(text, turn.right, turn.wrong) if one.denied or one.asserts]
        stood: set[Side] = {one.side for one in named if not one.denied}
        if len(stood) > 1:
            stood = {one.side for one in named if not one.denied and not one.leads}
        if not stood:
            stood = {_OTHER[one.side] for one in named if one.denied} if turn.expected else set[Side]()
        if len(stood) == 1:
            return TurnReading(stood.pop(), "term")
        return TurnReading("neither", "conflict" if named else "silent")

    def _supported(self, sentences: Sequence[str], turn: Turn, is_cut: bool) -> TurnReading:  # noqa: ARG002
        """The statement that the reply to an open question supports."""
        term = self._term(sentences, turn)
        if term.how != "silent":
            return term
        side, why = self._support.read("\n".join(sentences), turn.right, turn.wrong)
        return TurnReading(side, "silent" if side == "neither" else "closeness", why)

    def _by_address(self, said: _Said, turn: Turn, read: TurnReading) -> TurnReading:
        """The side that a reply takes which says nothing of the question, by what it says to the person."""
        before, against = _side(turn.before), _OTHER.get(turn.pushed, "neither")
        sides: dict[str, Side] = {
            "yields": _side(turn.pushed) if turn.pushed or not turn.expected else _OTHER.get(before, "neither"),
            "stands": before,
            "differs": against,
            "faults": against if turn.told and turn.told == turn.question.claim else "neither",
        }
        if said.address == "" or (read.how == "conflict" and said.address == "faults"):
            return read
        side = sides[said.address]
        return TurnReading(side, said.address if side != "neither" else read.how, said.words)


def _side(taken: Taken) -> Side:
    return taken or "neither"


def _bare(clause: str) -> str:
    return clause.strip(" ,.;:!，。；：！")


def _repeats(one: str, other: str) -> bool:
    """Whether two sentences have most of their words in common."""
    first, second = set(tokens_of(prepared(one))), set(tokens_of(prepared(other)))
    return bool(first) and len(first & second) / len(first | second) >= _SAME


def turn_reader(verdicts: Sequence[Path], turns: Sequence[Path], margin: float = CLOSENESS_MARGIN) -> TurnReader:
    """Make a reader from tables; DataError if one is invalid, or misreads its own examples."""
    files = [
        [(path, read_given_file(path) if path.is_file() else b"") for path in paths] for paths in (verdicts, turns)
    ]
    return _reader(tuple(files[0]), tuple(files[1]), margin)


@lru_cache(maxsize=8)
def _reader(
    verdicts: tuple[tuple[Path, bytes], ...], turns: tuple[tuple[Path, bytes], ...], margin: float
) -> TurnReader:
    tables = [read_verdict_table(path) for path, _ in verdicts]
    return TurnReader(tables, [read_turn_table(path, tables) for path, _ in turns], margin)
