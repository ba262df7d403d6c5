"""Each command of the page of published tables makes a table with the columns of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from once import JUDGED, Once
from published_tables import PublishedRow, published_rows

from benchbuilder.cli.dispatch import main

ROWS = tuple(published_rows("care_mi"))
_MADE = tuple(tuple(command.split()) for command in JUDGED)
"""The commands that made the folder."""


def test_no_table_of_the_paper_is_left_out() -> None:
    names = {row.name.split(",")[0] for row in ROWS}
    assert {f"Table {number}" for number in range(2, 11)} <= names
    assert {row.name.split(",")[0] for row in published_rows("cmhe")} >= {f"Table {number}" for number in range(1, 5)}
    assert all(row.columns for row in ROWS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    return once.copied(JUDGED, tmp_path_factory.mktemp("published"))


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_command_makes_the_columns_of_its_table(
    row: PublishedRow, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)

    def run(words: tuple[str, ...]) -> str:
        if words in _MADE:
            return ""
        assert main(list(words)) == 0
        return capsys.readouterr().out

    assert row.missing(home / "builds" / "care_mi", run) == []
