"""Files in formats that no source reads, as records: ``new`` writes them as JSON Lines beside the recipe."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.starter.sample import Reading, encoding_settings
from benchbuilder.core import read_given_file

_GIFT = re.compile(r"(?<!\\)\{[^{}]*(?<!\\)=[^{}]*\}")
_BRACES = re.compile(r"(?<!\\)\{(?P<answers>(?:\\.|[^{}\\])*)\}", re.DOTALL)
_ANSWER = re.compile(r"(?<!\\)([=~])((?:\\.|[^=~\\])*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([~=#{}:\\])")
_TRUE_OR_FALSE = re.compile(r"\s*(?:T|F|TRUE|FALSE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """The records of a file, and a note for people on what they were made from and what was left out."""

    records: Sequence[Mapping[str | int, Any]]
    note: str

    @property
    def data(self) -> bytes:
        """The records as JSON Lines."""
        return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in self.records).encode()


def convert_file(path: Path, reading: Reading) -> ConvertedFile | None:
    """The records of a file that must be converted; ``None`` for one that sources read as it is."""
    read = _FORMATS.get(path.suffix.lower())
    return read(path, reading) if read is not None else None


def _gift(path: Path, reading: Reading) -> ConvertedFile | None:
    """The questions of a file in Moodle's GIFT that have options and one right one; the others are counted."""
    plain = read_given_file(path).decode("utf-8-sig", errors="replace")
    if not _GIFT.search(plain):
        return None
    encoding = str(encoding_settings(path, reading).get("encoding", "utf-8-sig"))
    text = read_given_file(path).decode(encoding).replace("\r\n", "\n")
    records, left_out = list[Mapping[str | int, Any]](), Counter[str]()
    for line, block in _blocks(text):
        braces = _BRACES.search(block)
        answers = _ANSWER.findall(braces["answers"]) if braces is not None else []
        right = [_plain(answer) for sign, answer in answers if sign == "="]
        if braces is None or len(right) != 1 or len(answers) < 2 or "->" in right[0]:
            left_out[_sort(braces["answers"] if braces is not None else None)] += 1
            continue
        before = re.sub(r"\A::.*?(?<!\\)::", "", block[: braces.start()], flags=re.DOTALL)
        gap = f"_____ {block[braces.end() :]}" if block[braces.end() :].strip() else ""
        question = _plain(f"{before.strip()} {gap}")
        options = [_plain(answer) for _, answer in answers]
        records.append({"id": f"{path.name}:{line}", "question": question, "options": options, "answer": right[0]})
    rest = "".join(f"; left out: {count} {sort}" for sort, count in left_out.items())
    return ConvertedFile(records, f"{len(records)} questions of GIFT, written as JSON Lines{rest}")


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The questions of a file in GIFT, each with its first line."""
    lines = ["" if line.startswith(("//", "$")) else line for line in text.split("\n")]
    start = 0
    for number, line in enumerate([*lines, ""]):
        open_braces = len(re.findall(r"(?<!\\)\{", "\n".join(lines[start:number])))
        if not line.strip() and open_braces <= len(re.findall(r"(?<!\\)\}", "\n".join(lines[start:number]))):
            if block := "\n".join(lines[start:number]).strip():
                yield number - block.count("\n"), block
            start = number + 1


def _plain(text: str) -> str:
    """A text of GIFT without format, weight, feedback and escapes."""
    text = re.sub(r"\A\s*(?:\[\w+\]|%-?[\d.]+%)|(?<!\\)#.*", "", text.strip(), flags=re.DOTALL)
    return " ".join(_ESCAPED.sub(r"\1", text).split())


def _sort(answers: str | None) -> str:
    if answers is None:
        return "without answers"
    if _TRUE_OR_FALSE.match(answers):
        return "true/false"
    return "of another type" if _ANSWER.search(answers) else "numeric or essay"


_FORMATS = {".gift": _gift, ".txt": _gift}
