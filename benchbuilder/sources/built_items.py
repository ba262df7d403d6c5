"""The source kind `built_items`: the finished items of a build, from its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow.parquet as pq

from benchbuilder.config import FileRef
from benchbuilder.core import Claim, EndOfFile, Item, Kept, Origin, Row, SourceUnit, Table, row_class, schema_of
from benchbuilder.sources.base import Source, SourceSpec


class BuiltItemsSpec(SourceSpec):
    """The Parquet parts of a complete step, in order, and the name of its row class."""

    parts: tuple[FileRef, ...]
    row: str


class BuiltItems(Source):
    """Items with their original ids; `origin` is their position among the items."""

    kind: ClassVar[str] = "built_items"
    spec_class: ClassVar[type[SourceSpec]] = BuiltItemsSpec
    output: ClassVar[type[Row]] = Item[Claim]
    reasons: ClassVar[Mapping[str, str]] = {}

    spec: BuiltItemsSpec

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self.output = row_class(spec.row)  # pyright: ignore[reportAttributeAccessIssue] - any payload

    def files(self) -> list[FileRef]:
        """The parts."""
        return list(self.spec.parts)

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """Every item."""
        for ref in self.spec.parts:
            line = 0
            for line, row in enumerate(Table(pq.read_table(ref.file, schema=schema_of(self.output)), self.output), 1):
                yield SourceUnit(
                    ref.path, line, Kept(row.model_copy(update={"origin": Origin(file=ref.path, line=line)}))
                )
            yield EndOfFile(ref.path, line)

    def check(self) -> None:
        """Nothing to check: the store wrote the files."""
