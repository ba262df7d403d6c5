"""What is written of steps while a build is at work, read while it changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.live_progress import read_progress


def test_a_draft_that_is_taken_away_while_it_is_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = [tmp_path / "store/steps" / name / "0123.draft" for name in ("kept", "taken")]
    for draft in drafts:
        draft.mkdir(parents=True)
        (draft / "draft.json").write_text('{"rows": 7}', "utf-8")
    glob = Path.glob

    def meanwhile(folder: Path, pattern: str) -> Iterator[Path]:
        if folder == drafts[1]:
            shutil.rmtree(folder)
            raise FileNotFoundError(folder)
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", meanwhile)
    found = read_progress(BuildFolder("view", tmp_path))
    assert {step.step: (step.made, step.total) for step in found.steps} == {"kept": (0, 7), "taken": (0, None)}
