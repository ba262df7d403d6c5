"""No export holds a character that nobody sees, and what is exported is still the same vote when it comes back."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest
from export_worlds import PEOPLE, as_set, material_of, read, spec_of, task_of, votes_of, written

from benchbuilder.annotation.formats.models import ExportInput, Rater
from benchbuilder.annotation.formats.registry import VOTE_FORMATS
from benchbuilder.annotation.formats.user_table import ToolUser, UserTable, read_user_table, write_user_table

HIDDEN = ("\0", "\x1b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\u3164", "\u00ad")
EVIL = "开始" + "x".join(HIDDEN) + "结束"


def evil_material() -> ExportInput:
    spec = spec_of(title=EVIL)
    tasks = [task_of(EVIL, EVIL, [(EVIL, EVIL)], about=(("model", EVIL),))]
    votes = [
        replace(vote, note=EVIL, value=EVIL if vote.question == "advice" else vote.value)
        for vote in votes_of(spec, tasks)
    ]
    return material_of(spec=spec, tasks=tasks, votes=votes)


@pytest.mark.parametrize("name", [name for name, each in VOTE_FORMATS.items() if each.writer])
def test_every_character_of_an_export_is_visible(name: str) -> None:
    material, writer = evil_material(), VOTE_FORMATS[name].writer
    assert writer is not None
    files = written(writer, material).files
    if name == "xlsx":
        (book,) = files.values()
        with zipfile.ZipFile(io.BytesIO(book)) as archive:
            files = {each: archive.read(each) for each in archive.namelist()}
    for file, data in files.items():
        text = data.decode("utf-8-sig")
        assert not [mark for mark in HIDDEN if mark in text], file
    if name != "history":
        assert any(b"U+202E" in data or b"\\u202e" in data for data in files.values())


@pytest.mark.parametrize("name", ["csv", "xlsx", "label_studio"])
def test_what_is_shown_otherwise_comes_back_as_it_was(name: str) -> None:
    material, form = evil_material(), VOTE_FORMATS[name]
    assert form.writer is not None
    files = written(form.writer, material, None).files
    file = next(file for file in files if file.endswith(form.suffix) and "users" not in file)
    users = read_user_table("users.csv", files["users.csv"])[0] if "users.csv" in files else None
    parsed = read(form.reader, file, files[file], material, users)
    assert parsed.problems == []
    expected = [vote for vote in material.votes if name != "label_studio" or vote.role == "annotator"]
    assert {line[:5] for line in as_set(parsed.votes)} >= {line[:5] for line in as_set(expected)}
    assert {vote.note for vote in parsed.votes} == {EVIL}


def test_a_table_of_users() -> None:
    data = write_user_table(UserTable([ToolUser("1" + EVIL, "a@b\u202e", Rater("李" + EVIL, "A1", PEOPLE[0].role))]))
    assert not [mark for mark in HIDDEN if mark in data.decode("utf-8-sig")]
