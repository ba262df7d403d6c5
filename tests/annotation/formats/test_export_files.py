"""The files of an export are there together or not at all, whoever else exports at the same time."""

import codecs
import csv
import io
from dataclasses import replace

import pytest
from export_worlds import material_of, spec_of, task_of, tasks_of

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.formats.adjudication import write_adjudication
from benchbuilder.annotation.formats.argilla import write_argilla
from benchbuilder.annotation.formats.label_studio import write_label_studio
from benchbuilder.annotation.formats.models import write_files
from benchbuilder.annotation.formats.sheets import write_vote_csv, write_vote_xlsx
from benchbuilder.annotation.sheets.sheets import csv_bytes, write_csv


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_exports_at_once_do_not_mix(tmp_path):
    def pieces():
        yield b"first, "
        write_files(tmp_path, {"votes.csv": [b"second"]})
        assert (tmp_path / "votes.csv").read_bytes() == b"second"
        yield b"whole"

    write_files(tmp_path, {"votes.csv": pieces()})
    assert content(tmp_path) == {"votes.csv": b"first, whole"}


@pytest.mark.parametrize("write", [write_argilla, write_label_studio, write_vote_csv, write_vote_xlsx])
def test_an_export_that_fails_leaves_the_files_of_the_one_before(tmp_path, write):
    material = material_of()
    write(material, None, tmp_path)
    before = content(tmp_path)
    last = replace(material.votes[-1], note=object())
    project = replace(material.project, spec=spec_of(paragraph="another word"))
    broken = replace(material, project=project, votes=[*material.votes[:-1], last])
    with pytest.raises((TypeError, AttributeError)):
        write(broken, None, tmp_path)
    assert content(tmp_path) == before


def test_an_export_that_is_interrupted_leaves_no_file(tmp_path):
    def pieces():
        yield b"1"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "new", {"a.json": [b"whole"], "b.json": pieces()})
    assert content(tmp_path / "new") == {}


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path):
    def pieces():
        yield b"1"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write_files(tmp_path, {"a.json": pieces()})
    assert caught.value.filename == str(tmp_path / "a.json")


class CountedPasses(list[Task]):
    """Tasks that count how often somebody goes through them."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


@pytest.mark.parametrize(
    "write", [write_argilla, write_label_studio, write_vote_csv, write_vote_xlsx, write_adjudication]
)
def test_an_export_goes_through_its_tasks_three_times_at_most(tmp_path, write):
    gold = task_of("planted", "known", expected=(("factual", 1),))
    material = material_of(tasks=CountedPasses([*tasks_of(), gold]))
    before = material.tasks.passes
    write(material, None, tmp_path)
    assert material.tasks.passes - before <= 3


def test_a_table_without_lines_is_still_known_as_utf_8():
    assert csv_bytes([]) == codecs.BOM_UTF8
    assert csv_bytes([["产后"]]).decode("utf-8-sig") == "产后\r\n"


def test_a_line_that_cannot_be_written_leaves_the_file_open():
    file = io.BytesIO()
    with pytest.raises(csv.Error):
        write_csv(file, [["a"], 1])
    assert file.getvalue() == codecs.BOM_UTF8 + b"a\r\n"
