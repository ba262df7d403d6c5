"""The source kind `claims`: sentences and yes/no questions that are labelled as true or false."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import DataError, Dropped, Fact, LabelledClaim, Passage, Row, name_gold
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import Column, TableSpec, cell_text
from benchbuilder.sources.question_answer import Columns
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

Meaning = Literal["true", "false", "unknown", "skip"]

_LABELS = '{"true": [SUPPORTS], "false": [REFUTES], skip: [NOT ENOUGH INFO]}'


def _as_word(value: Any) -> Any:
    """A boolean of YAML or JSON as the word for it."""
    return str(value).lower() if isinstance(value, bool) else value


def _as_lists(value: Any) -> Any:
    """Every meaning with the list of its labels, as words."""
    if not isinstance(value, Mapping):
        return value
    if value and not {str(_as_word(key)) for key in value} & {*get_args(Meaning)}:  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        raise ValueError(f"labels stand below what they mean, for instance {_LABELS}")
    lists: dict[str, Any] = {}
    for meaning, labels in value.items():  # pyright: ignore[reportUnknownVariableType]
        several: Any = labels if isinstance(labels, list | tuple) else [labels]
        lists[str(_as_word(meaning))] = [cell_text(_as_word(label)) for label in several]
    return lists


class ClaimColumns(Spec):
    """The columns. `gold` is a column, whose cell may be a list, or several columns."""

    text: Column
    """The claim, or the question."""
    label: Column
    premise: Column | None = None
    """The text that a claim is about, with `about` ``text``."""
    gold: Columns | None = None
    """Keys of the passages that show the label (a passage's `document`), or their texts."""


class ClaimsSpec(TableSpec):
    """JSON, JSONL, CSV, TSV, Parquet or XLSX with one claim per row."""

    columns: ClaimColumns
    as_: Annotated[Literal["claim", "yes_no"], Field(alias="as")] = "claim"
    """Whether the texts are sentences, or questions that are answered with yes or no."""
    about: Literal["world", "text"] = "world"
    """Whether the label says what is true, or only what follows from the premise."""
    gold_in: str = ""
    """The source whose passages `columns.gold` names; empty: any source of passages."""
    labels: Annotated[
        dict[Meaning, tuple[str, ...]], BeforeValidator(_as_lists), Field(min_length=1, examples=[_LABELS])
    ]
    """The labels of the file by what they mean: ``true``, ``false``, ``unknown``, or ``skip``, which leaves out."""

    @model_validator(mode="after")
    def _a_premise(self) -> ClaimsSpec:
        if self.about == "text" and self.columns.premise is None:
            raise ValueError("about: text - name the column of the text, columns.premise")
        counts = Counter(label for labels in self.labels.values() for label in labels)
        if twice := [label for label, count in counts.items() if count > 1]:
            raise ValueError(f'labels: "{twice[0]}" has two meanings')
        return self

    def meanings(self) -> dict[str, Meaning]:
        """What each label means."""
        return {label: meaning for meaning, labels in self.labels.items() for label in labels}


class Claims(RowSource[ClaimsSpec]):
    """Claims about the world or about a text, and yes/no questions, each with a label.

    A label without a meaning in `labels` ends the build: it would be lost without a word.
    """

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[SourceSpec]] = ClaimsSpec
    output: ClassVar[type[Row]] = Fact[LabelledClaim]
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "label_skipped": "The recipe leaves out claims with this label.",
        "no_label": "The claim has no label.",
    }

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self._meanings = self.spec.meanings()

    @classmethod
    def named_sources(cls, spec: Any) -> Mapping[str, tuple[str, type[Row]]]:
        """The source of the passages that show the answers."""
        return {"gold_in": (spec.gold_in, Passage)} if spec.gold_in else {}

    def columns(self) -> Sequence[Column]:
        """The columns that the recipe names."""
        return [column for _, column in self._named()]

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row, or its first problem; DataError for a label without a meaning."""
        found: dict[str, list[str]] = {"text": [], "label": [], "premise": [], "gold": []}
        for (name, _), value in zip(self._named(), values, strict=True):
            for cell in value if isinstance(value, list) and name == "gold" else [value]:
                text = cell_text(_as_word(cell))
                if text is None and cell is not None:
                    return Dropped("malformed", f"{name} is no text")
                if text:
                    found[name].append(text)
        if not found["text"]:
            return Dropped("missing_field", "text")
        if not found["label"]:
            return Dropped("no_label", found["text"][0])
        if self.spec.about == "text" and not found["premise"]:
            return Dropped("missing_field", "premise")
        label = found["label"][0]
        if (meaning := self._meanings.get(label)) is None:
            raise self._strange_labels(source_file)
        if meaning == "skip":
            return Dropped("label_skipped", label)
        gold = (name_gold(name, self.spec.gold_in) for name in found["gold"])
        payload = LabelledClaim(
            text=found["text"][0], label=meaning, gold=tuple(dict.fromkeys(gold)), about=self.spec.about,
            premise="\n".join(found["premise"]), asked=self.spec.as_ == "yes_no",
        )  # fmt: skip
        return self.output.build(payload=payload, **self.row_header(source_file, line))

    def _named(self) -> Iterator[tuple[str, Column]]:
        """Each column with the field that it fills."""
        for name in ("text", "label", "premise", "gold"):
            columns = getattr(self.spec.columns, name)
            for column in columns if isinstance(columns, tuple) else (columns,):
                if column is not None:
                    yield name, column

    def _strange_labels(self, source_file: SourceFile) -> DataError:
        """The error that counts the most frequent label without a meaning in a file."""
        place = [name for name, _ in self._named()].index("label")
        labels = (cell_text(_as_word(raw.values[place])) for raw in self.units(source_file) if not raw.reason)
        counts = Counter(label for label in labels if label and label not in self._meanings)
        (label, count), *others = counts.most_common()
        more = f"; also without a meaning: {', '.join(name for name, _ in others[:5])}" if others else ""
        return DataError(
            f'{self.key("labels")}: {count} {"record says" if count == 1 else "records say"} "{label}", which has no '
            "meaning here",
            where=source_file.name,
            why=f"the labels with a meaning are {', '.join(self._meanings)}{more}",
            next="add it to the labels of true, false, unknown or skip",
        )
