"""The annotation backend for spreadsheets: writes sheets to fill in, and reads the filled ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from benchbuilder.annotation.base import (
    AnnotationBackend,
    AnnotatorInstructions,
    MissingJudgements,
    Subject,
    Task,
    Value,
    Votes,
)
from benchbuilder.annotation.sheets.folder import sync_sheet_folder
from benchbuilder.annotation.sheets.reading import SheetContents, SheetVote, read_vote_sheet
from benchbuilder.annotation.sheets.sheets import (
    SheetLabels,
    csv_bytes,
    escape_formula,
    fold_whitespace,
    guide_lines,
    needed_columns,
    sheet_columns,
    sheet_grid,
    sheet_rows,
)
from benchbuilder.annotation.sheets.workbook_support import is_xlsx_supported
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.config import AnnotationSpec, FileRef, KindSpec, Name, RuntimeOption
from benchbuilder.core import (
    DataError,
    StepContext,
    extra_advice,
    make_folder,
    raise_row_errors,
    read_given_file,
    special_file,
)

TO_FILL_FOLDER, FILLED_FOLDER = "to_fill", "filled"
_FORMER_TO_FILL_FOLDER, _FORMER_FILLED_FOLDER = "packets", "votes"
"""Names of the two folders in builds of earlier versions."""
_SHEETS = (".csv", ".xlsx")
_IGNORED = (".md", ".txt")
_LAYOUT_VERSION = "2"
"""Raise it when the layout of workbooks changes, so that earlier sheets are replaced."""


class SheetsSpec(AnnotationSpec):
    """Annotation in CSV and XLSX sheets. `votes` is a folder of filled sheets that the recipe ships.

    All `annotators` judge everything. The `adjudicator` judges only what is in dispute; ``rule: mean`` needs none.
    `labels` are the texts of the sheets besides the material, in the annotators' language. `fields` must be empty for
    candidates: they are shown whole.
    """

    annotators: Annotated[tuple[Name, ...], Field(min_length=1, max_length=20)]
    adjudicator: Name | None = None
    votes: FileRef | None = None
    labels: Annotated[SheetLabels, RuntimeOption()]

    @model_validator(mode="after")
    def _people(self) -> SheetsSpec:
        if len(set(self.people())) < len(self.people()):
            raise ValueError("annotators: the annotators and the adjudicator must all be different people")
        if self.adjudicator is None and self.rule != "mean":
            raise ValueError("adjudicator: somebody must decide where annotators are in dispute, or write rule: mean")
        if not self.display_fields() and (lacking := self.labels.lacking()):
            raise ValueError(f"labels: sheets of candidates need {', '.join(lacking)} too; other rows need `fields`")
        return self

    def votes_per_task(self) -> int:
        """Every annotator judges everything."""
        return len(self.annotators)

    def people(self) -> tuple[str, ...]:
        """The annotators and the adjudicator."""
        return self.annotators if self.adjudicator is None else (*self.annotators, self.adjudicator)

    def missing_for(self, person: str, votes: Votes, missing: MissingJudgements) -> tuple[Subject, ...]:
        """The missing judgements that `person` has to make."""
        if person == self.adjudicator:
            return missing.decisions
        return tuple(subject for subject in missing.votes if person not in votes.by_subject.get(subject, {}))

    def record_vote(self, votes: Votes, subject: Subject, person: str, value: Value) -> None:
        """Put a vote, or the adjudicator's decision, into `votes`."""
        if person == self.adjudicator:
            votes.decisions[subject] = (person, value)
        else:
            votes.by_subject.setdefault(subject, {})[person] = value


