"""Verdict tables: how a language says yes and no, read from YAML and checked against their own examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from benchbuilder.core import (
    Conversion,
    DataError,
    check_regex,
    compose_characters,
    parse_plain_yaml,
    pattern_excerpt,
    read_given_text,
)
from benchbuilder.evaluation.yaml_files import read_yaml

CLAIM, CONTRARY, QUESTION, TRUE, FALSE, OTHER = (chr(0xE000 + n) for n in range(6))
"""Signs in a prepared answer: for the question's claim, its contrary, the question itself, the JSON values true and
false, and any other quotation."""

_UNSEEN = dict.fromkeys(range(0x200C, 0x2010))
"""Joiners and direction marks, which are removed from answers before reading."""
_PART = re.compile(r"(?<!\\[pPN])\{([a-z_]+)\}")
_MARKS = re.compile(r"\\.|\[(?:\\.|[^\]\[\\])*\]")
_GIVEN = {"stated": f"{CLAIM}+|{CONTRARY}+", "question": f"{QUESTION}+", "quoted": f"{OTHER}+"}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VerdictPatterns(_Part):
    """Patterns of whole clauses that give one verdict; see `VerdictTable` for what the fields mean."""

    settled: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    evaluating: tuple[str, ...] = ()
    echo: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    restated: tuple[str, ...] = ()


class ClausePatterns(_Part):
    """Patterns of whole clauses, of clauses that are only a `caveat`, and patterns that count anywhere."""

    clause: tuple[str, ...] = ()
    caveat: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()


class RestatedForms(_Part):
    """In what other words an answer may repeat a claim; see `VerdictTable` for what the fields mean."""

    spellings: dict[str, str] = {}
    negations: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    stand_ins: dict[str, str] = {}


class VerdictExamples(_Part):
    """Answers without a question, by the verdict that the table must read."""

    affirm: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    abstain: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()


class VerdictWords(_Part):
    """The short form of a table: words and phrases, each a whole clause, from which its patterns are made.

    `answer` may come before a verdict; what follows one of `but` takes back what was said before. A clause that has one
    of `unsure`, `abstain` or `abstain_alone` in it is no verdict. In a phrase, ``…`` between words is up to four
    more, and a full stop for the end of the clause. Every list but `says_yes` and `says_no` may be empty.
    """

    says_yes: tuple[str, ...]
    says_no: tuple[str, ...]
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    abstain: tuple[str, ...] = ()
    abstain_alone: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    examples: VerdictExamples = VerdictExamples()

    @field_validator("*", mode="before")
    @classmethod
    def _words_not_truth_values(cls, value: Any) -> Any:
        """YAML reads the bare words yes and no as truth values."""
        names = {True: "yes", False: "no"}
        return [names[item] if isinstance(item, bool) else item for item in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _not_empty(self) -> VerdictWords:
        for name in ("says_yes", "says_no"):
            if not any(map(str.strip, getattr(self, name))):
                raise ValueError(
                    f"{name} is empty: write how answers in this language say {name.removeprefix('says_')}"
                )
        return self

    def table(self) -> dict[str, object]:
        """The fields of the table."""
        words = {name: _any_word(getattr(self, name)) for name in type(self).model_fields if name != "examples"}
        lead = f"(?:{words['answer']}[ ,]*)?" if words["answer"] else ""
        plain = {name: [f"{lead}{words[name]}"] for name in ("says_yes", "says_no")}
        inside = {
            name: [rf"(?:.*\b)?{words[name]}(?:\b.*)?"] if words[name] else []
            for name in ("unsure", "abstain", "abstain_alone")
        }
        judged = {name: [f"{lead}{words[name]}"] if words[name] else [] for name in ("right", "wrong")}
        return {
            "stops": ".!;…。।॥۔።။។", "asks": "?؟？՞", "pauses": ',:—()[]{}<>|=→"،、，：', "longest": 120,
            "quotes": ["“”", "‘’", '""', "«»", "「」"],
            "turns": [rf"{words['but']}\b"] if words["but"] else [],
            "unsure": {"clause": inside["unsure"]},
            "abstain": inside["abstain"],
            "abstain_alone": inside["abstain_alone"],
            "refuse": [words["refuse"]] if words["refuse"] else [],
            "affirm": {"plain": plain["says_yes"], "evaluating": judged["right"]},
            "deny": {"plain": plain["says_no"], "evaluating": judged["wrong"]},
            "examples": self.examples,
        }  # fmt: skip


def _any_word(words: Iterable[str]) -> str:
    """A pattern for any of `words`, the longest first; empty without any."""
    known = sorted({word.strip().casefold() for word in words if word.strip()}, key=lambda word: (-len(word), word))
    return f"(?:{'|'.join(map(_phrase, known))})" if known else ""


def _phrase(word: str) -> str:
    inside = re.escape(word.removesuffix(".")).replace(r"\ …\ ", r"\ (?:\S+\ ){0,4}")
    return inside + (r"\Z" if word.endswith(".") else "")


class VerdictTable(_Part):
    """How one language says yes and no.

    Patterns are regular expressions of the package `regex`, for text in lower case and half width, converted to
    `script` if that is set. ``{name}`` in them stands for the part `name` (if that is a list, for any of it),
    ``{stated}`` for what the question claims or its contrary, ``{question}`` for the question, ``{quoted}`` for any
    other quotation.

    An answer is cut into sentences at `stops` and line ends, and sentences into clauses at `pauses`; a sentence that
    ends in one of `asks` is a question. `quotes` are pairs of marks. `openers` and `turns` are removed from the start
    of a clause; after a turn, a clause takes back what was said before. `cut` begins the text of another speaker,
    `ignore` matches remarks about something else, `head` and `tail` turn a statement into a question. `fields` are the
    JSON keys of the answer. A clause of more than `longest` characters is never a verdict.

    `affirm` and `deny` contain patterns of *whole* clauses, so that no word is a verdict inside a sentence about
    something else:

    - ``plain``: yes or no, whatever was asked
    - ``settled``: as ``plain``; the question's claim after it is only an echo
    - ``direct``: no verdict if the question matches `negated`: it may agree with the negation
    - ``evaluating``: calls the claim true or false; no verdict if the claim matches `evaluates` itself
    - ``echo``: repeats the question's verb, which the group ``echo`` captures and the question must contain; otherwise
      the pattern does not match; no verdict if the question matches `negated`
    - ``weak``: as ``evaluating``, and counts only if nothing stronger was said
    - ``restated``: states the claim or its contrary; as ``weak``

    `restating` says in what other words an answer may state the claim. In both, `spellings` (patterns and what replaces
    them) are applied, and `negations` and `drops` are removed; one negation more or less makes it the contrary.
    `stand_ins` are patterns in the claim in whose place an answer may have what another pattern matches. A question
    that matches `declares` at its end repeats a statement, whose echo beside a verdict is none.

    A file may instead hold the few lists of `VerdictWords`.

    A verdict on the contrary (its sign is in the matched text) is reversed. `unsure` is no verdict and takes back
    earlier ones; a caveat takes back only those of its sentence. `abstain` (whole clauses) is the same where the answer
    says that it does not know, or that it gives no verdict: the answer abstains. `abstain_alone`, such as "there is not
    enough evidence", counts where the answer has no verdict. `refuse`, anywhere, is a refusal if there is no verdict.
    """

    script: Conversion | None = None
    stops: str
    asks: str
    pauses: str
    quotes: tuple[str, ...] = ()
    longest: int
    head: str = ""
    tail: str = ""
    declares: str = ""
    negated: str = ""
    evaluates: str = ""
    parts: dict[str, str | tuple[str, ...]] = {}
    openers: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    restating: RestatedForms = RestatedForms()
    unsure: ClausePatterns = ClausePatterns()
    abstain: tuple[str, ...] = ()
    abstain_alone: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    affirm: VerdictPatterns
    deny: VerdictPatterns
    examples: VerdictExamples = VerdictExamples()

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, value: Any) -> Any:
        if isinstance(value, dict) and "affirm" not in value and not {"says_yes", "says_no"}.isdisjoint(value):
            return VerdictWords.model_validate(value).table()
        return value  # pyright: ignore[reportUnknownVariableType]

    @model_validator(mode="after")
    def _compiles(self) -> VerdictTable:
        if any(len(pair) != 2 for pair in self.quotes):
            raise ValueError("quotes: each is two characters, the mark that opens and the one that closes")
        for where, patterns in _patterns(self):
            self._are_regexes(patterns)
            for pattern in patterns:
                if where.endswith("echo") and "(?P<echo>" not in pattern:
                    raise ValueError(f"{where}: {pattern_excerpt(pattern)!r} has no group (?P<echo>...)")
        return self

    def _are_regexes(self, patterns: Sequence[str]) -> None:
        """Raise ValueError unless each is a regular expression. All are compiled together first, which saves time."""
        filled = [self.expand_parts(pattern) for pattern in patterns]
        try:
            if all(map(_is_balanced, filled)):
                check_regex(self.any_of(patterns))
                return
        except ValueError:
            pass
        for pattern in filled:
            check_regex(pattern)

    def expand_parts(self, pattern: str) -> str:
        """Replace the parts in `pattern` by groups, and normalise it like answers; ValueError for a wrong part."""
        for _ in range(8):
            if not _PART.search(pattern):
                return compose_characters(pattern).translate(_UNSEEN)
            pattern = _PART.sub(lambda match: f"(?:{self._part(match[1])})", pattern)
        raise ValueError(f"parts: a part contains itself, or parts are nested too deeply: {pattern[:60]}")

    def any_of(self, patterns: Iterable[str]) -> str:
        """One pattern for all `patterns`; empty if there are none."""
        return "|".join(f"(?:{self.expand_parts(pattern)})" for pattern in patterns)

    def _part(self, name: str) -> str:
        part = _GIVEN.get(name, self.parts.get(name))
        if part is None:
            raise ValueError(f"there is no part {name} (parts: {', '.join([*_GIVEN, *self.parts])})")
        return part if isinstance(part, str) else "|".join(part)


def _is_balanced(pattern: str) -> bool:
    """Whether all brackets in `pattern` are balanced, so that joining cannot hide an error."""
    depth, rest = 0, _MARKS.sub("", pattern)
    for mark in rest:
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            return False
    return depth == 0 and not set("[]#") & set(rest)


def _patterns(table: VerdictTable) -> list[tuple[str, tuple[str, ...]]]:
    groups: list[tuple[str, BaseModel]] = [(name, getattr(table, name)) for name in ("unsure", "affirm", "deny")]
    found = [(f"{name}.{field}", getattr(group, field)) for name, group in groups for field in type(group).model_fields]
    single = [(name, (getattr(table, name),)) for name in ("head", "tail", "declares", "negated", "evaluates")]
    forms = table.restating
    return [
        *found,
        *single,
        ("restating", (*forms.spellings, *forms.negations, *forms.drops, *forms.stand_ins, *forms.stand_ins.values())),
        *(
            (name, getattr(table, name))
            for name in ("openers", "turns", "cut", "ignore", "abstain", "abstain_alone", "refuse")
        ),
    ]


def read_verdict_table(path: Path) -> VerdictTable:
    """Read the table in the YAML file `path`; DataError with all problems if it is missing or invalid."""
    return read_yaml(path, VerdictTable, "verdict table")


def lacks_verdicts(path: Path) -> bool:
    """Whether a table is the short form with an empty `says_yes` or `says_no`, as ``benchbuild new`` leaves it."""
    try:
        data = parse_plain_yaml(read_given_text(path, "utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return isinstance(data, dict) and any(data.get(name) == [] for name in ("says_yes", "says_no"))  # pyright: ignore[reportUnknownMemberType]


def check_examples(table: VerdictTable, path: Path, read: Callable[[str], str]) -> None:
    """Raise DataError unless `read` (which returns yes, no, abstained or empty) agrees with the examples of `table`."""
    given = table.examples
    wanted = (("yes", given.affirm), ("no", given.deny), ("abstained", given.abstain), ("", given.neither))
    wrong = [
        f"{example!r} reads {found or 'as neither'}, not {verdict or 'as neither'}"
        for verdict, examples in wanted
        for example in examples
        if (found := read(example)) != verdict
    ]
    if wrong:
        raise DataError(
            "the verdict table does not read its own examples",
            where=str(path), why="; ".join(wrong[:5]), next="correct the patterns or the examples",
        )  # fmt: skip
