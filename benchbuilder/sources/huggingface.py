"""The source kind `huggingface`: records of a Hugging Face dataset, in a local folder or on the Hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

import pyarrow as pa
from pydantic import Field, model_validator

from benchbuilder.config import FileRef
from benchbuilder.core import DataError, GivenParquet, public_path
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.delimited import TableDialect, delimited_rows
from benchbuilder.sources.formats.field_paths import first_names, record_row
from benchbuilder.sources.formats.files import (
    HubDataset,
    SourceFile,
    download_dataset,
    find_files,
    import_library,
    read_dataset_folder,
    read_saved_dataset,
    wrong_shape,
)
from benchbuilder.sources.formats.records import is_json_lines, json_rows, jsonl_rows
from benchbuilder.sources.formats.tables import TABLE_SUFFIXES, RawRow
from benchbuilder.sources.record_source import RecordSource, RecordSpec

_BATCH_ROWS = 2048
_READ = (".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")


class HuggingFaceSpec(RecordSpec):
    """A dataset, and the kind of rows to make from its records.

    `path` is a folder written by ``save_to_disk``, a folder as stored on the Hub, or a data file. Or `name` is a
    dataset on the Hub (``owner/name``) and `revision` its commit. It is downloaded once into the cache of the library,
    and then read without network.
    """

    path: FileRef | None = None
    name: Annotated[str | None, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)?$")] = None
    revision: Annotated[str | None, Field(pattern=r"^[0-9a-f]{40}$")] = None
    subset: str = ""
    """The configuration of the dataset, if it has several."""
    files: str = ""
    """Files to read instead of those that the dataset names: a name with ``*``, and ``{split}`` for the split."""
    splits: dict[str, bool] = {}
    """The splits to read; by default all."""
    label_names: bool = True
    """Whether class labels are read as names, not numbers."""

    shared: ClassVar[frozenset[str]] = frozenset({"splits"})

    @model_validator(mode="after")
    def _one_place(self) -> HuggingFaceSpec:
        if (self.path is None) == (self.name is None):
            raise ValueError("name the dataset: either the path of its folder, or its name on the Hub")
        if (self.name is None) != (self.revision is None):
            raise ValueError("name and revision go together: the commit (40 hexadecimal digits) to read")
        return self

    @property
    def looks_elsewhere(self) -> bool:
        """What is named on the hub is read from the cache of its library."""
        return self.name is not None


class HuggingFace(RecordSource[HuggingFaceSpec]):
    """Records of a dataset in Arrow, Parquet, JSON or CSV files, numbered from 1 in each file (by line in text files).

    A column may be a nested field, such as ``choices.text``. Files of splits that are not read are reported as
    excluded.
    """

    kind: ClassVar[str] = "huggingface"
    spec_class: ClassVar[type[SourceSpec]] = HuggingFaceSpec
    shape_hint: ClassVar[str] = "check columns in the recipe, and files: which files are its data"

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files of the splits to read, and the others; DataError if there is none to read."""
        files = self._dataset.files
        splits = self.spec.splits
        known = list(dict.fromkeys(found.labels.get("split", "") for found in files))
        if missing := [split for split, read in splits.items() if read and split not in known]:
            raise DataError(
                f"{self.key('splits')}: there is no split {', '.join(map(repr, missing))}",
                where=self._location(),
                why=f"there are: {', '.join(filter(None, known)) or 'none'}",
                next="name existing splits",
            )
        chosen = [found for found in files if not splits or splits.get(found.labels.get("split", ""), False)]
        if not chosen:
            raise DataError(
                f"{self.key('splits')}: no file is read", where=self._location(),
                why=f"splits: {', '.join(filter(None, known)) or 'none'}", next="set at least one split to true",
            )  # fmt: skip
        return chosen, [found for found in files if found not in chosen]

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The records of one file."""
        suffix, columns, key = source_file.path.suffix.lower(), self.columns(), self.key("columns")
        if suffix in (".arrow", ".parquet"):
            return self._arrow_rows(source_file)
        form = TABLE_SUFFIXES.get(suffix)
        if form == "jsonl" or (form == "json" and is_json_lines(source_file.path)):
            return jsonl_rows(source_file.path, source_file.name, columns, key=key, encoding="utf-8")
        if form == "json":
            return json_rows(source_file.path, source_file.name, columns, key=key, encoding="utf-8", records="")
        if form in ("csv", "tsv"):
            delimiter = "," if form == "csv" else "\t"
            dialect = TableDialect(key, "utf-8", delimiter, quoting=True, header=True, width=None)
            return delimited_rows(source_file.path, source_file.name, dialect, columns)
        raise wrong_shape(self.key("files"), source_file.name, expected=f"a file that ends in {', '.join(_READ)}",
                          found=f"the suffix {suffix!r}", next="name the files of the data")  # fmt: skip

    def _location(self) -> str:
        return self.spec.path.path if self.spec.path is not None else str(self.spec.name)

    @cached_property
    def _dataset(self) -> HubDataset:
        spec, key = self.spec, self.key("path" if self.spec.path is not None else "name")
        if spec.path is not None:
            ref, name = spec.path, public_path(spec.path.path)
        else:
            folder = download_dataset(str(spec.name), str(spec.revision), spec.files, key)
            ref, name = FileRef(path=str(spec.name), resolved_path=str(folder)), str(spec.name)
        if spec.files or not ref.file.is_dir():
            return HubDataset(tuple(find_files(ref, key, _READ, spec.files)))
        found = read_saved_dataset(ref.file, name, key) or read_dataset_folder(ref.file, name, spec.subset, key)
        if not found.files:
            raise DataError(f"{key}: there are no data files", where=name, next=f"set {self.key('files')}")
        return found

    def _arrow_rows(self, source_file: SourceFile) -> Iterator[RawRow]:
        """Records of an Arrow or Parquet file; only the requested columns are read."""
        columns = self.columns()
        tops = list(dict.fromkeys(name for column in columns for name in first_names(column)))
        datasets = import_library("datasets", "datasets", self.name)
        try:
            if source_file.path.suffix.lower() == ".parquet":
                with GivenParquet(source_file.path) as file:
                    schema = file.schema
                    names = self._column_names(schema.names, columns, tops, source_file)
                    yield from self._record_rows(file.batches(names, _BATCH_ROWS), schema)
                return
            table: pa.Table = datasets.Dataset.from_file(str(source_file.path)).data.table
            names = self._column_names(table.schema.names, columns, tops, source_file)
            yield from self._record_rows(iter(table.select(names).to_batches(_BATCH_ROWS)), table.schema)
        except (pa.ArrowException, OSError) as error:
            raise wrong_shape(
                self.key("path"), source_file.name, expected="an Arrow or Parquet file", found=str(error)[:200],
                next="save or download the dataset again",
            ) from error  # fmt: skip

    def _column_names(
        self, known: Sequence[str], columns: Sequence[Any], tops: Sequence[str], source_file: SourceFile
    ) -> list[str]:
        """The columns to read: the requested names, complete or up to the first dot."""
        names = [name for name in known if name in columns or name in tops]
        lacking = [str(c) for c in columns if str(c) not in known and not set(first_names(c)) & set(known)]
        if lacking:
            raise wrong_shape(
                self.key("columns"), source_file.name, expected=f"the columns {', '.join(lacking)}",
                found=f"the columns {', '.join(known)}", next="name the columns of the dataset in the recipe",
            )  # fmt: skip
        return names

    def _record_rows(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[RawRow]:
        names = self._class_names(schema) if self.spec.label_names else {}
        number, columns = 0, self.columns()
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                for column, known in names.items():
                    value = record.get(column)
                    if isinstance(value, int) and 0 <= value < len(known):
                        record[column] = known[value]
                yield record_row(number, {"": record}, columns)

    def _class_names(self, schema: pa.Schema) -> Mapping[str, list[str]]:
        features: Mapping[str, Any] = {
            **import_library("datasets", "datasets", self.name).Features.from_arrow_schema(schema),
            **self._dataset.features,
        }
        return {name: list(known) for name, kind in features.items() if (known := getattr(kind, "names", None))}
