"""Files of rows: their encodings, and cells of any size."""

import csv
import io

import pytest

from benchbuilder.core.text.tables import csv_rows, decode_text, read_csv_rows


def test_two_files_with_large_cells_are_read_side_by_side():
    cells = ["长" * 200_000, "短"]
    files = [io.BytesIO(f"a\n{cell}\n{cell}\n".encode()) for cell in cells]
    limit = csv.field_size_limit()
    long, short = (read_csv_rows(file, lambda header: True) for file in files)
    assert next(long) == next(short) == ["a"]
    assert list(short) == [[cells[1]]] * 2
    assert list(long) == [[cells[0]]] * 2
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("data", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"a", b"a,\xc3", b"\xd6\xd0"])
def test_short_files_are_read_as_decoded_texts(data):
    text = decode_text(data)
    wanted = None if text is None else list(csv.reader(io.StringIO(text, newline="")))
    assert csv_rows(data, lambda header: False) == wanted
