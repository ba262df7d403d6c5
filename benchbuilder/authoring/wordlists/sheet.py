"""The sheet in which people review a word list, and their decisions.

Columns are found by their names, in any order. The `key` of a row binds its decision to what was shown: it holds the
digests of the sheet and of the row.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchbuilder.annotation import (
    UnreadableWorkbookError,
    csv_bytes,
    escape_formula,
    fold_whitespace,
    unescape_formula,
)
from benchbuilder.authoring.wordlists.match_counts import SAMPLES, MatchCounts, MatchSample
from benchbuilder.core import DataError, Term, csv_rows, head_excerpt, read_given_file, read_json, write_atomically

WordDecisionValue = Literal["keep", "drop"]
DECISION_COLUMNS = ("keep", "word", "correction", "comment", "by")
"""The first columns; people fill in all but `word`."""
_YES, _NO = {"keep", "yes", "y", "1", "true", "x"}, {"drop", "no", "n", "0", "false"}
_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class SheetContent:
    """The content of a sheet: rows of cells by column, facts about the list, and the digest of both."""

    rows: tuple[Mapping[str, str], ...]
    facts: Mapping[str, Any]
    digest: str

    def rows_by_key(self) -> dict[str, Mapping[str, str]]:
        """The rows by their keys."""
        return {f"{self.digest[:12]}-{_digest(row)[:12]}": row for row in self.rows}


@dataclass
class WordDecision:
    """The decision on a word, its correction, and the reviewer."""

    word: str
    decision: WordDecisionValue | None = None
    correction: str = ""
    comment: str = ""
    reviewer: str = ""
    location: str = ""


@dataclass
class FilledSheet:
    """A filled sheet: the digest of its content, the decisions by key, and what is wrong with it."""

    digest: str = ""
    rows: dict[str, WordDecision] = field(default_factory=dict[str, WordDecision])
    problems: list[str] = field(default_factory=list[str])


def sheet_content(
    terms: Sequence[Term], match_counts: MatchCounts, facts: Mapping[str, Any], min_matches: int = 0
) -> SheetContent:
    """The content of a sheet, the words with most matches first.

    Args:
        terms: The words.
        match_counts: Their matches.
        facts: How the list was made.
        min_matches: Words with fewer matches are left out and named in the facts.
    """
    totals: list[int] = match_counts.totals().tolist()
    if min_matches:
        left_out = sorted(term.text for term, total in zip(terms, totals, strict=True) if total < min_matches)
        facts = {**facts, "least_hits": min_matches, "left_out": left_out}
    order = sorted(range(len(terms)), key=lambda n: (-totals[n], terms[n].text))
    rows: list[dict[str, str]] = []
    for n in (n for n in order if totals[n] >= min_matches):
        flat = terms[n].flat_cells()
        row = {"word": flat.pop("text"), **flat, "hits": str(totals[n])}
        row |= {f"hits {name}": str(int(counts[n])) for name, counts in match_counts.counts.items()}
        row["alone"] = str(int(match_counts.only_match_counts[n]))
        samples = match_counts.samples[n]
        for number in range(SAMPLES):
            row[f"sample_{number + 1}"] = _sample(samples[number]) if number < len(samples) else ""
        rows.append(row)
    return SheetContent(tuple(rows), dict(facts), _digest([rows, facts]))


def _sample(sample: MatchSample) -> str:
    return f"{sample.text} [{sample.source}]" + ("" if sample.is_only_match else " [others too]")


def render_word_sheet(
    content: SheetContent, xlsx: bool, earlier_decisions: Mapping[str, WordDecision] | None = None
) -> bytes:
    """The sheet as CSV or XLSX, with the earlier decisions on the same words."""
    keyed = content.rows_by_key()
    names = list(next(iter(keyed.values()), {"word": ""}))
    header = [*DECISION_COLUMNS, *(name for name in names if name != "word"), "key"]
    lines = [header]
    for key, row in keyed.items():
        earlier = (earlier_decisions or {}).get(row["word"], WordDecision(row["word"]))
        cells = {**row, "key": key, "keep": earlier.decision or "", "correction": earlier.correction,
                 "comment": earlier.comment, "by": earlier.reviewer}  # fmt: skip
        lines.append([escape_formula(cells.get(name, "")) for name in header])
    if not xlsx:
        return csv_bytes(lines)
    from benchbuilder.annotation import table_workbook_bytes  # needs the extra `xlsx`

    return table_workbook_bytes("words", lines, freeze="C2")


def read_word_sheet(path: Path) -> FilledSheet:
    """Read a filled sheet; DataError if it is not a sheet of words."""
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
            answers.problems.append(f"{where}: the row has no key; add new words to a list of your own")
            continue
        _read(cells, where, answers)
    return answers


def _read(cells: Mapping[str, str], where: str, filled_sheet: FilledSheet) -> None:
    digest = cells["key"].partition("-")[0]
    filled_sheet.digest = filled_sheet.digest or digest
    if digest != filled_sheet.digest:
        filled_sheet.problems.append(f"{where}: the row belongs to another sheet")
    elif cells["key"] in filled_sheet.rows:
        filled_sheet.problems.append(f"{where}: the same row is also at {filled_sheet.rows[cells['key']].location}")
    else:
        answer = unicodedata.normalize("NFKC", cells.get("keep", "")).strip().casefold()
        decision: WordDecisionValue | None = "keep" if answer in _YES else "drop" if answer in _NO else None
        if answer and decision is None:
            excerpt = head_excerpt(answer, 20)
            filled_sheet.problems.append(f"{where}: {excerpt!r} in the column keep is neither keep nor drop")
        correction = fold_whitespace(cells.get("correction", ""))
        if correction and decision == "drop":
            filled_sheet.problems.append(f"{where}: the word is both dropped and corrected")
        filled_sheet.rows[cells["key"]] = WordDecision(
            cells.get("word", ""), decision or ("keep" if correction and not answer else None), correction,
            fold_whitespace(cells.get("comment", "")), fold_whitespace(cells.get("by", "")), where,
        )  # fmt: skip


def _lines(path: Path) -> list[list[str]]:
    try:
        data = read_given_file(path)
        sheets = _workbook_lines(data) if path.suffix.lower() == ".xlsx" else [csv_rows(data, _is_header)]
    except (OSError, UnreadableWorkbookError) as error:
        raise DataError("the sheet cannot be read", where=str(path), why=str(error), next="name the sheet") from error
    words = next((lines for lines in sheets if lines and _is_header(lines[0])), None)
    if words is None:
        raise DataError(
            "this is not a sheet of words", where=str(path), why="no columns are headed keep, word and key",
            next="name a sheet that `benchbuild word-list collect` wrote",
        )  # fmt: skip
    return words


def _workbook_lines(data: bytes) -> list[list[list[str]]]:
    from benchbuilder.annotation import read_workbook  # needs the extra `xlsx`

    return list(read_workbook(data).values())


def _is_header(cells: Sequence[str]) -> bool:
    return {"keep", "word", "key"} <= {fold_whitespace(cell).lower() for cell in cells}


def decisions_by_word(
    content: SheetContent, filled_sheet: FilledSheet, undecided: WordDecisionValue | None, reviewer: str, path: Path
) -> dict[str, WordDecision]:
    """The decision on every word of a sheet.

    Args:
        content: The content of the sheet.
        filled_sheet: The filled sheet.
        undecided: The decision on words without one.
        reviewer: Who decided, where a row does not say it.
        path: The sheet, for messages.

    Raises:
        DataError: The sheet has errors, or words are undecided.
    """
    rows = content.rows_by_key()
    unknown = (row.location for key, row in filled_sheet.rows.items() if key not in rows)
    problems = [*filled_sheet.problems, *(f"{location}: this row was not in the sheet" for location in unknown)]
    decisions: dict[str, WordDecision] = {}
    open_words: list[str] = []
    for key, row in rows.items():
        word = row["word"]
        given = filled_sheet.rows.get(key, WordDecision(word))
        if fold_whitespace(given.word) != fold_whitespace(word):
            problems.append(f"{given.location}: the word was {word!r}: write another one into the column correction")
        if given.decision is None and undecided is None:
            open_words.append(word)
        person = (given.reviewer or reviewer) if given.decision else ""
        decisions[word] = replace(given, word=word, decision=given.decision or undecided, reviewer=person)
    if open_words:
        few = ", ".join(open_words[:5]) + (", ..." if len(open_words) > 5 else "")
        problems.append(f"{len(open_words)} of {len(rows)} words are not decided: {few}")
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise DataError(
            "the sheet cannot be accepted", where=str(path), why="; ".join(problems[:_MOST_PROBLEMS]) + more,
            next="write keep or drop into the column keep of every row, or give --undecided drop",
        )  # fmt: skip
    return decisions


def save_sheet_content(content: SheetContent, folder: Path) -> Path:
    """Save the content of a sheet for `find_sheet_content`, and return the file."""
    path = folder / f"{content.digest[:12]}.json"
    text = json.dumps({"facts": content.facts, "rows": content.rows}, ensure_ascii=False, indent=1)
    return write_atomically(path, text + "\n")


def find_sheet_content(filled_sheet: FilledSheet, folder: Path, path: Path) -> SheetContent:
    """The saved content of a sheet; DataError if it is unknown here, or was changed."""
    file = folder / f"{filled_sheet.digest}.json"
    try:
        data: Any = read_json(file)
    except (OSError, ValueError) as error:
        raise DataError(
            "the content of this sheet is unknown here", where=str(path), why=f"there is no {file}",
            next="give the arguments that wrote the sheet, or write it again: benchbuild word-list collect",
        ) from error  # fmt: skip
    content = SheetContent(tuple(data["rows"]), data["facts"], _digest([data["rows"], data["facts"]]))
    if not content.digest.startswith(filled_sheet.digest):
        raise DataError("the saved content of the sheet was changed", where=str(file), next="write the sheet again")
    return content


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
