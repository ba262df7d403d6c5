"""Finds the items of a benchmark in corpora, and pairs of items that repeat or contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import read_kind_spec
from benchbuilder.core import (
    DataError,
    EndOfFile,
    LengthUnit,
    Row,
    cells_of,
    count_phrase,
    create_from_spec,
    open_given_file,
    write_atomically,
)
from benchbuilder.evaluation.audit.built import AuditOfTask
from benchbuilder.evaluation.audit.compared_items import distinct_part
from benchbuilder.evaluation.audit.duplicates import DuplicatePair, find_duplicates
from benchbuilder.evaluation.audit.matching.matches import (
    CONTAINED,
    COPIED,
    RUN,
    STRONG_RUN,
    BenchmarkText,
    Document,
    Matcher,
    TextMatch,
)
from benchbuilder.evaluation.audit.matching.units import unit_text
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.exporters import csv_table
from benchbuilder.sources import Source, find_files

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


_RECORDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".tab", ".parquet")
_TEXTS = (".txt", ".md")
_BOOKS = (".pdf", ".epub")
_DUMPS = (".xml", ".bz2", ".gz")
_SUFFIXES = (*_RECORDS, *_TEXTS, *_BOOKS, *_DUMPS)
_COLUMN = "text"
_HEAD = 1 << 16
_LONG_LINE = 200
"""Lines of a plain text that are longer on average are documents; shorter ones are parts of a paragraph."""
_WIKIPEDIA: Mapping[str, Any] = {"kind": "wikipedia", "disambiguation": (), "sections": (), "headings": True}
_WHERE = "command line: --against"


def read_documents(path: str, cwd: Path, language: str, empty: list[str] | None = None) -> Iterator[Document]:
    """The documents of `path`: a file, a folder, or a glob; ``PATH:COLUMN`` names the column of records.

    Plain text is one document per line, or per block between blank lines if its lines are short. Books are one per page
    or chapter, records and pages of a dump one each. The names of files without a document are added to `empty`.

    Raises:
        DataError: There is no such file, its format is not known, or no file of `path` has a document.
    """
    name, column = _column_of(path, cwd)
    files, read = _files(name, cwd), 0
    for file in files:
        before = read
        data = _source_of(file, column)
        source: Source = create_from_spec("source", read_kind_spec("source", data), file.name, language)
        source.check()
        for batch in source.read_batches():
            if not isinstance(batch, EndOfFile):
                documents, texts = batch.rows.column("document"), batch.rows.column("text")
                read += len(texts)
                yield from map(Document, documents, texts)
        if read == before and empty is not None:
            empty.append(file.name)
    if not read:
        raise DataError(f"{path} has no document", where=_WHERE, next="name the column of the texts: PATH:COLUMN",
                        why=f"{count_phrase(len(files), 'file')}, no text in the column {column!r}")  # fmt: skip


def _column_of(path: str, cwd: Path) -> tuple[str, str]:
    """The path and the column that follows it after a colon."""
    name, colon, column = path.rpartition(":")
    if colon and column and "/" not in column and not (cwd / path).exists():
        return name, column
    return path, _COLUMN


def _files(path: str, cwd: Path) -> list[Path]:
    if (cwd / path).is_dir():
        files = sorted(file for file in (cwd / path).rglob("*") if file.is_file() and file.suffix.lower() in _SUFFIXES)
        if not files:
            raise DataError(f"{path} has no file that can be read", where=_WHERE, why=f"known: {', '.join(_SUFFIXES)}")
        return files
    ref = read_kind_spec("source", {"kind": "corpus", "path": {"path": path, "resolved_path": str(cwd / path)}}).path
    return [file.path for file in find_files(ref, "--against", _SUFFIXES)]


def _source_of(file: Path, column: str) -> Mapping[str, Any]:
    """The source that reads a file, by its suffix."""
    suffix = file.suffix.lower()
    path = {"path": str(file), "resolved_path": str(file)}
    if suffix in _DUMPS:
        return {**_WIKIPEDIA, "path": path}
    if suffix in _BOOKS:
        return {"kind": "books", "path": path, "running_lines": "drop", "join_hyphens": True}
    if suffix in _TEXTS:
        return {"kind": "corpus", "path": path, "format": "text", "unit": _text_unit(file)}
    if suffix in _RECORDS:
        return {"kind": "corpus", "path": path, "columns": {"text": column}}
    raise DataError(f"the format of {file.name} is not known", where=_WHERE, why=f"known: {', '.join(_SUFFIXES)}",
                    next="give the file the suffix of what it is")  # fmt: skip


def _text_unit(file: Path) -> str:
    """What a document of a plain text is: a block, if its lines are short and there are blank ones; else a line."""
    with open_given_file(file, most_bytes=None) as stream:
        head = stream.read(_HEAD).decode("utf-8", "replace").replace("\r", "")
    lines = [line for line in head.split("\n") if line.strip()]
    short = len(head) < _LONG_LINE * max(1, len(lines))
    return "block" if short and "\n\n" in head else "line"
