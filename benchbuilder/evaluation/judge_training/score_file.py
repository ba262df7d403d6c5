"""Scores a file of answers with a trained judge: reads the records, adds scores with intervals, writes them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import (
    DataError,
    GivenParquet,
    Item,
    is_blank,
    parse_json,
    read_given_file,
    strip_reasoning,
    write_atomically,
)
from benchbuilder.evaluation.judges.base import Case, ScoringJudge, case_hash, make_case
from benchbuilder.evaluation.stats.accuracy import conformal_interval

SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet")
_AT_A_TIME = 2_000
_LISTED_PROBLEMS = 5

Record = dict[str, Any]


def read_records(path: Path) -> list[Record]:
    """The records of a file of JSON Lines, CSV, TSV or Parquet.

    Raises:
        DataError: The file cannot be read in the format of its suffix.
    """
    _check_suffix(path)
    try:
        if path.suffix == ".parquet":
            with GivenParquet(path) as file:
                return file.rows()
        text = read_given_file(path).decode("utf-8-sig")
        if path.suffix == ".jsonl":
            return [_record(line) for line in text.split("\n") if line.strip()]
        delimiter = "\t" if path.suffix == ".tsv" else ","
        return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except OSError as error:
        raise DataError(f"cannot read {path}", why=error.strerror or str(error), next="name a file") from error
    except (ValueError, RecursionError, csv.Error, pa.ArrowException) as error:
        raise DataError(
            f"{path} does not have the format of its suffix",
            why=str(error),
            next=f"give UTF-8 text: {', '.join(SUFFIXES)}",
        ) from error


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise DataError(f"the suffix of {path} is unknown", next=f"use {', '.join(SUFFIXES)}")


def _record(line: str) -> Record:
    record: Any = parse_json(line)
    if not isinstance(record, dict):
        raise ValueError(f"a line is {line[:40]!r} instead of a record")  # noqa: TRY004 - an error in the file, not in the code
    if not _is_encodable(json.dumps(record, ensure_ascii=False)):
        raise ValueError(f"a line contains half a character (a lone surrogate): {line[:40]!r}")
    return record


def _is_encodable(text: str) -> bool:
    """Whether a text has no lone surrogates, which no file can contain."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def record_cases(records: Sequence[Record], items: Mapping[str, Item[Any]], location: str) -> list[Case]:
    """The case of each record: from the item with its `id` if there is one, else from its own columns.

    The columns are `question` (or `full-question`), `evidence` (a list, or one paragraph per line) and `type`; `answer`
    is always required.

    Raises:
        DataError: Records lack what they need; the message lists them.
    """
    cases: list[Case] = []
    faults: list[str] = []
    for number, record in enumerate(records, 1):
        item, answer = items.get(str(record.get("id"))), record.get("answer")
        question = record.get("question") or record.get("full-question")
        if not isinstance(answer, str):
            faults.append(f"record {number} has no answer")
        elif item is not None:
            cases.append(make_case(item, answer))
        elif isinstance(question, str):
            evidence = tuple(_paragraphs(record.get("evidence")))
            cases.append(
                Case(question, strip_reasoning(answer) or "", evidence, type=str(record.get("type") or "").lower())
            )
            if not _is_encodable("".join(evidence)):
                faults.append(f"record {number} has half a character (a lone surrogate) in its evidence")
        else:
            known = "no question" if "id" not in record else f"no question, and its id {record['id']!r} is no item's"
            faults.append(f"record {number} has {known}")
    if faults:
        more = f" (and {len(faults) - _LISTED_PROBLEMS} more)" if len(faults) > _LISTED_PROBLEMS else ""
        raise DataError(
            f"{len(faults)} of {len(records)} records cannot be scored",
            where=location,
            why="; ".join(faults[:_LISTED_PROBLEMS]) + more,
            next="give columns question, answer and evidence, or id and answer",
        )
    return cases


def _paragraphs(value: Any) -> Iterator[str]:
    """The paragraphs in a cell: a list of texts or of records with `text`, the same as JSON, or one per line."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            value = str(value)
    parts: Iterable[Any] = value.split("\n") if isinstance(value, str) else value or ()
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str) and text.strip():
            yield text


def score_records(
    records: Sequence[Record], cases: Sequence[Case], judge: ScoringJudge, half_width: float | None,
    learned: Collection[str] = (),
) -> list[Record]:  # fmt: skip
    """Add scores, intervals of `half_width` to either side, and labels to the records.

    The columns are ``score``, ``low``, ``high`` and ``label``. Without a `half_width`, `low` and `high` are empty. The
    label is ``learned`` if the judge was trained on this answer (its hash is in `learned`, see `read_learned_hashes`).
    It is ``empty`` if the answer has no text; such an answer scores 0 and has no interval, as in an evaluation.
    """
    scored: list[Record] = []
    for start in range(0, len(cases), _AT_A_TIME):
        batch = cases[start : start + _AT_A_TIME]
        answers = [case for case in batch if not is_blank(case.answer)]
        scores = iter(judge.score([case if judge.spec.evidence else case.without_evidence() for case in answers]))
        for record, case in zip(records[start : start + _AT_A_TIME], batch, strict=True):
            blank = is_blank(case.answer)
            score = 0.0 if blank else next(scores)
            low, high = (None, None) if blank or half_width is None else conformal_interval(score, half_width)
            label = "empty" if blank else "learned" if learned and case_hash(case) in learned else ""
            scored.append({**record, "score": score, "low": low, "high": high, "label": label})
    return scored


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write the records in the format of the suffix of `path`, all or nothing."""
    _check_suffix(path)
    if path.suffix == ".parquet":
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(list(records)), stream, compression="zstd")
        data = stream.getvalue()
    elif path.suffix == ".jsonl":
        data = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    else:
        names = list(dict.fromkeys(name for record in records for name in record))
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(record.get(name)) for name in names] for record in records)
        data = text.getvalue()
    write_atomically(path, data)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
