"""Parquet files that somebody gave: read some rows at a time, and refused where a small file unpacks to gigabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core.errors import DataError
from benchbuilder.core.special_files import MOST_BYTES, open_given_file

_BATCH_ROWS = 8192
_BATCH_BYTES = 1 << 27
_DICTIONARY_BYTES = 1 << 28
"""Writers end a dictionary at 1 MiB or so, and a small file cannot hold more than this in one that is true."""
_MOST_TIMES = 1000
_CELL_BYTES = 64
"""What a cell of a list of rows takes at least, whatever is in it."""
_DICTIONARY = 2


class GivenParquet:
    """An open Parquet file.

    Raises:
        DataError: It is no file, or it unpacks to gigabytes although it is small.
        pa.ArrowException, OSError: It is not Parquet, cannot be opened, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._stream = path, open_given_file(path, most_bytes=None)
        try:
            self._file = pq.ParquetFile(self._stream)
        except UnicodeDecodeError as error:
            self._stream.close()
            raise pa.ArrowInvalid(f"the name of a column is no UTF-8: {error}") from error
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> GivenParquet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        return self._file.schema_arrow

    def batches(self, columns: Sequence[str] | None = None, most_rows: int = _BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in order, at most `most_rows` at a time and fewer if they are long; default: of all columns."""
        unpacked, most = 0, max(2 * _DICTIONARY_BYTES, _MOST_TIMES * self._path.stat().st_size)
        names = None if columns is None else list(columns)
        try:
            for group in range(self._file.metadata.num_row_groups):
                rows = min(most_rows, self._batch_rows(group))
                for read in self._file.iter_batches(rows, row_groups=[group], columns=names):
                    batch = _without_dictionaries(read)
                    unpacked += batch.nbytes
                    if unpacked > most:
                        raise self._too_much(f"its rows have more than {most:,} bytes")
                    yield batch
        except MemoryError as error:
            raise self._too_much("there is not enough memory for some of its rows") from error

    def rows(self) -> list[dict[str, Any]]:
        """All rows; DataError if they have more bytes than a file that is read whole."""
        rows: list[dict[str, Any]] = []
        size = 0
        for batch in self.batches():
            size += batch.nbytes + _CELL_BYTES * batch.num_rows * batch.num_columns
            if size > MOST_BYTES:
                raise self._too_much(f"its rows have more than {MOST_BYTES:,} bytes")
            try:
                rows += batch.to_pylist()
            except UnicodeDecodeError as error:  # Parquet may say that bytes are text which are not
                raise DataError(
                    f"{self._path.name} holds text that is not UTF-8", where=str(self._path), why=str(error),
                    next="write the file anew from its source",
                ) from error  # fmt: skip
        return rows

    def _batch_rows(self, number: int) -> int:
        """How many rows of a row group fit, even if each row has the longest value of a dictionary."""
        group = self._file.metadata.row_group(number)
        chunks = [group.column(place) for place in range(group.num_columns)]
        packed = sum(chunk.total_compressed_size for chunk in chunks)
        if group.total_byte_size > max(_DICTIONARY_BYTES, _MOST_TIMES * packed):
            raise self._too_much(f"{packed:,} bytes of it unpack to {group.total_byte_size:,}")
        places = [(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset) for chunk in chunks]
        dictionaries = sum(_dictionary_bytes(self._stream, min(offsets)) for offsets in places)
        if dictionaries > _DICTIONARY_BYTES:
            raise self._too_much(f"the dictionaries of some of its rows have {dictionaries:,} bytes")
        average = group.total_byte_size // max(1, group.num_rows)
        return max(1, min(_BATCH_BYTES // max(1, average), _DICTIONARY_BYTES // max(1, dictionaries)))

    def _too_much(self, why: str) -> DataError:
        return DataError(
            f"{self._path.name} unpacks to too much", where=str(self._path), why=why,
            next="write it anew with plain values, or give it in several files",
        )  # fmt: skip


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _dictionary_bytes(stream: BinaryIO, place: int) -> int:
    """The unpacked size of the dictionary that begins at `place`, by its own header; 0 if another page begins there.

    A header begins with two fields: the type of the page and its unpacked size. The end of a file may claim another.
    """
    stream.seek(place)
    header = stream.read(16)
    kind, rest = _field(header)
    return max(0, _field(rest)[0]) if kind == _DICTIONARY else 0


def _field(header: bytes) -> tuple[int, bytes]:
    """The 32-bit number at the start of a header (Thrift's compact protocol), and what follows; -1 if there is none."""
    value = 0
    for place, byte in enumerate(header[1:6]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80 and header[0] == 0x15:
            return (value >> 1) ^ -(value & 1), header[place + 2 :]
    return -1, b""
