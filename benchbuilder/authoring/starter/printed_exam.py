"""Examinations as they are printed: questions, options behind letters, and the key below each or at the end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from benchbuilder.authoring.starter.sample import UnclearLayoutError, table_words
from benchbuilder.core import count_phrase, normalise_space

_FEWEST = 3
"""So many questions with options and a key make an examination."""
_UNKEYED = 5
"""So many questions with options, and no key of any, are an examination whose key is missing."""
_MARK = r"(?:[(\uff08]\s*{letter}\s*[)\uff09]|{letter}\s*[.\uff0e)\uff09\u3001:\uff1a])"
"""What stands before an option."""
_LETTERS = "ABCDEFGHIJ"
_NUMBER = re.compile(
    r"\s*(?:[(\uff08](?P<inside>\d{1,4})[)\uff09]|(?P<bare>\d{1,4})\s*[.\uff0e)\uff09\u3001:\uff1a](?!\d))\s*"
)
_CALLED = re.compile(r"\s*(?:[^\W\d_]{2,12}\s+|\u7b2c)(?P<bare>\d{1,4})\s*\u9898?\s*(?:[.):\uff1a]\s*|\Z)")
"""A line that says which question follows: *Question 3*."""
_SIGN = re.compile(r"\s*(?:\[x\]|[*\u2713\u2714\u2705\u221a])\s*", re.IGNORECASE)
_KEYS = re.compile(r"[A-J](?:\s*(?:[,;/&+\u3001]|\b(?:and|und|y|e|et)\b)?\s*[A-J])*(?![^\W\d_])")
_IN_STEM = re.compile(r"([(\uff08])\s*([A-J]{1,6})\s*([)\uff09])(?=\W*\Z)")
_PAIR = re.compile(
    r"(\d{1,4})\s*[.\uff0e)\uff09:\uff1a\u3001-]?\s*[(\uff08]?([A-J]{1,6}|[a-j](?![^\W\d_]))[)\uff09]?(?![^\W\d_])"
)
_RANGE = re.compile(
    r"(\d{1,4})\s*[-~\uff5e\u2013\u2014]+\s*(\d{1,4})\s*[.):\uff1a\u3001]?\s*((?:[A-J]\s*)+)(?![^\W\d_])"
)
_ASKS = re.compile(r"(?:[?\uff1f:\uff1a]|_{2,}|[(\uff08]\s*[)\uff09])\W*\Z")


@dataclass(slots=True)
class _PrintedQuestion:
    """A question while its lines are read; `line` is where it begins, counted from 1."""

    line: int
    number: int | None
    stem: list[str]
    options: list[str] = field(default_factory=list[str])
    marked: list[int] = field(default_factory=list[int])
    keys: str = ""
    notes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def text(self) -> str:
        """The question in one line."""
        return normalise_space(" ".join(self.stem))


def read_printed_exam(lines: Sequence[str], name: str) -> tuple[list[dict[str | int, Any]], str] | None:
    """The questions with options and a key among `lines`, and what was left out; ``None`` if they are no examination.

    A key stands behind a word such as *Answer:* below its question, in brackets at the end of the question, as a sign
    before or behind an option, or in a list at the end, by the numbers of the questions. The word of the line says the
    language; its words are those of ``words.yaml``. An option is a line, or all stand in one.

    Raises:
        UnclearLayoutError: There are questions with options, and the key of none.
    """
    pairs = enumerate(zip(lines, [*lines[1:], ""], strict=False), 1)  # no line, no pair
    found, rest = _questions([(at, part) for at, (line, following) in pairs for part in _split(line, following)])
    if not any(one.options for one in found) and (keys := _lone_keys(lines)) >= _FEWEST:
        raise UnclearLayoutError(
            f"a list of {keys} keys, and no options behind letters",
            sure=True,
            hint="type A., B., C. in front of the options: letters that a word processor adds by itself are no text",
        )
    listed = _key_list(rest)
    numbered = any(one.number for one in found)
    for place, one in enumerate(found, 1):
        one.keys = one.keys or "".join(_LETTERS[at] for at in one.marked) or _taken_from_stem(one)
        one.keys = one.keys or listed.get(one.number or (0 if numbered else place), "")
    whole = [one for one in found if len(one.options) > 1 and one.text]
    keyed = [one for one in whole if one.keys and max(one.keys) <= _LETTERS[len(one.options) - 1]]
    if len(keyed) < _FEWEST:
        if len(whole) >= _UNKEYED and sum(bool(_ASKS.search(one.text)) for one in whole) > len(whole) / 2:
            raise UnclearLayoutError(
                f"{count_phrase(len(whole), 'question')} with options and no key: where the right answers stand",
                sure=True,
                hint="add a line such as “Answer: B” below each question, or “Answer key: 1. B 2. D” at the end",
            )
        return None
    without = [one for one in found if one not in keyed]
    lost = f"; left out: {len(without)} without options or key (line {_some(without)})" if without else ""
    if stray := [one for one in keyed if any(_is_option(text) for text in one.stem[1:])]:
        lost += f"; look at {len(stray)} that may hold options of another (line {_some(stray)})"
    records = [_record(one, name) for one in keyed]
    return records, (f"{count_phrase(len(keyed), 'printed question')}, written as JSON Lines{lost}")


def _some(questions: Sequence[_PrintedQuestion]) -> str:
    shown = ", ".join(str(one.line) for one in questions[:8])
    return f"{shown} and {len(questions) - 8} more" if len(questions) > 8 else shown


def _record(one: _PrintedQuestion, name: str) -> dict[str | int, Any]:
    notes = {role: normalise_space(" ".join(texts)) for role, texts in one.notes.items()}
    return {
        "id": f"{name}:{one.line}", "question": one.text, "options": one.options, "answer": ", ".join(one.keys), **notes
    }  # fmt: skip


def _questions(lines: Sequence[tuple[int, str]]) -> tuple[list[_PrintedQuestion], list[str]]:
    """The questions, and the lines of a list of keys at the end."""
    found, stem = list[_PrintedQuestion](), list[tuple[int, str]]()
    role = ""
    for place, (at, line) in enumerate(lines, 1):
        text, own = line.strip(), found[-1] if found else None
        if _heads_key_list(text, len(found)):
            return found + _bare(stem), [text, *(rest for _, rest in lines[place:])]
        if not text:
            role, stem = "", [*stem, (at, "")] if stem else []
        elif (options := _options(text, 0)) and (stem or (role == "explanation" and own and own.notes[role][1:])):
            stem = stem or [(at, own.notes[role].pop())] if own else stem  # its line had no mark of a question
            found.append(_question(stem, at))
            _add(found[-1], options)
            role, stem = "options", []
        elif own is not None and not stem and (options := _options(text, len(own.options))):
            _add(own, options)
            role = "options"
        elif own is not None and not stem and (said := _said(text, own.options)) is not None:
            role, told = said
            if role == "answer":
                own.keys, role = own.keys or told, ""
            else:
                own.notes.setdefault(role, []).append(told)
        elif own is not None and role == "explanation" and not _number_of(text):
            own.notes[role].append(text)
        elif own is not None and role == "options" and not stem and text[:1].islower():
            own.options[-1] = f"{own.options[-1]} {text}"
        elif _number_of(text):
            found += _bare(stem)
            stem, role = [(at, text)], ""
        else:
            stem, role = [*stem, (at, text)], ""
    return found + _bare(stem), []


def _bare(stem: Sequence[tuple[int, str]]) -> list[_PrintedQuestion]:
    """The numbered question of lines behind which no options came."""
    return [_question(stem, stem[0][0])] if stem and _number_of(stem[0][1]) else []


def _question(stem: Sequence[tuple[int, str]], at: int) -> _PrintedQuestion:
    """The question of the lines above its options."""
    line, first = stem[0] if stem else (at, "")
    if (numbered := _number_of(first)) is not None:
        number = next(int(digits) for digits in numbered.groups() if digits)
        return _PrintedQuestion(line, number, [first[numbered.end() :], *(text for _, text in stem[1:])])
    blocks = [place for place, (_, text) in enumerate(stem) if not text and any(text for _, text in stem[place:])]
    own = stem[blocks[-1] + 1 :] if blocks else stem  # what stands further above may be a title
    return _PrintedQuestion(own[0][0] if own else at, None, [text for _, text in own])


def _number_of(text: str) -> re.Match[str] | None:
    """The number with which a question begins."""
    return _NUMBER.match(text) or _CALLED.match(text)


def _add(one: _PrintedQuestion, options: Sequence[str]) -> None:
    """Add options to a question; one with a sign is right."""
    for option in options:
        signs = [
            sign for sign in (_SIGN.match(option), re.search(f"{_SIGN.pattern}\\Z", option, re.IGNORECASE)) if sign
        ]
        if signs:
            one.marked.append(len(one.options))
            option = option[: signs[0].start()] + option[signs[0].end() :]  # noqa: PLW2901 - without its sign
        one.options.append(option.strip())


def _is_option(text: str) -> bool:
    return any(_options(text, known) for known in range(len(_LETTERS)))


def _split(line: str, following: str) -> list[str]:
    """A line, or the question and the options that stand in it.

    These are three at least, two behind a question mark, or some that go on in the line that follows.
    """
    for mark in re.finditer(r"(?<=\s)[(\uff08]?[Aa][.\uff0e)\uff09\u3001]", line):
        before, behind = line[: mark.start()], line[mark.start() :]
        count = len(_options(behind, 0))
        asks = count == 2 and _ASKS.search(before) is not None
        if count > 2 or asks or (count and _options(following.strip(), count)):
            return [before, behind]
    return [line]


def _options(text: str, known: int) -> list[str]:
    """The options that a line holds, if they go on behind `known` ones: one, or several in the order of letters."""
    starts = list[tuple[int, int]]()
    at = 0
    for letter in _LETTERS[known:]:
        mark = _MARK.format(letter=f"[{letter}{letter.lower()}]")
        sign = r"(?:\[x\]|[*\u2713\u2714\u2705\u221a])?\s*"
        pattern = re.compile(
            rf"{sign}{mark}\s*" if not starts else rf"(?<=\s){sign}{mark}\s*|(?<=[\u3400-\u9fff;\uff1b]){mark}\s*"
        )
        match = pattern.match(text) if not starts else pattern.search(text, at)
        if match is None:
            break
        starts.append((match.start(), match.end()))
        at = match.end()
    ends = [start for start, _ in starts[1:]] + [len(text)] * bool(starts)
    found = [
        (("*" if _SIGN.match(text[start:end]) else "") + text[end:stop]).strip(" ;\t\u3000")
        for (start, end), stop in zip(starts, ends, strict=True)
    ]
    return found if all(found) else []


@cache
def _words() -> dict[str, re.Pattern[str]]:
    """The patterns of lines by role: the answer, an explanation, and what stands above a list of keys."""
    told: Mapping[str, list[str]] = table_words()["printed"]
    return {
        role: re.compile(rf"\W*(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})", re.IGNORECASE)
        for role, words in told.items()
    }


def _said(text: str, options: Sequence[str]) -> tuple[str, str] | None:
    """What a line below the options says, and of what: the letters of the answer, or an explanation."""
    for role in ("answer", "explanation"):
        if (word := _words()[role].match(text)) is None:
            continue
        behind = text[word.end() :]
        colon = re.match(r"[\]\u3011)\s]*(?:[:\uff1a.]|[\]\u3011)])\s*|(?P<bare>\s+)(?=[\[(]?[A-J]\b)", behind)
        if colon is None or (colon["bare"] and role == "explanation"):
            continue
        told = behind[colon.end() :].strip()
        if role == "explanation":
            return (role, told)
        letters = re.sub(r"\A(?:[^\W\d_]{2,12}\s+)?[(\[\uff08]?", "", told)
        if keys := _KEYS.match(letters) or re.match(r"[a-j](?=\W|\Z)", letters):
            return role, "".join(sorted(set(re.findall("[A-J]", keys[0].upper() if len(keys[0]) == 1 else keys[0]))))
        same = [place for place, option in enumerate(options) if option.casefold() == told.casefold().rstrip(".")]
        if len(same) == 1:
            return role, _LETTERS[same[0]]
    return None


def _heads_key_list(text: str, questions: int) -> bool:
    """Whether a line stands above a list of keys, or is one."""
    if not questions or (word := _words()["keys"].match(text)) is None:
        return bool(questions and re.fullmatch(r"\d{1,4}\W{0,3}[A-J]", text))
    behind = text[word.end() :].strip(" :\uff1a]\u3011)")
    return not behind or bool(_PAIR.match(behind) or _RANGE.match(behind))


def _key_list(lines: Sequence[str]) -> dict[int, str]:
    """The keys of a list by the numbers of their questions; none of a number that stands there twice."""
    text, keys = " ".join(lines), dict[int, list[str]]()
    for span in _RANGE.finditer(text):
        letters, first, last = re.findall("[A-J]", span[3]), int(span[1]), int(span[2])
        if last - first + 1 == len(letters):
            for number, letter in zip(range(first, last + 1), letters, strict=True):
                keys.setdefault(number, []).append(letter)
    for pair in _PAIR.finditer(_RANGE.sub(" ", text)):
        keys.setdefault(int(pair[1]), []).append("".join(sorted(set(pair[2].upper()))))
    return {number: found[0] for number, found in keys.items() if len(set(found)) == 1}


def _lone_keys(lines: Sequence[str]) -> int:
    """How many keys a list has in a text without options."""
    heads = [at for at, line in enumerate(lines) if _heads_key_list(line.strip(), 1)]
    return len(_key_list(lines[heads[-1] :])) if heads else 0


def _taken_from_stem(one: _PrintedQuestion) -> str:
    """The letters in brackets at the end of a question, which are taken out of it."""
    whole = one.text
    if (key := _IN_STEM.search(whole)) is None:
        return ""
    one.stem = [f"{whole[: key.start()]}{key[1]} {key[3]}{whole[key.end() :]}"]
    return "".join(sorted(set(key[2])))
