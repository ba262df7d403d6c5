"""The sheet in which people review a word list, and what they decided, read back.

Its columns are found by their names, in whatever order. A row is bound by its `key` to what it showed: the digest of
all that was shown, and that of the row.
"""

from __future__ import annotations

import hashlib
import io
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from benchbuilder.annotation import (
    UnreadableWorkbookError,
    csv_bytes,
    escape_formula,
    fold_whitespace,
    read_workbook,
    strip_archive_dates,
    unescape_formula,
)
from benchbuilder.authoring.wordlists.match_counts import SAMPLES, MatchCounts, MatchSample
from benchbuilder.core import DataError, Term, csv_rows, head_excerpt, write_atomically

WordDecisionValue = Literal["keep", "drop"]
DECISION_COLUMNS = ("keep", "word", "correction", "comment", "by")
"""The first columns: all but `word` are for people to fill in."""
_YES, _NO = {"keep", "yes", "y", "1", "true", "x"}, {"drop", "no", "n", "0", "false"}
_OTHERS_TOO = " [others too]"
_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class SheetContent:
    """What a sheet shows: rows of cells by column, and their digest, which is its name."""

    rows: tuple[Mapping[str, str], ...]
    facts: Mapping[str, Any]
    digest: str

    def rows_by_key(self) -> dict[str, Mapping[str, str]]:
        """The rows by their keys."""
        return {f"{self.digest[:12]}-{_digest(row)[:12]}": row for row in self.rows}


@dataclass
class WordDecision:
    """What people said of a word: what becomes of it, as which word, and who said so."""

    word: str
    decision: WordDecisionValue | None = None
    correction: str = ""
    comment: str = ""
    reviewer: str = ""
    location: str = ""


@dataclass
class FilledSheet:
    """A filled sheet: the digest of what it showed, and what was decided by key; `problems` says what is wrong."""

    digest: str = ""
    rows: dict[str, WordDecision] = field(default_factory=dict[str, WordDecision])
    problems: list[str] = field(default_factory=list[str])


def sheet_content(
    terms: Sequence[Term], match_counts: MatchCounts, facts: Mapping[str, Any], min_matches: int = 0
) -> SheetContent:
    """What a sheet shows of `terms` and their `match_counts`: those first that hit most. `facts` say how they were
    made.

    Words that hit fewer than `min_matches` rows are not shown, and named in the facts.
    """
    totals: list[int] = match_counts.totals().tolist()
    if min_matches:
        left_out = sorted(term.text for term, total in zip(terms, totals, strict=True) if total < min_matches)
        facts = {**facts, "least_hits": min_matches, "left_out": left_out}
    order = sorted(range(len(terms)), key=lambda at: (-totals[at], terms[at].text))
    rows: list[dict[str, str]] = []
    for at in (at for at in order if totals[at] >= min_matches):
        flat = terms[at].flat_cells()
        row = {"word": flat.pop("text"), **flat, "hits": str(totals[at])}
        row |= {f"hits {name}": str(int(counts[at])) for name, counts in match_counts.counts.items()}
        row["alone"] = str(int(match_counts.only_match_counts[at]))
        samples = match_counts.samples[at]
        for number in range(SAMPLES):
            row[f"sample_{number + 1}"] = _sample(samples[number]) if number < len(samples) else ""
        rows.append(row)
    return SheetContent(tuple(rows), dict(facts), _digest([rows, facts]))


def _sample(sample: MatchSample) -> str:
    return f"{sample.text} [{sample.source}]" + ("" if sample.is_only_match else _OTHERS_TOO)


def render_word_sheet(
    content: SheetContent, xlsx: bool, earlier_decisions: Mapping[str, WordDecision] | None = None
) -> bytes:
    """The sheet, as CSV or as XLSX; what was decided before of the same word (`earlier_decisions`) stands in it."""
    keyed = content.rows_by_key()
    names = list(next(iter(keyed.values()), {"word": ""}))
    header = [*DECISION_COLUMNS, *(name for name in names if name != "word"), "key"]
    lines = [header]
    for key, row in keyed.items():
        said = (earlier_decisions or {}).get(row["word"], WordDecision(row["word"]))
        cells = {**row, "key": key, "keep": said.decision or "", "correction": said.correction,
                 "comment": said.comment, "by": said.reviewer}  # fmt: skip
        lines.append([escape_formula(cells.get(name, "")) for name in header])
    return _workbook(lines) if xlsx else csv_bytes(lines)


def _workbook(lines: Sequence[Sequence[str]]) -> bytes:
    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet("words")
    sheet.freeze_panes = "C2"
    for number, line in enumerate(lines):
        cells: list[Any] = []
        for text in line:
            cell = _cell(sheet, text)
            if number == 0:
                cell.font = Font(bold=True)
            cells.append(cell)
        sheet.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    return strip_archive_dates(stream.getvalue())


