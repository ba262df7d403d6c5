"""Without the extra `xlsx`, everything works in CSV, and a message names the extra where XLSX is asked for."""

from __future__ import annotations

import pytest
from absent_libraries import remove_library
from judged_world import World

from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.authoring.wordlists.sheet import SheetContent, read_word_sheet, render_word_sheet
from benchbuilder.core.errors import InstallationError

EXTRA = r"benchbuilder\[xlsx\]"


@pytest.fixture(autouse=True)
def _no_openpyxl(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_library(monkeypatch, "openpyxl")


def test_annotators_get_csv_and_their_votes_count(tmp_path):
    world = World(tmp_path)
    waiting = world.waiting()
    written = sorted(file.name for file in (tmp_path / "annotation" / "to_fill").iterdir())
    sheets = [name for name in written if not name.startswith(".")]
    assert [name[0] + name[-4:] for name in sheets] == ["a.csv", "a.txt", "b.csv", "b.txt"]
    how = "the .txt beside each says how; for XLSX: pip install 'benchbuilder[xlsx]'"
    assert waiting.next.startswith(f"fill in {sheets[0]}, {sheets[2]} ({how}), put")
    guide = (tmp_path / "annotation" / "to_fill" / sheets[1]).read_text("utf-8")
    for question in world.spec.questions.values():
        assert f"{question.label}: {question.text}" in guide
    world.votes(lambda person, row, paragraph, question: 1)
    items, _, _ = world.run()
    assert len(items) == 5


def test_a_filled_workbook_names_the_extra():
    contents = SheetContents(people={"a"}, questions={})
    with pytest.raises(InstallationError, match=f"(?s)XLSX.*{EXTRA}"):
        read_vote_sheet("a.xlsx", b"PK", contents)


def test_word_lists_are_reviewed_as_csv(tmp_path):
    content = SheetContent(({"word": "子痫前期", "hits": "3"}, {"word": "胎教", "hits": "1"}), {}, "digest")
    (tmp_path / "review.csv").write_bytes(render_word_sheet(content, xlsx=False))
    assert len(read_word_sheet(tmp_path / "review.csv").rows) == 2
    with pytest.raises(InstallationError, match=EXTRA):
        render_word_sheet(content, xlsx=True)
    (tmp_path / "review.xlsx").write_bytes(b"PK")
    with pytest.raises(InstallationError, match=EXTRA):
        read_word_sheet(tmp_path / "review.xlsx")
