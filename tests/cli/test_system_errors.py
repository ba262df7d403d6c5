"""What the operating system refuses is explained, with the file."""

from __future__ import annotations

import errno
import os

import pytest

from benchbuilder.cli import dispatch


@pytest.mark.parametrize(
    ("number", "what", "next_step"),
    [
        (errno.ENOSPC, "the disk is full", "make room there"),
        (errno.EDQUOT, "your quota of the disk is used up", "make room there"),
        (errno.EFBIG, "a file would be larger than the system allows", "ulimit -f"),
        (errno.EMFILE, "this program has too many files open", "ulimit -n"),
        (errno.EIO, "the system refused", "check disk space and permissions"),
    ],
)
def test_a_refusal_names_the_file(
    number: int, what: str, next_step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: list[str]) -> int:
        raise OSError(number, os.strerror(number), "builds/x/items.jsonl")

    monkeypatch.setattr(dispatch, "_dispatch", refuse)
    assert dispatch.main(["recipe=x"]) == 3
    shown = capsys.readouterr().err
    where = f"error: {what}\n  where: builds/x/items.jsonl\n  why:   {os.strerror(number)}\n  next:  "
    assert where in shown
    assert next_step in shown
    assert "paid replies and votes are kept" in shown
