"""Names of diseases and their codes: which code a name has, and how that was found out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Literal

from benchbuilder.core import comparison_form, find_all, matches_whole, replace_all
from rapidfuzz import fuzz, process

from benchbuilder_cmhe.dd.hierarchy import is_manifestation

MatchMethod = Literal["exact", "alias", "fuzzy", "model", "person"]
"""How a code was found: the name stands in a list; it is another form of one that does; it is near one; a model or a
person said so."""
_NEAREST = 32


@dataclass(frozen=True, slots=True)
class NameEntry:
    """A name with its code as a list has it; `how` is ``exact`` for the list's own name, ``alias`` for another form."""

    code: str
    name: str
    how: MatchMethod = "exact"


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A code that was found for a name: `entry` is what the list calls it, `score` from 0 to 100 how near that is.

    `part` is the part of the name that it was found for, where a name holds several diseases.
    """

    code: str
    entry: str
    how: MatchMethod
    score: float = 100.0
    part: str = ""


@dataclass(frozen=True)
class FuzzyRule:
    """When a name counts as the near one of a list: `threshold` of similarity in per cent, at least `at_least`
    characters, and what must be the same in both (`fixed`, patterns).

    Every difference, written ``this>listed``, must match one of `free`; without `free` any may be.
    """

    threshold: float
    at_least: int
    fixed: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


class DiseaseNames:
    """Names by the form in which they are compared.

    Of entries with the same name the list's own goes before other forms, a code that stands for itself before one that
    is only a manifestation, a short code before a long one, and then the first.
    """

    def __init__(self, entries: Iterable[NameEntry], spell: Callable[[str], str] = comparison_form) -> None:
        self.spell = spell
        self._by_name: dict[str, NameEntry] = {}
        for entry in entries:
            key = spell(entry.name)
            before = self._by_name.get(key)
            if key and (before is None or _rank(entry) < _rank(before)):
                self._by_name[key] = entry
        self.nearest = lru_cache(maxsize=20_000)(self._nearest)

    def __len__(self) -> int:
        return len(self._by_name)

    def with_forms(self, forms: Iterable[tuple[str, NameEntry]]) -> DiseaseNames:
        """These names and further forms of them: (form, entry); a form that is a name already stays one."""
        more = DiseaseNames([], self.spell)
        more._by_name = dict(self._by_name)
        for form, entry in forms:
            key = self.spell(form)
            if key:
                more._by_name.setdefault(key, replace(entry, how="alias"))
        return more

    def keys(self) -> Sequence[str]:
        """Every name and form, as it is compared."""
        return tuple(self._by_name)

    def entry(self, key: str) -> NameEntry | None:
        """The entry of a name as it is compared."""
        return self._by_name.get(key)

    def name_of(self, code: str) -> str:
        """The first name that has `code`, "" if none has."""
        return self._name_by_code.get(code, "")

    @cached_property
    def _name_by_code(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for entry in self._by_name.values():
            found.setdefault(entry.code, entry.name)
        return found

    def names_of(self, code: str) -> Sequence[str]:
        """Every name and form, as it is compared, of the disease of `code`, whatever national extension either has."""
        return self._by_disease.get(_disease(code), ())

    @cached_property
    def _by_disease(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, entry in self._by_name.items():
            found.setdefault(_disease(entry.code), []).append(key)
        return found

    def find(self, name: str) -> CodeMatch | None:
        """The code of a name that stands in the list, itself or in another form."""
        entry = self._by_name.get(self.spell(name))
        return None if entry is None else CodeMatch(entry.code, entry.name, entry.how)

    def _nearest(self, name: str, near: FuzzyRule, count: int = 1, whole: str = "") -> tuple[CodeMatch, ...]:
        """The `count` nearest names, the best first, which say of everything `fixed` what `name` says of it.

        If `name` was cut out of `whole`, what is fixed there counts.
        """
        key = self.spell(name)
        if len(key) < near.at_least:
            return ()
        said = _fixed_parts(near.fixed, self.spell(whole) or key)
        found = process.extract(
            key, self._name_list, scorer=fuzz.ratio, score_cutoff=near.threshold, limit=max(_NEAREST, count)
        )
        fitting = [
            (other, score)
            for other, score, _ in found
            if _fixed_parts(near.fixed, other) == said and _differs_freely(near.free, key, other)
        ]
        entries = sorted(((self._by_name[other], score) for other, score in fitting), key=_by_nearness)
        return tuple(CodeMatch(entry.code, entry.name, "fuzzy", round(score, 1)) for entry, score in entries[:count])

    @cached_property
    def _name_list(self) -> list[str]:
        return list(self._by_name)


def _disease(code: str) -> str:
    """A code without its asterisk and its national extension.

    >>> _disease("E14.200x210+N08.3*"), _disease("I10.x00x002"), _disease("J30.1")
    ('E14.200', 'I10.x00', 'J30.1')
    """
    return code.partition("+")[0][:7]


def _rank(entry: NameEntry) -> tuple[bool, bool, int]:
    return (entry.how != "exact", is_manifestation(entry.code), len(entry.code))


def _by_nearness(scored_entry: tuple[NameEntry, float]) -> tuple[float, bool, int, str]:
    entry, score = scored_entry
    return (-score, is_manifestation(entry.code), len(entry.code), entry.code)


def _fixed_parts(patterns: Sequence[str], text: str) -> list[str]:
    return sorted(span.slice_of(text) for pattern in patterns for span in find_all(pattern, text))


def _differs_freely(patterns: Sequence[str], name: str, listed: str) -> bool:
    """Whether all that differs may differ."""
    if not patterns:
        return True
    blocks = SequenceMatcher(None, name, listed, autojunk=False).get_opcodes()
    differences = [f"{name[a:b]}>{listed[c:d]}" for tag, a, b, c, d in blocks if tag != "equal"]
    return all(any(matches_whole(pattern, one) for pattern in patterns) for one in differences)


def rewriting_form(rewrites: Mapping[str, str]) -> Callable[[str], str]:
    """The form in which names are compared: without case, width and white space, each pattern put by its rewrite.

    >>> rewriting_form({"ii": "2"})("Type ＩＩ diabetes")
    'type2diabetes'
    """

    def spell(name: str) -> str:
        text = comparison_form(name)
        for pattern, put in rewrites.items():
            text = replace_all(pattern, put, text)
        return text

    return spell


def variant_forms(name: str, variants: Iterable[tuple[str, str]]) -> list[str]:
    """Other forms of a name: for each (pattern, replacement) that changes it, what it becomes.

    >>> variant_forms("coryza [common cold]", [(r" ?\\[.*\\]", ""), (r".*\\[(.*)\\]", r"\\1")])
    ['coryza', 'common cold']
    """
    made = (replace_all(pattern, put, name).strip() for pattern, put in variants)
    return [form for form in dict.fromkeys(made) if form and form != name]
