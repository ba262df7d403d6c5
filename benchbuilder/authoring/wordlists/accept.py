"""Writes reviewed words as a word list, with their provenance in files next to it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchbuilder.authoring.wordlists.sheet import SheetContent, WordDecision
from benchbuilder.core import (
    DataError,
    compose_characters,
    escape_cell,
    normalise_space,
    read_given_file,
    write_atomically,
)

GENERATED_HEADER = "# Word list, reviewed: "
"""The first text of lists that this module wrote and may replace."""
_COLUMNS = ("word", "decision", "shown_as", "lists", "original", "translated_by", "hits", "decided_by", "comment")


@dataclass(frozen=True)
class AcceptedList:
    """The written files, and the numbers of kept, corrected and dropped words."""

    files: tuple[Path, ...]
    kept_count: int
    corrected_count: int
    dropped_count: int


def write_word_list(
    sheet_content: SheetContent, decisions: Mapping[str, WordDecision], sheet: Path, path: Path
) -> AcceptedList:
    """Write the kept words, and their provenance next to them.

    Args:
        sheet_content: The content of the sheet.
        decisions: The decisions by word.
        sheet: The filled sheet.
        path: The word list.

    Raises:
        DataError: No word is kept, or `path` is another file.
    """
    entries = [_provenance_entry(row, decisions[row["word"]]) for row in sheet_content.rows]
    words = sorted({entry["word"] for entry in entries if entry["decision"] == "keep"})
    if not words:
        raise DataError("no word is kept", where=str(sheet), next="keep some words")
    if odd := [word for word in words if word.startswith("#")]:
        raise DataError(f"a word cannot begin with #: {odd[0]}", where=str(sheet), next="correct it")
    stem = path.name.removesuffix(path.suffix)
    records, table = (path.with_name(f"{stem}.provenance.{suffix}") for suffix in ("json", "tsv"))
    text = "\n".join([*_header(sheet_content, len(words), records.name), "", *words]) + "\n"
    _write_generated(path, text.encode())
    facts = {**sheet_content.facts, "collection": sheet_content.digest,
             "sheet": {"file": sheet.name, "sha256": hashlib.sha256(read_given_file(sheet)).hexdigest()},
             "decided_by": sorted({entry["decided_by"] for entry in entries if entry["decided_by"]}),
             "words": _entries_by_word(entries, "keep"), "dropped": _entries_by_word(entries, "drop")}  # fmt: skip
    write_atomically(records, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    write_atomically(table, _provenance_table(entries))
    corrected = sum(entry["decision"] == "keep" and entry["word"] != entry["shown_as"] for entry in entries)
    dropped = sum(entry["decision"] == "drop" for entry in entries)
    return AcceptedList((path, records, table), len(words), corrected, dropped)


def _provenance_entry(row: Mapping[str, str], decision: WordDecision) -> dict[str, Any]:
    """The provenance of one word."""
    word = row["word"]
    if decision.correction and decision.decision == "keep":
        word = compose_characters(normalise_space(decision.correction))
    hits = {name.removeprefix("hits "): int(cell) for name, cell in row.items() if name.startswith("hits ")}
    return {
        "word": word, "decision": decision.decision, "shown_as": row["word"], "lists": _split_cell(row["lists"]),
        "original": _split_cell(row["original"]), "translated_by": _split_cell(row["translated_by"]),
        "hits": {"all": int(row["hits"]), **hits, "alone": int(row["alone"])}, "decided_by": decision.reviewer,
        "comment": decision.comment,
    }  # fmt: skip


def _split_cell(cell: str) -> list[str]:
    return cell.split(" | ") if cell else []


def _entries_by_word(entries: Iterable[Mapping[str, Any]], decision: str) -> dict[str, list[dict[str, Any]]]:
    """The entries of each word; there are several if corrections merged words."""
    by_word: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=itemgetter("word", "shown_as")):
        if entry["decision"] == decision:
            details = {name: value for name, value in entry.items() if name not in ("word", "decision")}
            by_word.setdefault(entry["word"], []).append(details)
    return by_word


def _header(content: SheetContent, count: int, records: str) -> list[str]:
    """The comment at the head of a list."""
    facts = content.facts
    lines = [f"{GENERATED_HEADER}{count} words ({facts['language']}) of {len(facts['lists'])} lists."]
    for name, source in facts["lists"].items():
        lines.append(f"#   {name}: {source['file']} ({source['language']}), sha256 {source['sha256'][:16]}")
    if translators := facts.get("translation"):
        lines.append(f"# Translated by {' and '.join(translator['name'] for translator in translators)}.")
    return [*lines, f"# The origin of each word, and who decided on it: {records}"]


def _provenance_table(entries: Iterable[Mapping[str, Any]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
    writer.writerow(_COLUMNS)
    for entry in sorted(entries, key=itemgetter("word", "shown_as")):
        writer.writerow([escape_cell(_cell_text(entry[name])) for name in _COLUMNS])
    return stream.getvalue().encode()


def _cell_text(value: Any) -> str:
    if isinstance(value, dict):
        return str(value["all"])
    return " | ".join(value) if isinstance(value, list) else str(value)


def _write_generated(path: Path, data: bytes) -> None:
    """Write a list, but never replace one that was made by hand."""
    if path.exists() and not read_given_file(path).startswith(GENERATED_HEADER.encode()):
        raise DataError(
            f"{path} exists already", where=str(path), why="it was not written by this command",
            next="name another file with --output, or move this one away",
        )  # fmt: skip
    write_atomically(path, data)
