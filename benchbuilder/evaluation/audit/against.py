"""Finds the items of a benchmark in corpora, and pairs of items that repeat or contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import LengthUnit, Row, cells_of, count_phrase, write_atomically
from benchbuilder.evaluation.audit.built import AuditOfTask
from benchbuilder.evaluation.audit.compared_items import distinct_part
from benchbuilder.evaluation.audit.duplicates import DuplicatePair, find_duplicates
from benchbuilder.evaluation.audit.matching.corpora import read_documents
from benchbuilder.evaluation.audit.matching.matches import (
    CONTAINED,
    COPIED,
    RUN,
    STRONG_RUN,
    BenchmarkText,
    Matcher,
    TextMatch,
)
from benchbuilder.evaluation.audit.matching.units import unit_text
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.exporters import csv_table

_FIELDS = {"question": "full-question", "answer": "answer"}
_DUPLICATES = ("kind", "item", "other", "similarity", "question", "answer", "other_answer")
_MATCHES = ("item", "field", "document", "start", "run", "coverage", "with_answer", "excerpt", "finding")
_NAMED = 5
"""So many files without a document are named."""
_MEANINGS = {
    "copied": f"copied (coverage {COPIED} or more)", "contained": f"contained (coverage {CONTAINED} or more)",
    "long run": f"with a common run of {STRONG_RUN} or more", "run": f"with one of {RUN} to {STRONG_RUN - 1}",
}  # fmt: skip
FINDINGS = tuple(_MEANINGS)
"""What a match may mean, the worst first."""


@dataclass(frozen=True)
class CorpusMatches:
    """Where a benchmark was found: its matches, what was read, and how many texts were too short to look for.

    `empty` names the files that have no document.
    """

    matches: tuple[TextMatch, ...]
    documents: int
    characters: int
    texts: int
    too_short: int
    empty: tuple[str, ...] = ()

    def counts(self, field: str = "question") -> Counter[str]:
        """How many items have each finding in a field, each item by its worst one."""
        worst: dict[str, int] = {}
        for match in self.matches:
            if match.text.field == field:
                place = FINDINGS.index(match.finding)
                worst[match.text.id] = min(worst.get(match.text.id, place), place)
        return Counter(FINDINGS[place] for place in worst.values())

    def sentences(self) -> list[str]:
        """What was found, for people; nothing found is not shown to be absent."""
        said = [f"{count_phrase(self.documents, 'document')} ({self.characters:,} characters) were searched"]
        for field in _FIELDS:
            counts = self.counts(field)
            found = [f"{counts[name]} {meaning}" for name, meaning in _MEANINGS.items() if counts[name]]
            said.append(f"{field}s of items: {', '.join(found) or 'none found'}; see matches.csv")
        if near := self.with_answer():
            said.append(f"{count_phrase(near, 'question')} with the right answer near the match")
        if self.too_short:
            said.append(f"{self.too_short} of {self.texts} texts of items are too short to look for")
        if self.empty:
            said.append(f"{count_phrase(len(self.empty), 'file')} without a document: {', '.join(self.empty[:_NAMED])}")
        return said

    def with_answer(self) -> int:
        """How many items have a document with their right answer near the question."""
        return len({match.text.id for match in self.matches if match.with_answer and match.text.field == "question"})


@dataclass(frozen=True)
class TextChecks:
    """What was found beside the checks of an audit: pairs inside the benchmark, and matches in corpora, if any."""

    duplicates: tuple[DuplicatePair, ...]
    corpora: CorpusMatches | None
    files: tuple[Path, ...]

    @property
    def contradictions(self) -> int:
        """How many pairs of items contradict each other; they close the gate."""
        return sum(pair.kind == "contradiction" for pair in self.duplicates)

    def sentences(self) -> list[str]:
        """What was found, for people."""
        kinds = Counter(pair.kind for pair in self.duplicates)
        said: list[str] = []
        if kinds:
            counts = ", ".join(count_phrase(number, kind) for kind, number in kinds.items())
            said.append(f"pairs of items: {counts}; see duplicates.csv")
        if self.corpora is not None:
            said += self.corpora.sentences()
        return said


def check_texts(audit: AuditOfTask, paths: Sequence[str], cwd: Path) -> TextChecks:
    """Look for pairs of items that repeat or contradict each other, and for the items in the documents of `paths`.

    Writes ``duplicates.csv``, and with `paths` ``matches.csv``, into the folder of the audit.

    Raises:
        DataError: A path cannot be read.
    """
    corpora = _find_in_corpora(audit, paths, cwd) if paths else None
    pairs = find_duplicates(audit.rows)
    audit.folder.mkdir(parents=True, exist_ok=True)
    files = [write_duplicates(pairs, audit.folder)]
    if corpora is not None:
        files.append(write_matches(corpora, audit.folder))
    return TextChecks(tuple(pairs), corpora, tuple(files))


def _find_in_corpora(audit: AuditOfTask, paths: Sequence[str], cwd: Path) -> CorpusMatches:
    recipe, rows = audit.loaded.recipe, list(audit.rows)
    unit = recipe.audit.unit or guess_unit([cells_of(row).get("full-question", "") for row in rows])
    return match_corpora(rows, paths, unit, cwd, recipe.language)


def match_corpora(
    rows: Sequence[Row], paths: Sequence[str], unit: LengthUnit, cwd: Path, language: str
) -> CorpusMatches:
    """Look for the questions and right answers of items in the documents of `paths`.

    Raises:
        DataError: A path cannot be read.
    """
    texts = benchmark_texts(rows, unit)
    matcher = Matcher(texts, unit)
    empty = list[str]()
    matches = matcher.find(document for path in paths for document in read_documents(path, cwd, language, empty))
    return CorpusMatches(
        tuple(matches), matcher.documents, matcher.characters, len(texts), matcher.too_short(), tuple(empty)
    )


def benchmark_texts(rows: Sequence[Row], unit: LengthUnit) -> list[BenchmarkText]:
    """The texts of items that are looked for. The answer is what the right answer has and the wrong one has not."""
    texts: list[BenchmarkText] = []
    for number, row in enumerate(rows):
        cells = cells_of(row)
        right, wrong = (unit_text(cells.get(name, ""), unit).compared() for name in ("answer", "answer-wrong"))
        part = distinct_part(right, wrong).strip()
        answer = part if len(part) > 1 else right
        texts += [
            BenchmarkText(number, row.id, field, cells[name], answer)
            for field, name in _FIELDS.items()
            if cells.get(name)
        ]
    return texts


def write_duplicates(pairs: Sequence[DuplicatePair], folder: Path) -> Path:
    """Write ``duplicates.csv``, one line for each pair."""
    lines = [[p.kind, p.first, p.second, p.similarity, p.question, *p.answers] for p in pairs]
    return write_atomically(folder / "duplicates.csv", csv_table(_DUPLICATES, lines))


def write_matches(found: CorpusMatches, folder: Path) -> Path:
    """Write ``matches.csv``, one line for each text and document; the worst findings come first."""
    ranked = sorted(found.matches, key=lambda match: (FINDINGS.index(match.finding), -match.coverage, -match.run))
    lines = [
        [m.text.id, m.text.field, m.document, m.start, m.run, round(m.coverage, 3), m.with_answer, m.excerpt, m.finding]
        for m in ranked
    ]
    return write_atomically(folder / "matches.csv", csv_table(_MATCHES, lines))
