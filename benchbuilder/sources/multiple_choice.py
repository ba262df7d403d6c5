"""The source kinds `multiple_choice` (one right option) and `several_choice` (one or more right options)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import (
    Choice,
    DataError,
    Dropped,
    Fact,
    MultipleAnswerChoice,
    Option,
    Regex,
    Row,
    find_all,
    has_match,
    normalise_space,
)
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.delimited import delimited_rows
from benchbuilder.sources.formats.field_paths import first_names
from benchbuilder.sources.formats.files import SourceFile, wrong_shape
from benchbuilder.sources.formats.options import (
    LETTERS,
    KeyAs,
    find_key,
    find_keys,
    labelled_lists,
    make_options,
    parse_cell,
    parse_options,
)
from benchbuilder.sources.formats.tables import NO_VALUES, Column, RawRow, TableSpec, cell_text
from benchbuilder.sources.unit_source import DELIMITED_FORMATS, HEAD_ROWS, READING_REASONS, RowSource

_SINGLE = ("question", "context", "answer", "answer_key", "category", "split", "labels")


class ChoiceColumns(Spec):
    """The columns. `options` is a column, a list of columns (keyed A, B, ...) or a mapping key -> column."""

    either: ClassVar[tuple[tuple[str, ...], ...]] = (("answer_key", "answer"),)
    """Groups of columns of which one is required; forms show the first."""

    question: Column
    options: Column | tuple[Column, ...] | dict[str, Column]
    labels: Column | None = None
    """The list of the keys of the options, where `options` is a list without keys of its own."""
    answer_key: Column | None = None
    answer: Column | None = None
    context: Column | None = None
    category: Column | None = None
    split: Column | None = None

    @model_validator(mode="after")
    def _an_answer(self) -> ChoiceColumns:
        if self.answer_key is None and self.answer is None:
            raise ValueError("name the column of the answer: answer_key, answer, or both")
        return self


class ChoiceMapping(Spec):
    """How the columns of a row become a question with options, and which questions are read."""

    columns: ChoiceColumns
    key_as: KeyAs = "letter"
    """The content of `columns.answer_key`: the letter or label of the option, its number, its text, or (`flags`) a list
    with 1 for a right option and 0 for a wrong one. Without it, `columns.answer` holds the text of the option."""
    option_mark: Regex | Annotated[str, Field(max_length=0)] = ""
    """Pattern of the mark before an option inside a text, whose only letters are the key: ``A.`` or ``(A)``."""
    categories: dict[str, bool] = {}
    """The categories to read; by default all. Files that are named after another category are not opened."""
    splits: dict[str, bool] = {}
    """The splits to read; by default all."""
    blank: Regex | None = None
    """Questions without a match of this pattern have no blank, and are dropped."""
    needs_image: Regex | None = None
    """Questions whose context or text matches this pattern need an image, and are dropped."""
    options_count: Annotated[int, Field(ge=2)] | None = None
    """The number of options of a valid question (options without text do not count)."""
    normalise_spaces: bool = False
    """Whether every run of white space (ideographic ones too) becomes one space."""


class MultipleChoiceSpec(ChoiceMapping, TableSpec):
    """JSON, JSONL, CSV, TSV or Parquet with one question per row."""


@dataclass(frozen=True)
class ChoiceQuestion:
    """The question of a row without its right answers; `raw` are its cells.

    `every_option` has those without text too, which an index counts.
    """

    raw: Mapping[str, Any]
    context: str
    question: str
    options: tuple[Option, ...]
    every_option: tuple[Option, ...]
    labels: Mapping[str, str]


class MultipleChoice(RowSource[MultipleChoiceSpec]):
    """Multiple-choice questions with one right option.

    With both `answer_key` and `answer`, the text of the keyed option must equal the answer.
    """

    kind: ClassVar[str] = "multiple_choice"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[SourceSpec]] = MultipleChoiceSpec
    output: ClassVar[type[Row]] = Fact[Choice]
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "excluded": "The unit is of a category or split that the recipe leaves out.",
        "options_count": "The question has another number of options than the recipe asks for.",
        "no_answer_key": "No right answer is named.",
        "multiple_answers": "More than one option is right.",
        "key_not_in_options": "The named answer is none of the options.",
        "answer_mismatch": "The option of the key does not read like the answer.",
        "no_blank": "The question has no blank.",
        "needs_image": "The question cannot be answered without an image.",
    }
    shape_reasons: ClassVar[frozenset[str]] = RowSource.shape_reasons | {"no_answer_key", "key_not_in_options"}
    payload_class: ClassVar[type[Any]] = Choice

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files of the categories and splits to read, and the others; DataError if a category has no file."""
        every, _ = super().select_files()
        chosen = [file for file in every if self._is_wanted(file.labels)]
        for label, choice in (("category", self.spec.categories), ("split", self.spec.splits)):
            known = {file.labels[label] for file in every if label in file.labels}
            for name in (name for name, read in choice.items() if read and known and name not in known):
                raise DataError(
                    f"{self.key('path')}: no file of the {label} {name!r}",
                    where=self.spec.path.path,
                    why=f"expected {self.spec.files}; found the {label} {', '.join(sorted(known))}",
                    next=f"put the file there, or leave {name} out of what this source reads",
                )
        if not chosen:
            raise DataError(
                f"{self.key('path')}: every file is left out by categories and splits",
                where=self.spec.path.path,
                why=f"found: {', '.join(file.name for file in every)}",
                next="set at least one category and split to true",
            )
        return chosen, [file for file in every if file not in chosen]

    def _check_head(self, head: Sequence[RawRow], source_file: SourceFile) -> None:
        """DataError too if the line that the recipe calls a header is a question with a key."""
        super()._check_head(head, source_file)
        self._check_labels(source_file)
        form, columns = self.format_of(source_file), self.columns()
        if not self.spec.header or form not in DELIMITED_FORMATS or any(isinstance(column, str) for column in columns):
            return
        dialect = replace(self.dialect(form), header=False)
        first = next(delimited_rows(source_file.path, source_file.name, dialect, columns), None)
        if first is not None and not isinstance(self._row(first, source_file), Dropped):
            raise wrong_shape(
                self.key("header"), source_file.name, expected="a line with the names of the columns",
                found=f"a question with a key: {str(first.values[0])[:80]!r}, which would be lost",
                next=f"set {self.key('header')}: false",
            )  # fmt: skip

    def _check_labels(self, source_file: SourceFile) -> None:
        """DataError if the options have labels beside them that the recipe does not read: a key may be one of them."""
        columns, options = self.spec.columns, self.spec.columns.options
        around, _, name = options.rpartition(".") if isinstance(options, str) else ("", "", "")
        if not around or columns.labels is not None or self.spec.key_as != "letter":
            return
        names = self._table_names(source_file)
        if names and not {*first_names(around)} & {*names}:  # the column itself has a name with a dot
            return
        for raw in islice(self.read_columns(source_file, [around.removesuffix("[]")]), HEAD_ROWS):
            for label in labelled_lists(raw.values[0], name) if raw.values else ():
                raise wrong_shape(
                    self.key("columns.options"), source_file.name, expected="options that are keyed A, B, C, ...",
                    found=f"options with keys of their own in {around}.{label}, which the answer may name",
                    next=f"set {self.key('columns.labels')}: {around}.{label}",
                )  # fmt: skip

    def columns(self) -> Sequence[Column]:
        """The single columns that the recipe names, then those of the options."""
        columns = self.spec.columns
        single = [getattr(columns, name) for name in self._single_columns()]
        options = columns.options
        if isinstance(options, dict):
            return [*single, *options.values()]
        return [*single, *options] if isinstance(options, tuple) else [*single, options]

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row, or its first problem."""
        parsed = self.parse_question(values, source_file)
        if isinstance(parsed, Dropped):
            return parsed
        answers = self.find_answers(parsed)
        if isinstance(answers, Dropped):
            return answers
        if (drop := self.find_problem(parsed)) is not None:
            return drop
        payload = self.payload_class(
            context=parsed.context, question=parsed.question, options=parsed.options, **answers, **parsed.labels
        )
        return self.output.build(payload=payload, **self.row_header(source_file, line))

    def parse_question(self, values: Sequence[Any], source_file: SourceFile) -> ChoiceQuestion | Dropped:
        """Question and options of one row."""
        single = self._single_columns()
        raw = dict(zip(single, values, strict=False))
        texts = {name: cell_text(raw.get(name)) for name in ("question", "context", "category", "split")}
        if (question := self.normalise_text(texts["question"] or "")) == "":
            return Dropped("missing_field" if raw["question"] in (None, "") else "malformed", "question")
        context = self.normalise_text(texts["context"] or "")
        labels = {name: texts[name] or source_file.labels.get(name, "") for name in ("category", "split")}
        if not self._is_wanted(labels):
            return Dropped("excluded", ", ".join(filter(None, labels.values())))
        options = self._options(values[len(single) :], raw.get("labels"))
        if isinstance(options, Dropped):
            return options
        given = tuple(option for option in options if option.text)
        return ChoiceQuestion(raw, context, question, given, options, labels)

    def _single_columns(self) -> list[str]:
        return [name for name in _SINGLE if getattr(self.spec.columns, name) is not None]

    def normalise_text(self, text: str) -> str:
        """`text` with its white space in the form that the recipe asks for; empty for what stands for no value."""
        plain = normalise_space(text) if self.spec.normalise_spaces else text.strip()
        return "" if plain in NO_VALUES else plain

    def _is_wanted(self, labels: Mapping[str, str]) -> bool:
        pairs = (("category", self.spec.categories), ("split", self.spec.splits))
        return all(not choice or not labels.get(label) or choice.get(labels[label], False) for label, choice in pairs)

    def _options(self, values: Sequence[Any], labels: Any) -> tuple[Option, ...] | Dropped:
        layout, mark = self.spec.columns.options, self.spec.option_mark
        if all(value is None or value == "" for value in values):
            return Dropped("missing_field", "options")
        if isinstance(layout, dict):
            return make_options(list(zip(layout, values, strict=True)), mark, self.normalise_text)
        if isinstance(layout, tuple):
            return make_options(list(zip(LETTERS, values, strict=False)), mark, self.normalise_text)
        if self.spec.key_as == "flags" and isinstance(flags := parse_cell(values[0]), dict):  # each text with its flag
            return parse_options(list(cast("dict[str, Any]", flags)), mark, self.normalise_text)
        return parse_options(values[0], mark, self.normalise_text, labels)

    def find_answers(self, parsed: ChoiceQuestion) -> dict[str, Any] | Dropped:
        """The fields of the payload with the right answers of a question."""
        columns, raw, options = self.spec.columns, parsed.raw, parsed.every_option
        if columns.answer_key is None:
            key = find_key(raw["answer"], "text", options, self.normalise_text)
        else:
            key = find_key(raw["answer_key"], self.spec.key_as, options, self.normalise_text)
        if isinstance(key, Dropped):
            return key
        right = next(option for option in parsed.options if option.key == key)
        if columns.answer_key is not None and columns.answer is not None:
            answer = self.normalise_text(cell_text(raw["answer"]) or "")
            if not answer:
                return Dropped("missing_field", "answer")
            if answer != right.text:
                return Dropped("answer_mismatch", f"option {key} is {right.text!r}, the answer {answer!r}")
        return {"answer_key": right.key, "answer": right.text}

    def find_problem(self, parsed: ChoiceQuestion) -> Dropped | None:
        """Why the recipe excludes a question, or ``None``."""
        spec, text = self.spec, parsed.context + parsed.question
        if spec.options_count is not None and len(parsed.options) != spec.options_count:
            return Dropped("options_count", f"{len(parsed.options)} options, expected {spec.options_count}")
        if spec.blank is not None and not has_match(spec.blank, parsed.question):
            return Dropped("no_blank", "")
        if spec.needs_image is not None and (spans := find_all(spec.needs_image, text)):
            return Dropped("needs_image", spans[0].slice_of(text))
        return None


class SeveralChoices(MultipleChoice):
    """Multiple-choice questions whose key names one option or more: a list, several letters, or numbers with commas.

    The step `split_answers` decides what happens to questions with several right options. With an `answer_key`, the
    text of `answer` is not read.
    """

    kind: ClassVar[str] = "several_choice"
    output: ClassVar[type[Row]] = Fact[MultipleAnswerChoice]
    payload_class: ClassVar[type[Any]] = MultipleAnswerChoice
    reasons: ClassVar[Mapping[str, str]] = {
        name: text for name, text in MultipleChoice.reasons.items() if name != "answer_mismatch"
    } | {"multiple_answers": "The text of the answer is that of several options."}

    def find_answers(self, parsed: ChoiceQuestion) -> dict[str, Any] | Dropped:
        """The keys of the right options."""
        column, key_as = (
            ("answer", "text") if self.spec.columns.answer_key is None else ("answer_key", self.spec.key_as)
        )
        keys = find_keys(parsed.raw[column], key_as, parsed.every_option, self.normalise_text)
        return keys if isinstance(keys, Dropped) else {"answer_keys": keys}