class SheetsBackend(AnnotationBackend):
    """Writes one CSV and one XLSX sheet per person to ``to_fill/``, and reads all filled sheets from ``filled/``.

    Both folders are in the workplace, or in a subfolder of it that has the name of the project. Filled sheets in
    ``votes/``, the name of the folder in earlier versions, are read as well.

    A sheet holds only what its person still has to judge, in an order of their own. It does not show where a candidate
    comes from or what others decided. The file name ends in a hash of the content, so filled sheets of several rounds
    can be kept together. An empty cell is no vote, and a repeated vote counts once. Contradictory votes of one person,
    values that are not allowed, and rows that show the text of another key are errors.
    """

    kind: ClassVar[str] = "sheets"
    spec_class: ClassVar[type[KindSpec]] = SheetsSpec

    spec: SheetsSpec
    _kept: tuple[tuple[tuple[str, int, int, int], ...], SheetContents] | None = None
    """What was in the files when they had these names, sizes, times and numbers."""

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:
        """SHA-256 of each filled sheet."""
        return {name: hashlib.sha256(read_given_file(path)).hexdigest() for name, path in self._files(workplace)}

    def _files(self, workplace: Path) -> Iterator[tuple[str, Path]]:
        """Names and paths of all filled sheets: those that the recipe ships, then those of the build."""
        shipped = self.spec.votes
        if shipped is not None:
            if not shipped.file.exists():
                raise DataError(
                    f"annotation.votes: {shipped.path} is missing",
                    where=str(shipped.file),
                    next="set annotation.votes to a folder of filled sheets, or to null if there are none yet",
                )
            yield from _files_below(shipped.file, shipped.path.rstrip("/"))
        for folder in (FILLED_FOLDER, _FORMER_FILLED_FOLDER):
            path = workplace / self.project / folder
            yield from _files_below(path, f"{self._folder_label(workplace)}/{folder}")

    def _folder_label(self, workplace: Path) -> str:
        """The folder of the project as messages show it."""
        return f"{workplace.name}/{self.project}".rstrip("/")

    # --- in

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:
        """Every vote on `subjects`; others are counted as stale. DataError lists all problems by file and row."""
        reading = self._read(workplace)
        votes = self._count_votes(reading, subjects)
        raise_row_errors(
            reading.problems,
            "the annotation sheets cannot be used",
            "correct the cells or remove the files, then run the same command again; no vote was counted",
        )
        return votes

    def _read(self, workplace: Path) -> SheetContents:
        """What is in the files; they are read again only when one of them changed."""
        files = tuple(self._files(workplace))
        stamps = tuple(
            (name, mark.st_size, mark.st_mtime_ns, mark.st_ino) for name, path in files for mark in [path.stat()]
        )
        if self._kept is None or self._kept[0] != stamps:
            questions = {wording_key(q): q for q in self.spec.questions_about().values()}
            reading = SheetContents(self.spec.people(), questions)
            for name, path in files:
                if path.suffix.lower() in _SHEETS:
                    read_vote_sheet(name, read_given_file(path), reading)
                elif path.suffix.lower() not in _IGNORED:
                    reading.problems.append(f"{name}: annotation sheets are .xlsx or .csv; save it as one of these")
            self._kept = stamps, reading
        return replace(self._kept[1], problems=list(self._kept[1].problems))

    def _count_votes(self, contents: SheetContents, subjects: Collection[Subject]) -> Votes:
        """The votes by subject and person; adds contradictions and misplaced keys to the problems of `contents`."""
        contents.problems += _misplaced_keys(contents, subjects)
        votes = Votes()
        first: dict[tuple[Subject, str], SheetVote] = {}
        for vote in contents.votes:
            if vote.subject not in subjects:
                votes.stale[vote.file] = votes.stale.get(vote.file, 0) + 1
                continue
            before = first.setdefault((vote.subject, vote.annotator), vote)
            if before.value != vote.value:
                contents.problems.append(
                    f"{vote.where}: {vote.annotator} says {vote.value}, but {before.value} at {before.where}; keep one"
                )
            self.spec.record_vote(votes, vote.subject, vote.annotator, before.value)
        keys = {subject.key for subject in subjects}
        votes.comments = sorted({comment for comment in contents.comments if comment.key in keys})
        return votes

    # --- out

    def ask(
        self, tasks: Sequence[Task], votes: Votes, missing_judgements: MissingJudgements, context: StepContext
    ) -> AnnotatorInstructions:
        """Write sheets with just the missing judgements, and delete earlier sheets that nobody changed."""
        sheets: dict[str, Callable[[], bytes]] = {}
        missing: dict[str, int] = {}
        for person in self.spec.people():
            subjects = self.spec.missing_for(person, votes, missing_judgements)
            for subject in subjects:
                name = f"{person}: {missing_judgements.subject_kinds[subject]}"
                missing[name] = missing.get(name, 0) + 1
            if subjects:
                sheets |= self._sheet_files(tasks, frozenset(subjects), person, context.seed)
        folder, label = context.workplace / self.project, self._folder_label(context.workplace)
        changed = [f"{name} in {label}/{TO_FILL_FOLDER}" for name in sync_sheet_folder(folder / TO_FILL_FOLDER, sheets)]
        former = sync_sheet_folder(folder / _FORMER_TO_FILL_FOLDER, {})
        changed += [f"{name} in {label}/{_FORMER_TO_FILL_FOLDER}" for name in former]
        if sheets:
            make_folder(folder / FILLED_FOLDER)
        also_xlsx = is_xlsx_supported()
        names = ", ".join(name for name in sheets if name.endswith(".xlsx" if also_xlsx else ".csv"))
        other = f"the .txt beside each says how; for XLSX: {extra_advice('xlsx')}"
        other = "or the .csv of the same name" if also_xlsx else other
        warning = ""
        if changed:
            warning = f"{', '.join(changed)} changed since written: if filled in, move to {label}/{FILLED_FOLDER}"
        return AnnotatorInstructions(
            missing=missing,
            where=f"{label}/{TO_FILL_FOLDER} in the folder of the build",
            next=f"fill in {names} ({other}), put them into {label}/{FILLED_FOLDER}, and run the same command again",
            warning=warning,
        )

    def _sheet_files(
        self, tasks: Sequence[Task], subjects: Collection[Subject], person: str, seed: int
    ) -> dict[str, Callable[[], bytes]]:
        """A person's sheet as CSV and, with the extra `xlsx`, as XLSX, else with a guide as text, by file name.

        The name changes with the content.
        """
        spec = self.spec
        rows = sheet_rows(tasks, subjects, spec, spec.labels, annotator=person, seed=seed)
        layout = needed_columns(sheet_columns(spec, spec.labels), rows)
        text = csv_bytes(sheet_grid(layout, rows))

        def book() -> bytes:
            from benchbuilder.annotation.sheets.workbook import workbook_bytes

            return workbook_bytes(layout, rows, spec, spec.labels)

        guide = "\n".join([*spec.labels.instructions, spec.labels.sheet, spec.labels.guide, _LAYOUT_VERSION]).encode()
        stem = f"{person}-{hashlib.blake2b(text + guide, digest_size=4).hexdigest()}"
        if is_xlsx_supported():
            return {f"{stem}.xlsx": book, f"{stem}.csv": lambda: text}
        # the workbook has a sheet with the guide; beside a CSV file alone it needs a file of its own
        lines = [f"{label}: {line}" if label else line for label, line in guide_lines(layout, spec, spec.labels)]
        return {f"{stem}.csv": lambda: text, f"{stem}.txt": lambda: "\n".join([*lines, ""]).encode()}


