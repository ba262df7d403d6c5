"""What a set of cases holds: diseases, categories, lengths of names, and how they spread over chapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchbuilder_cmhe.dd.case import Case, Diagnosis
from benchbuilder_cmhe.dd.hierarchy import Hierarchy


@dataclass(frozen=True)
class Group:
    """The counts of some cases: `diagnoses` counts a disease in each of its cases, `diseases` each name once.

    `name_length` is the mean length of the names of the diseases in characters.
    """

    name: str
    cases: int
    diagnoses: int
    diseases: int
    categories: int
    name_length: float | None

    @property
    def per_case(self) -> float | None:
        """Diagnoses of a case, on average."""
        return self.diagnoses / self.cases if self.cases else None


@dataclass(frozen=True)
class Chapter:
    """The counts of one chapter; `by_origin` counts its diagnoses by where their cases come from."""

    code: str
    span: str
    title: str
    diagnoses: int
    diseases: int
    categories: int
    by_origin: tuple[int, ...]


@dataclass(frozen=True)
class Disease:
    """A name with one of its codes, and in how many cases it stands."""

    diagnosis: Diagnosis
    cases: int


@dataclass(frozen=True)
class Holdings:
    """Everything that is counted of a set of cases."""

    whole: Group
    origins: tuple[Group, ...]
    chapters: tuple[Chapter, ...]
    diseases: tuple[Disease, ...]
    how: tuple[tuple[str, int], ...]


def count(cases: Sequence[Case], hierarchy: Hierarchy, titles: dict[str, str]) -> Holdings:
    """The counts of `cases`; chapters stand in the order of the hierarchy, called by `titles` or as it calls them."""
    origins = sorted({case.setting for case in cases})
    groups = tuple(_group(name, [case for case in cases if case.setting == name]) for name in origins)
    found = Counter(diagnosis for case in cases for diagnosis in case.diagnoses)
    diseases = sorted(found.items(), key=lambda pair: (pair[0].category, pair[0].code, pair[0].name))
    chapters = [
        _chapter(node.code, hierarchy.span(node.code), titles.get(node.code, node.title), cases, origins)
        for node in hierarchy.chapters()
    ]
    how = Counter(diagnosis.how or "none" for case in cases for diagnosis in case.diagnoses)
    return Holdings(
        _group("", cases), groups, tuple(chapters), tuple(Disease(one, number) for one, number in diseases),
        tuple(sorted(how.items(), key=lambda pair: (-pair[1], pair[0]))),
    )  # fmt: skip


def _group(name: str, cases: Sequence[Case]) -> Group:
    diagnoses = [diagnosis for case in cases for diagnosis in case.diagnoses]
    names = _names(diagnoses)
    return Group(
        name, len(cases), len(diagnoses), len(names), len(_categories(diagnoses)),
        fmean(map(len, names)) if names else None,
    )  # fmt: skip


def _chapter(code: str, span: str, title: str, cases: Sequence[Case], origins: Sequence[str]) -> Chapter:
    held = [(case.setting, one) for case in cases for one in case.diagnoses if one.chapter == code]
    diagnoses = [one for _, one in held]
    by_origin = Counter(origin for origin, _ in held)
    return Chapter(
        code, span, title, len(diagnoses), len(_names(diagnoses)), len(_categories(diagnoses)),
        tuple(by_origin[origin] for origin in origins),
    )  # fmt: skip


def _names(diagnoses: Iterable[Diagnosis]) -> set[str]:
    return {diagnosis.name for diagnosis in diagnoses}


def _categories(diagnoses: Iterable[Diagnosis]) -> set[str]:
    return {diagnosis.category for diagnosis in diagnoses if diagnosis.category}
