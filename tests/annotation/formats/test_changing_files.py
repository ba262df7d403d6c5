"""Files that somebody overwrites while they are read, and the order of problems in files that are read once."""

import io
import json

import pytest
from export_worlds import as_set, material_of, read, written

from benchbuilder.annotation.formats.argilla import read_argilla, write_argilla
from benchbuilder.annotation.formats.history import read_history
from benchbuilder.annotation.formats.label_studio import write_label_studio
from benchbuilder.annotation.formats.label_studio_import import read_label_studio
from benchbuilder.annotation.formats.sheets import read_vote_table, write_vote_csv


class OverwrittenFile(io.BytesIO):
    """A file whose content is `later` after it was read to its end `passes` times."""

    def __init__(self, data, later, passes):
        super().__init__(data)
        self._later, self._passes = later, passes

    def seek(self, offset, whence=io.SEEK_SET, /):
        if self.tell() == len(self.getbuffer()):
            self._passes -= 1
            if self._passes == 0:
                super().seek(0)
                self.truncate()
                self.write(self._later)
        return super().seek(offset, whence)


@pytest.mark.parametrize(("write", "reader"), [(write_argilla, read_argilla), (write_label_studio, read_label_studio)])
def test_a_list_of_json_is_read_once(write, reader):
    material = material_of()
    files = written(write, material).files.values()
    data = next(data for data in files if read(reader, "e.json", data, material).votes)
    brought = reader("e.json", OverwrittenFile(data, b"[{", 1), material, None)
    assert brought.problems == []
    assert as_set(brought.votes) == as_set(read(reader, "e.json", data, material).votes)


@pytest.mark.parametrize(
    ("passes", "later", "told"),
    [
        (1, b"\xff\xff", "v.csv: it is not CSV in UTF-8 or GB18030"),
        (2, b"\xff\xff", "v.csv:1: it changed while it was read ('utf-8' codec"),
        (2, None, "v.csv:2: it changed while it was read ('utf-8' codec"),
    ],
)
def test_csv_that_changes_is_a_problem(passes, later, told):
    material = material_of()
    data = written(write_vote_csv, material).files["votes.csv"]
    if later is None:  # the decoder meets the change in a later piece than the header
        header, _, rest = data.partition(b"\r\n")
        data = header + b"\r\n" + b"," * 10_000 + b"\r\n" + rest
        later = data[: len(header) + 9_000] + b"\xff\xff"
    (problem, *_) = read_vote_table("v.csv", OverwrittenFile(data, later, passes), material, None).problems
    assert problem.startswith(told)


def test_what_is_no_object_is_told_first():
    rows = [{"annotations": ["x"], "data": {}}, 7, {"annotations": ["x"], "data": {}}, None]
    problems = read(read_label_studio, "e.json", json.dumps(rows).encode(), material_of()).problems
    assert [problem.partition(": ")[0] for problem in problems] == [
        "e.json:2", "e.json:4", "e.json:1, annotation 1", "e.json:3, annotation 1",
    ]  # fmt: skip
    lines = b'{"type": "vote"}\n7\n{"type": "vote"}\n{\n'
    problems = read(read_history, "h.jsonl", lines, material_of()).problems
    assert [problem.partition(": ")[0] for problem in problems[:4]] == [
        "h.jsonl:2", "h.jsonl:4", "h.jsonl:1", "h.jsonl:3",
    ]  # fmt: skip


def test_what_is_not_json_is_the_only_problem():
    data = b'[7, {"annotations": ["x"], "data": {}}, {]'
    (problem,) = read(read_label_studio, "e.json", data, material_of()).problems
    assert problem.startswith("e.json: it is not JSON in UTF-8 (")
