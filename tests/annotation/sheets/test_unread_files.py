"""What lies among filled sheets and cannot be read is named, never passed over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from files_spec import files_spec

from benchbuilder.annotation.backends.sheets import SheetsBackend
from benchbuilder.core.errors import DataError


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a pipe"),
        (Path.mkdir, "a folder"),
        (lambda path: path.symlink_to("nothing"), "a link that leads nowhere"),
        (lambda path: path.symlink_to(os.devnull), "a device"),
        (lambda path: path.symlink_to(path.parent.parent), "a link to a folder"),
    ],
)
def test_what_is_no_sheet_is_named(make: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    filled = tmp_path / "annotation" / "filled"
    filled.mkdir(parents=True)
    backend = SheetsBackend(files_spec())
    assert not backend.external_inputs(tmp_path / "annotation")
    make(filled / "a.csv")
    with pytest.raises(DataError, match=rf"annotation/filled/a\.csv could not be read: it is {kind}$|{kind}\n"):
        backend.external_inputs(tmp_path / "annotation")
