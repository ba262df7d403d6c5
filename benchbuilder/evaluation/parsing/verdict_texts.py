"""Prepares answers for reading verdicts: keeps one speaker, masks quotations, and cuts the text into clauses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchbuilder.core import convert_script, find_all, has_match, replace_all, unique_object
from benchbuilder.evaluation.parsing.restated_claims import ClaimFinder
from benchbuilder.evaluation.parsing.verdict_tables import CLAIM, CONTRARY, FALSE, OTHER, QUESTION, TRUE, VerdictTable

_SHORT_QUOTE = 12
_NUMBER = re.compile(r"\s*[(]?\d{1,2}[)]?\s*")
_AROUND = " '\"“”‘’\n"


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause without its opening words.

    `position` is its place in the text and `sentence` the number of its sentence. `is_retraction` says that it follows
    a word that takes back what was said, `asks` that it begins a question, `is_heading` that it is the heading of an
    item in a numbered list, and `is_open` that the text ends with it, without a stop.
    """

    text: str
    position: int
    sentence: int
    is_retraction: bool
    asks: bool = False
    is_heading: bool = False
    is_open: bool = False


def joined_pattern(tables: Sequence[VerdictTable], *names: str) -> str:
    """One pattern for the dotted `names` of all `tables`; empty if they have none."""
    joined: list[str] = []
    for table in tables:
        for name in names:
            group, _, field = name.partition(".")
            part: Any = getattr(table, group)
            patterns: tuple[str, ...] = getattr(part, field) if field else part
            joined.extend([table.any_of(patterns)] if patterns else [])
    return "|".join(joined)


class VerdictTexts:
    """Prepares answers by the settings of `tables`."""

    def __init__(self, tables: Sequence[VerdictTable]) -> None:
        self._tables = tables
        self._longest = max(table.longest for table in tables)
        self._fields = [name for table in tables for name in table.fields]
        self._asks = "".join(table.asks for table in tables)
        stops, pauses = "".join(table.stops for table in tables), "".join(table.pauses for table in tables)
        self._ends = frozenset(stops + self._asks + "\n")
        marks = "".join(re.escape(mark) for mark in sorted((self._ends | set(pauses)) - {"."}))
        self._cuts = re.compile(rf"[{marks}]|\.(?![0-9a-z])" if "." in stops else f"[{marks}]")
        self._quotes = [
            re.compile(f"{re.escape(o)}([^{re.escape(o)}{re.escape(c)}]{{0,400}}){re.escape(c)}")
            for o, c in dict.fromkeys(pair for table in tables for pair in table.quotes)
        ]
        self._turns = joined_pattern(tables, "turns")
        self._openers = "|".join(filter(None, (joined_pattern(tables, "openers"), self._turns, f"{QUESTION}+")))
        self._finders = [finder for finder in map(ClaimFinder, tables) if finder.knows_forms]
        self._cut, self._ignore = joined_pattern(tables, "cut"), joined_pattern(tables, "ignore")

    def convert_script(self, text: str) -> str:
        """`text` in the scripts of the tables."""
        for table in self._tables:
            text = convert_script(text, table.script) if table.script is not None else text
        return text

    def strip_marks(self, text: str) -> str:
        """`text` without punctuation at its ends."""
        return text.strip("".join(self._ends) + " ")

    def first_speaker(self, text: str) -> str:
        """`text` up to the next speaker, with a JSON object replaced by the value of its answer field."""
        spans = find_all(self._cut, text) if self._cut else []
        return self._field(text[: spans[0].start] if spans else text)

    def sentence_number(self, text: str, position: int) -> int:
        """The number of the sentence at `position`."""
        return sum(1 for match in self._cuts.finditer(text, 0, position) if match.group() in self._ends)

    def _field(self, text: str) -> str:
        """`text` with a JSON object replaced by the value of its answer field."""
        for at in (match.start() for match in re.finditer(r"\{", text[:20_000])):
            try:
                data, end = json.JSONDecoder(object_pairs_hook=unique_object).raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            value = next(_values(data, self._fields), None)
            answer = {True: TRUE, False: FALSE}.get(value, "") if isinstance(value, bool) else value
            return f"{text[:at]}\n{answer if isinstance(answer, str) else ''}\n{text[end:]}"
        return text

    def mask_quotes(self, text: str, masks: Sequence[tuple[str, str]]) -> str:
        """`text` with the question, its claim and other quotations replaced by signs of the same length."""
        for words, sign in masks:
            text = text.replace(words, sign * len(words))
        text = self._mask_restated(text, {sign: words for words, sign in masks})
        for pattern in self._quotes:
            text = pattern.sub(_replace_quote, text)
        if self._ignore:
            for span in reversed(find_all(self._ignore, text)):
                text = text[: span.start] + OTHER * (span.end - span.start) + text[span.end :]
        return text

    def _mask_restated(self, text: str, known: Mapping[str, str]) -> str:
        """`text` with the claim and its contrary in other words replaced by their signs."""
        for finder in self._finders:
            if CLAIM in known and CONTRARY in known and finder.is_same(known[CLAIM], known[CONTRARY]):
                continue
            for sign, denied in ((CLAIM, CONTRARY), (CONTRARY, "")):
                for claim in finder.find(text, known[sign]) if sign in known else ():
                    mark = denied if claim.is_denied else sign
                    length = claim.span.end - claim.span.start
                    text = text[: claim.span.start] + mark * length + text[claim.span.end :] if mark else text
        return text

    def clauses(self, text: str) -> Iterator[Clause]:
        """The clauses of `text` that may contain a verdict."""
        sentence, held, at, before = 0, list[Clause](), 0, ""
        for start, end in [*(match.span() for match in self._cuts.finditer(text)), (len(text), len(text))]:
            clause, mark = text[at:start], text[start:end]
            heading = mark == ":" and _NUMBER.fullmatch(before) is not None
            held.append(
                replace(
                    self._clause(clause, at, sentence),
                    is_heading=heading,
                    is_open=not mark and start - at <= self._longest,
                )
            )
            before = clause
            at = end
            if mark in self._ends or not mark:
                if mark and mark in self._asks:  # at most what it begins with was said: "yes, isn't it?"
                    held = [replace(clause, asks=True) for clause in held[:-1][:1]]
                yield from held
                sentence, held = sentence + 1, []

    def _clause(self, text: str, position: int, sentence: int) -> Clause:
        text = " ".join(text.strip(_AROUND).split())
        if not text or len(text) > self._longest:
            return Clause("", position, sentence, is_retraction=False)
        turned = bool(self._turns and has_match(rf"\A(?:(?:{self._openers})\s*)*?(?:{self._turns})", text))
        return Clause(replace_all(rf"\A(?:(?:{self._openers})\s*)+", "", text), position, sentence, turned)


def _values(data: Any, fields: Sequence[str]) -> Iterator[Any]:
    """The values of the keys `fields` in `data`, outermost first."""
    if isinstance(data, Mapping):
        mapping: Mapping[str, Any] = data
        yield from (mapping[name] for name in fields if name in mapping and not isinstance(mapping[name], dict | list))
        for value in mapping.values():
            yield from _values(value, fields)
    elif isinstance(data, list):
        items: list[Any] = data
        for item in items:
            yield from _values(item, fields)


def _replace_quote(match: re.Match[str]) -> str:
    """A short quotation, or one of signs only, without its marks; else a sign. The length stays the same."""
    inner = match[1]
    signs = inner and not set(inner) - {CLAIM, CONTRARY, QUESTION}
    return f" {inner} " if signs or len(inner) <= _SHORT_QUOTE else OTHER * len(match[0])
