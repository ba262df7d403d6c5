"""Exporters: they write the outputs of a build."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec, LanguageTag
from benchbuilder.core import (
    DEFAULT_LANGUAGE,
    PageTexts,
    Table,
    locale_language,
    nearest_language,
    page_texts,
    text_languages,
)
from benchbuilder.exporters.audit_result import AuditResult
from benchbuilder.exporters.recheck_result import RecheckResult
from benchbuilder.exporters.render.page_languages import name_in_language
from benchbuilder.models import Receipt


@dataclass(frozen=True)
class StepCounts:
    """The counts of one step or source, as in its manifest.

    `counts` maps (partition, outcome, reason) to a number of branches; the outcome is ``kept``, ``dropped``,
    ``not_applicable`` or ``failed``. `units` maps (file, outcome, reason) to source units, for sources only. `tallies`
    and `notes` are further counts and facts of the kind. `reasons` explains every reason of the step in a sentence.
    """

    step: str
    kind: str
    role: str
    rows: int
    inputs: Mapping[str, tuple[str, ...]]
    counts: Mapping[tuple[str, str, str], int]
    units: Mapping[tuple[str, str, str], int]
    tallies: Mapping[tuple[str, str, str], int]
    notes: Mapping[str, Any]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class FinishedBuild:
    """A finished build, for exporters.

    Attributes:
        tables: The tables by step.
        step_counts: The counts of each step, in order.
        recipe: The resolved recipe as plain data.
        recipe_yaml: The resolved recipe as text.
        ledger: The file of dropped rows.
        items: The step whose rows are the benchmark.
        state: ``done``, or ``waiting`` while people's votes are missing.
        waiting: What people still have to do.
        receipts: Requests to models and their cost, by step and model, over all runs.
        audit: What an audit of the build found, if there was one.
        recheck: What people found who checked a sample of these items again, if there was one.
    """

    tables: Mapping[str, Table[Any]]
    step_counts: tuple[StepCounts, ...]
    recipe: Mapping[str, Any]
    recipe_yaml: str
    ledger: Path
    items: str
    state: str
    waiting: str = ""
    receipts: tuple[Receipt, ...] = ()
    audit: AuditResult | None = None
    recheck: RecheckResult | None = None


class Exporter(ABC):
    """Writes files into the output folder. The same build gives the same bytes: no clocks, no machine names."""

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether the build has what it needs: while votes are missing there are candidates but no items."""
        return finished.items in finished.tables

    def output_names(self) -> tuple[str, ...]:
        """The names of the files and folders that it writes, as far as its settings tell: by default `file`.

        A recipe whose outputs share a name, or take one of the program's, is refused before anything is built.
        """
        file = getattr(self.spec, "file", None)
        return () if file is None else (str(file),)

    @abstractmethod
    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write into `folder`, from where the files are moved into the folder of the build.

        Args:
            finished: The build.
            folder: An empty folder for the output.

        Returns:
            The files that were written.
        """


class PageSpec(KindSpec):
    """The language of a page, and further files with its texts."""

    language: LanguageTag | None = None
    """Of headings and explanations. ``null``: a page opens in the language of the user's locale; a file for everybody,
    such as a card, is in the recipe's own, or in English where there are no texts in it."""
    strings: dict[str, FileRef] = {}
    """Files with the texts of pages by language, besides those of the program."""

    @model_validator(mode="after")
    def _has_texts(self) -> Self:
        if self.language is not None and nearest_language(self.language, self._files()) == DEFAULT_LANGUAGE:
            known = sorted({*text_languages(), *self.strings})
            if self.language.partition("-")[0] != DEFAULT_LANGUAGE:
                raise ValueError(f"language: there are no texts in {self.language!r}: {', '.join(known)}")
        return self

    def texts(self, language: str) -> PageTexts:
        """The texts of files that are the same for every reader, of a recipe in `language`."""
        return page_texts(self.language or language, self._files())

    def reader_texts(self) -> list[PageTexts]:
        """The texts of a page in every language that has any; the first are those that it opens in."""
        files = self._files()
        first = nearest_language(self.language or locale_language(os.environ), files)
        return [page_texts(code, files) for code in dict.fromkeys((first, *text_languages(), *files))]

    def page_names(self, file: str) -> tuple[str, ...]:
        """The names that a page may have, whatever language it opens in."""
        return (file, *(name_in_language(file, code) for code in sorted({*text_languages(), *self.strings})))

    def _files(self) -> dict[str, Path]:
        return {code: ref.file for code, ref in self.strings.items()}


def report_settings(outputs: Mapping[str, KindSpec]) -> PageSpec:
    """The settings of the report among the outputs of a recipe, for pages that have none of their own."""
    reports = (spec for spec in outputs.values() if spec.kind == "report" and isinstance(spec, PageSpec))
    return next(reports, PageSpec(kind="report"))


FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""The name of a file in the output folder: ASCII, no folders."""
