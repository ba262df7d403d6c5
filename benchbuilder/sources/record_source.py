"""The base class of sources of records whose row class depends on the recipe."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, ModelWrapValidatorHandler, ValidationInfo, WrapValidator, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import Dropped, Row
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.corpus import Corpus, CorpusColumns, CorpusMapping
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import Column, TableFormat
from benchbuilder.sources.multiple_choice import ChoiceColumns, ChoiceMapping, MultipleChoice, SeveralChoices
from benchbuilder.sources.triples import TripleColumns, TripleMapping, Triples
from benchbuilder.sources.unit_source import RowSource, UnitSource

RecordKind = Literal["triple", "choice", "several_choice", "passage"]


class _PassageRecords(Corpus):
    """Passages of records, never of plain text."""

    def format_of(self, source_file: SourceFile) -> TableFormat | None:  # noqa: ARG002
        """No known format."""
        return None


_MAPPINGS: Mapping[str, type[Spec]] = {
    "triple": TripleMapping, "choice": ChoiceMapping, "several_choice": ChoiceMapping, "passage": CorpusMapping,
}  # fmt: skip
_COLUMNS: Mapping[str, type[Spec]] = {
    "triple": TripleColumns, "choice": ChoiceColumns, "several_choice": ChoiceColumns, "passage": CorpusColumns,
}  # fmt: skip
_MAKERS: Mapping[str, type[RowSource[Any]]] = {
    "triple": Triples, "choice": MultipleChoice, "several_choice": SeveralChoices, "passage": _PassageRecords,
}  # fmt: skip


def _columns(value: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:  # noqa: ARG001
    """Validate the columns of the payload that `as` names only."""
    name = str(info.data.get("as_"))
    if (made := _COLUMNS.get(name)) is None:
        return value
    if isinstance(value, Mapping) and (strange := [str(key) for key in value if key not in made.model_fields]):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError(f"there is no column {', '.join(strange)}: a {name} has {', '.join(made.model_fields)}")
    return made.model_validate(value)


class RecordKindSpec(SourceSpec):
    """The kind of rows to make. (It precedes `columns`, which depend on it.)"""

    as_: Annotated[RecordKind, Field(alias="as")]
    """What a record is: a ``triple``, a multiple-choice question with one right option (``choice``) or with one or more
    (``several_choice``), or a ``passage`` of a knowledge base."""


class RecordSpec(ChoiceMapping, TripleMapping, CorpusMapping, RecordKindSpec):
    """Records that become rows of the kind `as`, with the same keys as the kinds `triples`, `multiple_choice` (or
    `several_choice`) and `corpus`.
    """

    columns: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
        TripleColumns | ChoiceColumns | CorpusColumns, WrapValidator(_columns)
    ]

    shared: ClassVar[frozenset[str]] = frozenset()
    """Keys of one payload that a source kind has for all payloads."""

    @model_validator(mode="after")
    def _own_keys(self) -> RecordSpec:
        own = set(_MAPPINGS[self.as_].model_fields)
        every = {name for mapping in _MAPPINGS.values() for name in mapping.model_fields}
        if strange := sorted((self.model_fields_set & every) - own - self.shared):
            owner = next(name for name, mapping in _MAPPINGS.items() if strange[0] in mapping.model_fields)
            raise ValueError(f"{', '.join(strange)}: only with `as: {owner}`")
        return self


R = TypeVar("R", bound=RecordSpec)


class RecordSource(UnitSource[R]):
    """Reads records and turns them into rows with the source kind that `as` names."""

    output: ClassVar[type[Row]] = Triples.output
    reasons: ClassVar[Mapping[str, str]] = {**Corpus.reasons, **Triples.reasons, **MultipleChoice.reasons}
    shape_reasons: ClassVar[frozenset[str]] = UnitSource.shape_reasons | MultipleChoice.shape_reasons
    shape_hint: ClassVar[str] = "check columns in the recipe"

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self._maker = _MAKERS[spec.as_](spec, name, language)
        self._maker.row_header = self.row_header  # so that the rows name this kind
        self.output = self.row_class(spec)  # pyright: ignore[reportAttributeAccessIssue] - depends on the recipe
        self.reasons = self._maker.reasons  # pyright: ignore[reportAttributeAccessIssue]

    @classmethod
    def row_class(cls, spec: Any) -> type[Row]:
        """The rows that `as` names."""
        return _MAKERS[spec.as_].output

    def columns(self) -> Sequence[Column]:
        """The columns that the recipe names."""
        return self._maker.columns()

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The row of one record."""
        return self._maker.make(values, source_file, line)

    def duplicate_key(self, row: Row) -> Hashable:
        """What makes two rows exact duplicates."""
        return self._maker.duplicate_key(row)
