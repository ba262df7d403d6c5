"""Drops facts by named checks of their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from benchbuilder.config import KindSpec, Slot, Spec, StepSpec
from benchbuilder.core import (
    DataError,
    Fact,
    FilterResult,
    LengthUnit,
    Regex,
    Row,
    SpecIssue,
    Table,
    check_regex,
    create_from_spec,
    has_match,
    text_length,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Filter, Port, texts_of, unknown_texts
from benchbuilder.steps.language.patterns import MatchMode, find_pattern


class ScreenPatterns(Spec):
    """Forms that a text must not contain, except if a regular expression of `unless` matches the text."""

    find: Annotated[tuple[str, ...], Field(min_length=1)]
    unless: tuple[Regex, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return {"find": (value,)} if isinstance(value, str) else value


class ScreenCheck(Spec):
    """One check: of wording (`mode` and `patterns`) or of length (`longer_than`, `at_most`).

    `fields` names texts of the payload; ``question+answer`` is both joined. A row fails if one of the fields fails.
    `unit` is the unit of lengths: characters or words. `patterns` maps names of your choice to a form or to a wording;
    ``null`` removes an inherited one. `because` is the sentence that reports print beside the reason.
    """

    because: str
    fields: Annotated[tuple[str, ...], Field(min_length=1)]
    mode: MatchMode = "substring"
    patterns: dict[str, ScreenPatterns | None] = {}
    longer_than: int | None = None
    at_most: int | None = None
    unit: LengthUnit = "characters"
    quoted: bool = True
    """Whether the detail quotes the match; otherwise (for names or numbers of people) it names the pattern."""

    @field_validator("patterns", mode="before")
    @classmethod
    def _patterns_by_name(cls, value: Any) -> Any:
        return {str(form): form for form in value} if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _check_mode(self) -> ScreenCheck:
        measures = self.longer_than is not None or self.at_most is not None
        if measures == bool(self.patterns):
            raise ValueError("a check has either `patterns` or a length (`longer_than`, `at_most`)")
        if self.mode == "regex":
            for wording in self.patterns.values():
                for form in wording.find if wording else ():
                    check_regex(form)
        return self


class ScreenSpec(StepSpec):
    """`checks` by name, in order; the name is the drop reason, ``null`` removes an inherited check.

    `tokenizer` (default: the recipe's) finds the boundaries of words for checks of mode ``word``. `joiner` is put
    between texts that a check joins: a space in languages with spaces between words, else nothing.
    """

    checks: dict[str, ScreenCheck | None]
    joiner: str
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None

    @model_validator(mode="after")
    def _check_names(self) -> ScreenSpec:
        for name in self.checks:
            if not name.isidentifier():
                raise ValueError(f"{name!r} cannot be a drop reason: use letters, digits and underscores")
        return self


class Screen(Filter):
    """Drops a row by the first check that it fails; the detail is the matched form, or the length."""

    kind: ClassVar[str] = "screen"
    spec_class: ClassVar[type[StepSpec]] = ScreenSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}

    spec: ScreenSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._checks = {name: check for name, check in self.spec.checks.items() if check is not None}
        self.reasons = {name: check.because for name, check in self._checks.items()}  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]
        self._tokenizer: Tokenizer | None = None
        if any(check.mode == "word" for check in self._checks.values()):
            if self.spec.tokenizer is None:
                raise DataError("a check of mode 'word' needs a tokenizer", where=f"steps.{context.step}.tokenizer")
            self._tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the tokenizer, if a check uses it."""
        return {} if self._tokenizer is None else self._tokenizer.fingerprint()

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Checks of texts that the rows do not have, and a tokenizer that does not split words."""
        if any(check.mode == "word" for check in self._checks.values()):
            yield from word_boundary_problem(self._tokenizer)
        yield from unknown_texts(rows["each"], {
            f"checks.{name}.fields": [part for field in check.fields for part in field.split("+")]
            for name, check in self._checks.items()
        })  # fmt: skip

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the tokenizer's dictionary."""
        if self._tokenizer is not None:
            self._tokenizer.open()

    def screen(self, table: Table[Any]) -> FilterResult:
        """The first failed check of each row; the tally ``checks`` counts failures by form."""
        reasons, details = list[str | None](), list[str]()
        tallies = Counter[tuple[str, str, str]]()
        for row in table:
            reason, detail = self._first_failure(row.payload.texts())
            reasons.append(reason)
            details.append(detail)
            if reason is not None:
                tallies[
                    "checks", row.partition, f"{reason}: {detail}" if self._checks[reason].patterns else reason
                ] += 1
        return FilterResult(reasons, details, tallies)

    def _first_failure(self, texts: Mapping[str, tuple[str, ...]]) -> tuple[str | None, str]:
        for name, check in self._checks.items():
            for text in (text for field in check.fields for text in self._texts(texts, field)):
                detail = self._matched_form(check, text) if check.patterns else _length_detail(check, text)
                if detail is not None:
                    return name, detail
        return None, ""

    def _texts(self, texts: Mapping[str, tuple[str, ...]], field: str) -> tuple[str, ...]:
        """The texts of `field`; for ``a+b``, both joined."""
        parts = [texts_of(texts, name, "the check's `fields`") for name in field.split("+")]
        if len(parts) == 1:
            return parts[0]
        return (self.spec.joiner.join(text for part in parts for text in part if text),)

    def _matched_form(self, check: ScreenCheck, text: str) -> str | None:
        """The form of the check that `text` contains."""
        tokens = self._tokenizer.tokens if self._tokenizer is not None else None
        for name, wording in check.patterns.items():
            if wording is None:
                continue
            for form in wording.find:
                if spans := find_pattern(form, text, check.mode, tokens):
                    if any(has_match(pattern, text) for pattern in wording.unless):
                        break
                    return spans[0].slice_of(text) if check.quoted else name
        return None


def _length_detail(check: ScreenCheck, text: str) -> str | None:
    """The length of `text` as a message, if it is out of bounds."""
    size = text_length(text, check.unit)
    if check.longer_than is not None and size <= check.longer_than:
        return f"{size} {check.unit}, not longer than {check.longer_than}"
    if check.at_most is not None and size > check.at_most:
        return f"{size} {check.unit}, more than {check.at_most}"
    return None