def _files_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The files of `folder` in order, without hidden files and locks of open files; `folder` may be one file."""
    if folder.is_file():
        yield name, folder
        return
    _refuse_unreadable(name, folder, special_file(folder))
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part.startswith((".", "~$")) for part in relative.parts):
            continue
        shown = f"{name}/{relative.as_posix()}"
        _refuse_unreadable(shown, path, special_file(path) or _unread_folder(path))
        if path.is_file():
            yield shown, path


def _unread_folder(path: Path) -> str:
    """What is at `path` if it is a folder with the name of a sheet, or a link to a folder, which is not searched."""
    if not path.is_dir():
        return ""
    return "a link to a folder" if path.is_symlink() else "a folder" if path.suffix.lower() in _SHEETS else ""


def _refuse_unreadable(name: str, path: Path, kind: str) -> None:
    """DataError for what would be passed over in silence: a pipe, a bad link, a folder with the name of a sheet."""
    if kind:
        raise DataError(
            f"{name} could not be read: it is {kind}",
            where=str(path),
            next="put the sheet itself there, or remove it; no vote was counted",
        )


def _misplaced_keys(contents: SheetContents, subjects: Collection[Subject]) -> list[str]:
    """A problem for each row that shows the text of another key, as after sorting columns without the key.

    A text that belongs to no key was only edited. For a key that is not shown now, the text is unknown, and its votes
    do not count.
    """
    text_of = {subject.key: fold_whitespace(escape_formula(subject.text)) for subject in subjects}
    key_of = {text: key for key, text in text_of.items() if text}
    problems: dict[str, None] = {}
    for vote in contents.votes:
        key, own = vote.subject.key, text_of.get(vote.subject.key)
        if own and vote.text != own and vote.text in key_of:
            problems[
                f"{vote.where}: the row shows the text of {key_of[vote.text]}, but its key is {key}; "
                "were columns sorted without the key? sort whole rows, or copy the keys from the sheet to fill"
            ] = None
    return list(problems)