def _cell(sheet: Any, text: str) -> Any:
    from openpyxl.cell import WriteOnlyCell

    cell: Any = WriteOnlyCell(sheet, value=ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", text))
    cell.data_type = "s"
    return cell


def read_word_sheet(path: Path) -> FilledSheet:
    """What people wrote into a sheet; DataError if it is none."""
    lines = _lines(path)
    header = [fold_whitespace(cell).lower() for cell in lines[0]]
    places = {name: header.index(name) for name in (*DECISION_COLUMNS, "key") if name in header}
    answers = FilledSheet()
    for number, line in enumerate(lines[1:], start=2):
        cells = {name: unescape_formula(line[at].strip()) if at < len(line) else "" for name, at in places.items()}
        if not any(cell.strip() for cell in line):
            continue
        where = f"{path.name}:{number}"
        if not cells.get("key"):
            answers.problems.append(f"{where}: the row has no key; a new word belongs into a list of yours")
            continue
        _read(cells, where, answers)
    return answers


def _read(cells: Mapping[str, str], where: str, filled_sheet: FilledSheet) -> None:
    digest = cells["key"].partition("-")[0]
    filled_sheet.digest = filled_sheet.digest or digest
    if digest != filled_sheet.digest:
        filled_sheet.problems.append(f"{where}: the row is of another sheet")
    elif cells["key"] in filled_sheet.rows:
        filled_sheet.problems.append(f"{where}: the same row stands at {filled_sheet.rows[cells['key']].location} too")
    else:
        said = unicodedata.normalize("NFKC", cells.get("keep", "")).strip().casefold()
        decision: WordDecisionValue | None = "keep" if said in _YES else "drop" if said in _NO else None
        if said and decision is None:
            filled_sheet.problems.append(
                f"{where}: {head_excerpt(said, 20)!r} in the column keep is neither keep nor drop"
            )
        correction = fold_whitespace(cells.get("correction", ""))
        if correction and decision == "drop":
            filled_sheet.problems.append(f"{where}: the word is dropped and corrected at once")
        filled_sheet.rows[cells["key"]] = WordDecision(
            cells.get("word", ""), decision or ("keep" if correction and not said else None), correction,
            fold_whitespace(cells.get("comment", "")), fold_whitespace(cells.get("by", "")), where,
        )  # fmt: skip


def _lines(path: Path) -> list[list[str]]:
    try:
        data = path.read_bytes()
        sheets = [csv_rows(data, _is_header)] if path.suffix.lower() != ".xlsx" else list(read_workbook(data).values())
    except (OSError, UnreadableWorkbookError) as error:
        raise DataError("the sheet cannot be read", where=str(path), why=str(error), next="name the sheet") from error
    found = next((lines for lines in sheets if lines and _is_header(lines[0])), None)
    if found is None:
        raise DataError(
            "this is no sheet of words", where=str(path), why="no columns are headed keep, word and key",
            next="name a sheet that `benchbuild words collect` wrote",
        )  # fmt: skip
    return found


def _is_header(cells: Sequence[str]) -> bool:
    return {"keep", "word", "key"} <= {fold_whitespace(cell).lower() for cell in cells}


def decisions_by_word(
    content: SheetContent, filled_sheet: FilledSheet, undecided: WordDecisionValue | None, reviewer: str, path: Path
) -> dict[str, WordDecision]:
    """What was decided of every word that was shown, by word; DataError if something is wrong or open.

    `undecided` is what becomes of words that nobody decided on, `reviewer` who decided where a row does not say it.
    """
    problems = list(filled_sheet.problems)
    rows = content.rows_by_key()
    problems += [
        f"{said.location}: this row was not shown" for key, said in filled_sheet.rows.items() if key not in rows
    ]
    found: dict[str, WordDecision] = {}
    open_words: list[str] = []
    for key, row in rows.items():
        said = filled_sheet.rows.get(key, WordDecision(row["word"]))
        if fold_whitespace(said.word) != fold_whitespace(row["word"]):
            problems.append(
                f"{said.location}: the word was {row['word']!r}: write another one into the column correction"
            )
        if said.decision is None and undecided is None:
            open_words.append(row["word"])
        found[row["word"]] = WordDecision(
            row["word"], said.decision or undecided, said.correction, said.comment,
            (said.reviewer or reviewer) if said.decision else "", said.location,
        )  # fmt: skip
    if open_words:
        few = ", ".join(open_words[:5]) + (", ..." if len(open_words) > 5 else "")
        problems.append(f"{len(open_words)} of {len(rows)} words are not decided: {few}")
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise DataError(
            "the sheet cannot be taken", where=str(path), why="; ".join(problems[:_MOST_PROBLEMS]) + more,
            next="write keep or drop into the column keep of every row, or say --undecided drop",
        )  # fmt: skip
    return found


def save_sheet_content(content: SheetContent, folder: Path) -> Path:
    """Keep what a sheet shows, so that the sheet can be taken back; the file."""
    path = folder / f"{content.digest[:12]}.json"
    text = json.dumps({"facts": content.facts, "rows": content.rows}, ensure_ascii=False, indent=1)
    return write_atomically(path, text + "\n")


def find_sheet_content(filled_sheet: FilledSheet, folder: Path, path: Path) -> SheetContent:
    """What the sheet showed; DataError if it is not known here, or was changed."""
    file = folder / f"{filled_sheet.digest}.json"
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            "nobody here knows what this sheet showed", where=str(path), why=f"there is no {file}",
            next="give the words by which it was written, or write it again: benchbuild words collect",
        ) from error  # fmt: skip
    shown = SheetContent(tuple(data["rows"]), data["facts"], _digest([data["rows"], data["facts"]]))
    if not shown.digest.startswith(filled_sheet.digest):
        raise DataError("what the sheet showed was changed", where=str(file), next="write the sheet again")
    return shown


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
