"""Checks of a translation that need no speaker, each with its reason.

Those that *stop* hold a text back until a person decides; the others only say which texts a speaker looks at first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import regex

from benchbuilder.config import CheckWords
from benchbuilder.core import ScriptCounts, chrf, comparison_form, find_all, has_match
from benchbuilder.steps.language.odd_texts import odd_characters
from benchbuilder.steps.translation.figures import (
    changed_numbers,
    is_bare,
    kept_but_converted,
    measured,
    names_unit,
    numbers_in,
    plain_text,
    signs_in,
    symbol_count,
    units_in,
)
from benchbuilder.steps.translation.glossary import Glossary
from benchbuilder.steps.translation.learn import Learnt, back_scores
from benchbuilder.steps.translation.pairs import (
    OPTION,
    TextPair,
    TextPart,
    content,
    options,
    running,
    shared_form,
    words_in,
)

_STRANGE = 7.0
"""A text is unlike the others if its letters surprise by so many spreads."""
_NEARER_BITS = 1.15
"""A part is in the language of the original if its letters are nearer to that by so many bits each."""
_LONG_PART = 30
_REST_WORDS, _REST_RUN, _TELLING_RUN = 3, 4, 3
_ORDER_BY_FORM, _ORDER_BACK = 0.45, 0.5
"""How much better another order of options must fit: by what both languages share, and by translation back (chrF)."""
_MOST_OPTIONS = 6
_LONGER = 1.5
_STOPS = r"[.!?…]+[\"'”’)]*(?=\s|$)|[。！？；]+|[؟!]+(?=\s|$)|[:：፡](?=\s|$)|।|[።፧]+"
_QUESTION_MARKS = "?？؟፧"
_LAST = regex.compile(r"(?<=[.?!。？！।።])\s+")
_BLANK = re.compile(r"_{2,}|\.{4,}|…+")
_NO_STOP = regex.compile(r"(?<!\p{L})\p{Lu}\.|\.{2,}|_+|\d\.")
_QUOTED = regex.compile(r"\([^)]*\)|[“\"‘'«][^”\"’'»]*[”\"’'»]")
_LATIN_RUN = regex.compile(r"(?:(?<!\p{L})\p{Ll}[\p{Latin}’'-]*[\s,:;]+){4,}")

Found = Iterator[tuple[str, str]]


class Fault(NamedTuple):
    """What a check found: its reason (a drop reason), the part (empty: the whole), and the detail."""

    check: str
    reason: str
    part: str
    detail: str

    @property
    def stops(self) -> bool:
        """Whether a person must decide about it."""
        return self.check in STOPPING


@dataclass(frozen=True)
class Checker:
    """Checks translations by what is known of both languages and by what pairs teach."""

    learnt: Learnt
    glossary: Glossary

    @property
    def known(self) -> tuple[CheckWords, CheckWords]:
        """The words of both languages."""
        return self.learnt.source, self.learnt.target

    def faults(self, pair: TextPair) -> list[Fault]:
        """All faults of a pair, in the order of the checks."""
        return [
            Fault(name, check.reason, part, detail)
            for name, check in CHECKS.items()
            for part, detail in check.find(self, pair)
        ]

    def not_looked_at(self) -> list[str]:
        """What cannot be checked, for want of words, of pairs or of translations back."""
        source, target = self.known
        no_back = not any(pair.back for pair in self.learnt.pairs)
        listed = bool(source.negation and target.negation)
        missing = {
            "negation": no_back and not listed,
            "numbers in words": not (source.numbers and target.numbers),
            "converted units": not (source.imperial and target.metric),
            "glossary": not self.glossary.terms,
            "translation back": no_back,
        }
        return [name for name, absent in missing.items() if absent]


def _characters(c: Checker, pair: TextPair) -> Found:  # noqa: ARG001
    for name, text in pair.target.items():
        if odd := odd_characters(text):
            yield name, odd


def _numbers(c: Checker, pair: TextPair) -> Found:
    for part in pair.parts():
        lost, new = changed_numbers(part.source, part.target, c.known)
        if lost or new:
            yield part.name, f"lost {', '.join(lost) or 'none'}; new {', '.join(new) or 'none'}"


def _signs(c: Checker, pair: TextPair) -> Found:  # noqa: ARG001
    for part in pair.parts():
        if (before := signs_in(part.source)) != (after := signs_in(part.target)):
            yield part.name, f"{' '.join(before.elements()) or 'none'} → {' '.join(after.elements()) or 'none'}"


def _units(c: Checker, pair: TextPair) -> Found:
    source, target = c.known
    for part in pair.parts():
        before, after = units_in(part.source), units_in(part.target)
        lowered = part.target.lower()
        for unit, count in before.items():
            names = names_unit(part.target, unit, target)
            names += sum(lowered.count(run) for run in c.learnt.unit_symbols.get(unit, ()))
            known = after[unit] + names
            if not known and symbol_count(part.target, unit) < symbol_count(part.source, unit):
                known_there = c.learnt.shares_script or unit in c.learnt.known_units
                if known_there or is_bare(part.source, part.target, unit):
                    yield part.name, f"{unit} is gone"
            elif 0 < known < count:
                yield part.name, f"{unit} {count} times, now {known}"
        for unit in after:
            if unit not in before and not names_unit(part.source, unit, source) and not symbol_count(part.source, unit):
                yield part.name, f"{unit} is new"
        for word, runs in c.learnt.unit_words.items():
            if has_match(measured(word), part.source) and not any(run in lowered for run in runs):
                yield part.name, f"{word} is gone (elsewhere {', '.join(runs)})"


def _system(c: Checker, pair: TextPair) -> Found:
    for part in pair.parts():
        for text in kept_but_converted(part.source, part.target, c.known):
            yield part.name, f"{text}: the unit became another, the number stayed"


def _missing(c: Checker, pair: TextPair) -> Found:  # noqa: ARG001
    for name, text in pair.source.items():
        if comparison_form(text).strip(".") and not comparison_form(pair.target.get(name, "")).strip("."):
            yield name, "it has no translation"
    yield from ((name, "the original has no such part") for name in pair.target if name not in pair.source)


def _options(c: Checker, pair: TextPair) -> Found:  # noqa: ARG001
    listed = options(pair.parts())
    for at, part in enumerate(listed):
        for other in listed[:at]:
            if (
                part.target
                and _tight(part.target) == _tight(other.target)
                and _tight(part.source) != _tight(other.source)
            ):
                yield part.name, f"equal to {other.name}: “{part.target}” (“{other.source}”, “{part.source}”)"


def _tight(text: str) -> str:
    """An option as it counts: signs and stops inside numbers stay, so that +5 is not -5."""
    return re.sub(r"[\s.。;,]+", "", plain_text(text)).casefold()


def _glossary(c: Checker, pair: TextPair) -> Found:
    for part in pair.parts():
        yield from ((part.name, fault) for fault in c.glossary.faults(part.source, part.target))


def _script(c: Checker, pair: TextPair) -> Found:
    """A Latin name counts as one letter where another script is wanted."""
    scripts = c.learnt.scripts
    text = regex.sub(r"\([^)]*\)", " ", plain_text(" ".join(pair.target.values())))
    found = ScriptCounts([text if "LATIN" in scripts else regex.sub(r"\p{Latin}+", "a", text)])
    share = sum(found.proportion(script) for script in scripts)
    if scripts and found.letters.total() > _REST_RUN and share < (0.95 if "LATIN" in scripts else 0.5):
        yield "", f"{share:.0%} of its letters are {' or '.join(sorted(scripts)).lower()}"


def _language(c: Checker, pair: TextPair) -> Found:
    """Only where both languages share a script: elsewhere `script` and `rest` see more."""
    learnt = c.learnt
    if learnt.is_small or not learnt.shares_script or len(" ".join(pair.target.values())) < _LONG_PART:
        return
    middle, spread = learnt.usual
    if (z := (learnt.surprise(pair) - middle) / spread) > _STRANGE:
        yield "", f"its letters are unlike the other texts (z {z:.1f})"
    own = pair.id in learnt.ids
    for part in pair.parts():
        text = regex.sub(r"\(.*?\)", "", part.target)
        if len(text) < _LONG_PART:
            continue
        source, target = learnt.models
        here = source.bits(text, apart=own and comparison_form(part.source) == comparison_form(part.target))
        if (nearer := target.bits(text, apart=own) - here) > _NEARER_BITS:
            yield part.name, f"nearer to the language of the original ({nearer:.1f} bits a letter)"


def _rest(c: Checker, pair: TextPair) -> Found:
    learnt = c.learnt
    for part in pair.parts():
        kept = _QUOTED.sub(" ", part.target)  # originals in quotes or brackets are wanted
        standing, here = words_in(kept), [word.lower() for word in words_in(part.source)]
        there = [word.lower() for word in standing]
        left = [word for word in there if word in learnt.source_only and word in here]
        shared = set(there) & set(here)
        if not learnt.shares_script and (run := _foreign_run(kept, here)):
            yield part.name, f"“{run}” is left"
        elif len(left) >= _REST_WORDS and len(set(left)) > 1:
            yield part.name, f"“{' '.join(left[:5])}” are left"
        elif run := _common_run(standing, here, learnt.source_only):
            yield part.name, f"“{run}” is left"
        elif len(here) > _REST_RUN and len(shared) > 0.8 * len(set(there)) and shared & learnt.source_only:
            yield part.name, "it is a copy of the original"


def _foreign_run(text: str, here: Sequence[str]) -> str:
    """Small words of the original, four at a time, in a text of another script."""
    match = _LATIN_RUN.search(regex.sub(r"[^\p{Latin}\s,:;’'-]+", " § ", text) + " ")
    if match is None or sum(word in here for word in words_in(match[0].lower())) < _REST_RUN:
        return ""
    return str(match[0]).strip()[:40]


def _common_run(there: Sequence[str], here: Sequence[str], telling: frozenset[str]) -> str:
    """A run of words that both have, one of them telling the language."""
    for size in (_REST_RUN, _TELLING_RUN):
        runs = {tuple(here[at : at + size]) for at in range(len(here) - size + 1)}
        for at in range(len(there) - size + 1):
            run = there[at : at + size]
            small = size == _REST_RUN or all(word.islower() for word in run)  # three words may be a name
            lowered = tuple(word.lower() for word in run)
            if small and lowered in runs and set(lowered) & telling:
                return " ".join(run)
    return ""


def _length(c: Checker, pair: TextPair) -> Found:
    for part in pair.parts():
        if not c.learnt.is_small and part.source.strip() and part.target.strip() and c.learnt.lengths.is_odd(part):
            yield part.name, f"{len(part.source)} → {len(part.target)} characters"


def _sentences(c: Checker, pair: TextPair) -> Found:
    """One more or less counts where the length agrees; the translation back is in the language of the original."""
    source, target = c.known
    back = c.learnt.back.lengths
    compared = [(part, target, c.learnt.lengths) for part in running(pair.parts())]
    compared += [(part, source, back) for part in running(pair.parts_back()) if back is not None]
    for part, words, lengths in compared:
        before, after = _sentence_count(part.source, source), _sentence_count(part.target, words)
        more = after - before
        if more and (abs(more) > 1 or more * lengths.z(part) > _LONGER):
            yield part.name, f"{before} → {after} sentences"


def _sentence_count(text: str, words: CheckWords) -> int:
    text = plain_text(text).strip()
    for pattern in words.abbreviations:
        text = regex.sub(rf"(?i)(?<!\p{{L}})(?:{pattern})\.", "", text)
    text = _NO_STOP.sub("", text)
    ended = bool(regex.search(rf"(?:{_STOPS})\s*$", text))
    return max(1, len(regex.findall(_STOPS, text)) + (not ended))


def _marks(c: Checker, pair: TextPair) -> Found:
    for part in running(pair.parts()):
        asks, asked = (any(mark in plain_text(text) for mark in _QUESTION_MARKS) for text in part[1:])
        blanks, left = (len(_BLANK.findall(plain_text(text))) for text in part[1:])
        if blanks != left:
            yield part.name, f"{blanks} → {left} blanks"
        elif (asks and not asked) or (asked and not asks and _sentence_count(part.source, c.known[0]) > 1):
            yield part.name, "a question mark is " + ("gone" if asks else "new")


def _order(c: Checker, pair: TextPair) -> Found:  # noqa: ARG001
    yield from _other_order(options(pair.parts()), shared_form, _ORDER_BY_FORM)


def _order_back(c: Checker, pair: TextPair) -> Found:
    """By the words that not most options share."""
    words = c.learnt.source
    parts = options(pair.parts_back())
    telling = [
        _telling([content(text, words) for text in texts]) for texts in zip(*(p[1:] for p in parts), strict=True)
    ]
    if telling:
        told = [TextPart(part.name, *texts) for part, *texts in zip(parts, *telling, strict=True)]
        yield from _other_order(told, lambda source, back: chrf(back, source), _ORDER_BACK)


def _telling(texts: Sequence[str]) -> list[str]:
    """Each text without the words that more than half of them have, unless nothing is left."""
    often = Counter(word for text in texts for word in set(text.split()))
    return [" ".join(word for word in text.split() if often[word] <= len(texts) / 2) or text for text in texts]


def _other_order(parts: Sequence[TextPart], score: Callable[[str, str], float], least: float) -> Found:
    """The order of options that fits better than the given one, if it does so by `least`."""
    if not 1 < len(parts) <= _MOST_OPTIONS:
        return
    table = [[score(one.source, other.target) for other in parts] for one in parts]
    places = range(len(parts))
    given = sum(table[at][at] for at in places)
    best = max(permutations(places), key=lambda order: sum(table[at][order[at]] for at in places))
    if sum(table[at][best[at]] for at in places) - given > least:
        moved = [f"{parts[at].name} to {parts[best[at]].name.removeprefix(OPTION)}" for at in places if best[at] != at]
        yield "", f"the options fit better in another order: {', '.join(moved)}"


def _last_sentence(text: str) -> str:
    found = [one for one in _LAST.split(plain_text(text).strip()) if words_in(one)]
    return found[-1] if found else text


def _denies(text: str, patterns: Sequence[str]) -> bool:
    text = plain_text(_last_sentence(text)).replace("’", "'")
    return any(has_match(pattern, text) for pattern in patterns)


def _negation(c: Checker, pair: TextPair) -> Found:
    """Whether the last sentence is denied on both sides or on none."""
    source, target = c.known
    if not source.negation or not target.negation:
        return
    for part in running(pair.parts()):
        before, after = _denies(part.source, source.negation), _denies(part.target, target.negation)
        if before != after:
            yield part.name, "a denial is " + ("gone" if before else "new")


def _negation_back(c: Checker, pair: TextPair) -> Found:
    """A clear denial on one side, and on the other no further word that might stand for it."""
    strict, near = c.learnt.source.negation, c.learnt.source.near_negation
    for part in running(pair.parts_back()):
        before, after = (_matches(_last_sentence(text), near) for text in part[1:])
        denied, came_back = (_denies(text, strict) for text in part[1:])
        if denied and not came_back and not after - before:
            yield part.name, "a denial is gone in the translation back"
        elif came_back and not denied and not before - after:
            yield part.name, "a denial is new in the translation back"


def _matches(text: str, patterns: Sequence[str]) -> Counter[str]:
    """What patterns find in a text, without case."""
    return Counter(span.slice_of(text).casefold() for pattern in patterns for span in find_all(pattern, text))


def _back(c: Checker, pair: TextPair) -> Found:
    if not pair.parts_back():
        return
    words, bounds = c.learnt.source, c.learnt.back
    whole, text = back_scores(pair, words)
    if whole < bounds.floor or text < bounds.text_floor:
        worst, floor = (whole, bounds.floor) if whole < bounds.floor else (text, bounds.text_floor)
        yield "", f"chrF of the translation back is {worst:.2f}, of accepted pairs at least {floor:.2f}"
    for part in pair.parts_back():
        if bounds.lengths is not None and bounds.lengths.is_odd(part):
            yield part.name, f"{len(part.source)} → {len(part.target)} characters after translation back"
        before, after = ({number for number, _ in numbers_in(text, words)[0]} for text in part[1:])
        if before - after and after - before:
            yield part.name, f"{', '.join(sorted(before - after))} came back as {', '.join(sorted(after - before))}"


class Check(NamedTuple):
    """A check: the reason that it gives, what that means, and how it looks."""

    reason: str
    meaning: str
    find: Callable[[Checker, TextPair], Found]


CHECKS: Mapping[str, Check] = {
    "characters": Check("odd_characters", "It has control characters or invisible ones.", _characters),
    "missing": Check("part_missing", "A part of the original has no translation, or one has no original.", _missing),
    "numbers": Check(
        "number_changed", "A number of the original is gone, or another one stands in its place.", _numbers
    ),
    "signs": Check("sign_changed", "A sign or a mark of comparison before a number changed.", _signs),
    "units": Check("unit_changed", "A unit of the original is gone, or a new one stands there.", _units),
    "system": Check("unit_converted", "A unit became one of another system, and its number stayed.", _system),
    "options": Check("options_merged", "Options that differ in the original are equal.", _options),
    "glossary": Check("glossary_ignored", "A term is not translated as the glossary says.", _glossary),
    "script": Check("wrong_script", "Its letters are not those of the other translations.", _script),
    "language": Check("wrong_language", "It is not in the language of the other translations.", _language),
    "rest": Check("untranslated_rest", "Words of the original are left in it.", _rest),
    "negation_back": Check(
        "negation_changed", "A denial is gone or new, as the translation back shows.", _negation_back
    ),
    "length": Check("odd_length", "It is far longer or shorter than translations are.", _length),
    "sentences": Check("text_added", "It has more or fewer sentences than the original.", _sentences),
    "marks": Check("marks_changed", "A blank or a question mark is gone or new.", _marks),
    "order": Check("order_changed", "Its options fit those of the original better in another order.", _order),
    "order_back": Check("order_changed", "Its options, translated back, fit better in another order.", _order_back),
    "negation": Check("negation_changed", "A denial is gone or new, as words of denial show.", _negation),
    "back": Check("unlike_back", "Its translation back is less like the original than those of accepted pairs.", _back),
}
STOPPING = frozenset(list(CHECKS)[: list(CHECKS).index("negation_back") + 1])
"""The checks that hold a text back until a person decides."""


def flagged_counts(faults: Sequence[Sequence[Fault]]) -> Counter[str]:
    """How many texts each check flags."""
    return Counter(name for found in faults for name in dict.fromkeys(fault.check for fault in found))
