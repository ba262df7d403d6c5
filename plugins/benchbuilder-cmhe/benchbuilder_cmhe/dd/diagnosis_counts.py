"""What a set of cases holds: diseases, categories, lengths of names, and how they spread over chapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.hierarchy import Hierarchy


@dataclass(frozen=True)
class CaseCounts:
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
class ChapterCounts:
    """The counts of one chapter; `by_origin` counts its diagnoses by where their cases come from."""

    code: str
    span: str
    title: str
    diagnoses: int
    diseases: int
    categories: int
    by_origin: tuple[int, ...]


@dataclass(frozen=True)
class DiseaseCount:
    """A name with one of its codes, and in how many cases it stands."""

    diagnosis: Diagnosis
    cases: int


@dataclass(frozen=True)
class DiagnosisCounts:
    """Everything that is counted of a set of cases."""

    whole: CaseCounts
    origins: tuple[CaseCounts, ...]
    chapters: tuple[ChapterCounts, ...]
    diseases: tuple[DiseaseCount, ...]
    how: tuple[tuple[str, int], ...]


def count_diagnoses(cases: Sequence[PatientCase], hierarchy: Hierarchy, titles: dict[str, str]) -> DiagnosisCounts:
    """The counts of `cases`; chapters stand in the order of the hierarchy, called by `titles` or as it calls them."""
    origins = sorted({case.setting for case in cases})
    groups = tuple(_count_cases(name, [case for case in cases if case.setting == name]) for name in origins)
    found = Counter(diagnosis for case in cases for diagnosis in case.diagnoses)
    diseases = sorted(found.items(), key=lambda pair: (pair[0].category, pair[0].code, pair[0].name))
    chapters = [
        _count_chapter(node.code, hierarchy.span(node.code), titles.get(node.code, node.title), cases, origins)
        for node in hierarchy.chapters()
    ]
    how = Counter(diagnosis.how or "none" for case in cases for diagnosis in case.diagnoses)
    return DiagnosisCounts(
        _count_cases("", cases), groups, tuple(chapters), tuple(DiseaseCount(one, number) for one, number in diseases),
        tuple(sorted(how.items(), key=lambda pair: (-pair[1], pair[0]))),
    )  # fmt: skip


def _count_cases(name: str, cases: Sequence[PatientCase]) -> CaseCounts:
    diagnoses = [diagnosis for case in cases for diagnosis in case.diagnoses]
    names = _names(diagnoses)
    return CaseCounts(
        name, len(cases), len(diagnoses), len(names), len(_categories(diagnoses)),
        fmean(map(len, names)) if names else None,
    )  # fmt: skip


def _count_chapter(
    code: str, span: str, title: str, cases: Sequence[PatientCase], origins: Sequence[str]
) -> ChapterCounts:
    held = [(case.setting, one) for case in cases for one in case.diagnoses if one.chapter == code]
    diagnoses = [one for _, one in held]
    by_origin = Counter(origin for origin, _ in held)
    return ChapterCounts(
        code, span, title, len(diagnoses), len(_names(diagnoses)), len(_categories(diagnoses)),
        tuple(by_origin[origin] for origin in origins),
    )  # fmt: skip


def _names(diagnoses: Iterable[Diagnosis]) -> set[str]:
    return {diagnosis.name for diagnosis in diagnoses}


def _categories(diagnoses: Iterable[Diagnosis]) -> set[str]:
    return {diagnosis.category for diagnosis in diagnoses if diagnosis.category}
