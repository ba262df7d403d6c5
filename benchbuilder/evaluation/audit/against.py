"""Finds the items of a benchmark in corpora, and pairs of items that repeat or contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import LengthUnit, Row, cells_of, write_atomically
from benchbuilder.evaluation.audit.duplicates import DuplicatePair, distinct_part
from benchbuilder.evaluation.audit.matching.corpora import read_documents
from benchbuilder.evaluation.audit.matching.matches import BenchmarkText, Matcher, TextMatch
from benchbuilder.evaluation.audit.matching.units import unit_text
from benchbuilder.exporters import csv_table

_FIELDS = {"question": "full-question", "answer": "answer"}
_DUPLICATES = ("kind", "item", "other", "similarity", "question", "answer", "other_answer")
_MATCHES = ("item", "field", "document", "start", "run", "coverage", "with_answer", "excerpt", "finding")
FINDINGS = ("copied", "contained", "long run", "run")
"""What a match may mean, the worst first."""


@dataclass(frozen=True)
class CorpusMatches:
    """Where a benchmark was found: its matches, what was read, and how many texts were too short to look for."""

    matches: tuple[TextMatch, ...]
    documents: int
    characters: int
    texts: int
    too_short: int

    def counts(self) -> Counter[str]:
        """How many items have each finding, each item by its worst one."""
        worst: dict[str, int] = {}
        for match in self.matches:
            place = FINDINGS.index(match.finding)
            worst[match.text.id] = min(worst.get(match.text.id, place), place)
        return Counter(FINDINGS[place] for place in worst.values())

    def with_answer(self) -> int:
        """How many items have a document with their right answer near the match."""
        return len({match.text.id for match in self.matches if match.with_answer})


def match_corpora(
    rows: Sequence[Row], paths: Sequence[str], unit: LengthUnit, cwd: Path, language: str
) -> CorpusMatches:
    """Look for the questions and right answers of items in the documents of `paths`.

    Raises:
        DataError: A path cannot be read.
    """
    texts = benchmark_texts(rows, unit)
    matcher = Matcher(texts, unit)
    matches = matcher.find(document for path in paths for document in read_documents(path, cwd, language))
    return CorpusMatches(tuple(matches), matcher.documents, matcher.characters, len(texts), matcher.too_short())


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
