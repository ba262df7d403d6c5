"""What a recipe says of a classification of diseases, and the classification that it makes of its files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import (
    DataError,
    Regex,
    fill_template,
    find_all,
    has_match,
    replace_all,
    template_faults,
)
from pydantic import Field, field_validator

from benchbuilder_cmhe.dd.hierarchy import CodePlace, Hierarchy, category_of
from benchbuilder_cmhe.dd.hierarchy_files import read_hierarchy
from benchbuilder_cmhe.dd.names import CodeMatch, DiseaseNames, FuzzyRule, NameEntry, rewriting_form, variant_forms


class NameList(Spec):
    """A table of names with codes: tab-separated with a header (comma-separated if it is named .csv)."""

    file: FileRef
    code: Annotated[str, Field(min_length=1)]
    """The column of codes."""
    name: Annotated[str, Field(min_length=1)]
    """The column of names."""


class NameVariant(Spec):
    """Another form of a name: what matches `find` becomes `put` (with group references)."""

    find: Regex
    put: str = ""


class FuzzySpec(Spec):
    """When a name that stands in no list counts as the nearest one that does."""

    threshold: Annotated[float, Field(gt=0, le=100)]
    """Similarity in per cent: twice the characters in common, in order, of all characters of both."""
    at_least: Annotated[int, Field(ge=1)]
    """Characters that a name must have."""
    fixed: dict[str, Regex | None] = {}
    """What both must say alike, by names of your choice."""
    free: dict[str, Regex | None] = {}
    """What may differ, by names of your choice: a pattern over ``this>listed``, ``>listed`` for what only the list has.
    Every difference must match one from end to end. Empty: any may be."""


class ComplicationSpec(Spec):
    """How a disease and its complication are one entry, which goes before "without complications"."""

    link: Regex
    """What stands between a disease and its complication."""
    denied: Regex
    """What the list's names of a disease without complications match."""
    same: tuple[str, ...] = ()
    """Names that say the same, the best first: over ``{disease}`` and ``{complication}``."""
    instead: tuple[str, ...] = ()
    """Names that are looked for too where the disease alone is the entry without complications. Without one of them
    the category of the disease counts."""

    @field_validator("same", "instead")
    @classmethod
    def _check_forms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for form in value:
            if faults := template_faults(form, ("disease", "complication")):
                raise ValueError("; ".join(faults))
            if "{disease}" not in form:
                raise ValueError(f"{{disease}} must stand in {form!r}")
        return value


class ClassificationSpec(Spec):
    """The hierarchy, the lists of names, and how names are brought to those of the lists."""

    hierarchy: FileRef
    """XML (ClaML, or nested items) or a table with level, code, title and parent."""
    names: Annotated[dict[str, NameList | None], Field(min_length=1)]
    """Lists of names with codes; the codes may be longer than those of the hierarchy."""
    aliases: dict[str, NameList | None] = {}
    """Lists of further names, with the same codes."""
    titles: bool
    """Whether the titles of the hierarchy are names too."""
    left_out: tuple[str, ...]
    """Beginnings of codes that are no diseases here: symptoms, external causes and the like."""
    moved: dict[str, str] = {}
    """By which category one counts that the hierarchy's edition does not have."""
    spellings: dict[str, NameVariant | None] = {}
    """What is written in several ways, in names and lists alike (lower case, half width, no white space)."""
    variants: dict[str, NameVariant | None] = {}
    """Further forms of the lists' names."""
    trims: dict[str, NameVariant | None] = {}
    """What may go from a name that stands in no list: tried one after the other, each on what the last one left."""
    separators: Regex | None = None
    """What stands between several diseases in one name; all of them must stand in a list."""
    complications: ComplicationSpec | None = None
    """``null``: a disease and its complication are two entries."""
    fuzzy: FuzzySpec | None

    @field_validator("moved")
    @classmethod
    def _check_categories(cls, value: dict[str, str]) -> dict[str, str]:
        if wrong := [code for pair in value.items() for code in pair if category_of(code) != code]:
            raise ValueError(f"{wrong[0]!r} is no three-character category")
        return value

    def fuzzy_rule(self) -> FuzzyRule | None:
        """The same as `fuzzy`, without what was taken away."""
        if self.fuzzy is None:
            return None
        fixed = tuple(pattern for pattern in self.fuzzy.fixed.values() if pattern)
        free = tuple(pattern for pattern in self.fuzzy.free.values() if pattern)
        return FuzzyRule(self.fuzzy.threshold, self.fuzzy.at_least, fixed, free)


@dataclass(frozen=True)
class Classification:
    """A classification that was opened: where codes belong, and which code a name has."""

    hierarchy: Hierarchy
    names: DiseaseNames
    spec: ClassificationSpec
    unplaced_count: int
    """Entries of the lists whose code belongs nowhere in the hierarchy; they are left out."""

    def place(self, code: str) -> CodePlace | None:
        """Where a code belongs, ``None`` if it is none of a disease."""
        return None if self.is_left_out(code) else self.hierarchy.place(code)

    def is_left_out(self, code: str) -> bool:
        """Whether the recipe leaves a code out."""
        return category_of(code).startswith(self.spec.left_out) if self.spec.left_out else False

    def find_listed(self, name: str) -> list[CodeMatch]:
        """The codes of a name that stands in a list: as it is, in another form, trimmed, or part by part."""
        found = self._find_single(name)
        return [found] if found is not None else self._find_complicated(name) or self._find_by_parts(name)

    def _find_single(self, name: str) -> CodeMatch | None:
        if (found := self.names.find(name)) is not None:
            return found
        for shorter in self._trimmed_names(name):
            if (found := self.names.find(shorter)) is not None:
                return replace(found, how="alias")
        return None

    def find(self, name: str) -> list[CodeMatch]:
        """The codes of a name: as it is listed, else of the nearest name; none if there is none near enough.

        Two names that are as near but belong to different categories are none.
        """
        if listed := self.find_listed(name):
            return listed
        near = self.spec.fuzzy_rule()
        if near is None:
            return []
        for text in (name, *self._trimmed_names(name)):
            nearest = self.names.nearest(text, near, 4, name)
            best = [match for match in nearest if match.score == nearest[0].score]
            if best and len({category_of(match.code) for match in best}) == 1:
                return [best[0]]
        return []

    def name_of(self, code: str) -> str:
        """What the lists call a code, or the hierarchy; "" if neither has it."""
        return self.names.name_of(code) or self.hierarchy.title(code)

    def candidates(self, name: str, count: int) -> list[CodeMatch]:
        """The `count` nearest names whatever they are like, for somebody to choose from."""
        return list(self.names.nearest(name, FuzzyRule(1.0, 1), count))

    def _trimmed_names(self, name: str) -> Iterator[str]:
        text = name
        for trim in self.spec.trims.values():
            if trim is not None and (shorter := replace_all(trim.find, trim.put, text).strip()) != text and shorter:
                text = shorter
                yield text

    def _find_complicated(self, name: str) -> list[CodeMatch]:
        """The codes of a disease with a complication, if the list's code of the disease alone denies any."""
        rule = self.spec.complications
        ends = None if rule is None else next(iter(find_all(rule.link, name)), None)
        if rule is None or ends is None:
            return []
        disease, complication = name[: ends.start].strip(), name[ends.end :].strip()
        alone = self._find_single(disease)
        if alone is None or not complication:
            return []
        denied = self._denies_complications(alone.code, rule.denied)
        for form in (*rule.same, *(rule.instead if denied else ())):
            text = fill_template(form, {"disease": disease, "complication": complication})[0]
            if (found := self.names.find(text)) is not None:
                rest = [] if "{complication}" in form else self._find_complication(complication)
                return [replace(found, how="alias", part=disease if rest else ""), *rest]
        rest = self._find_complication(complication) if denied else []
        category = category_of(alone.code)
        head = CodeMatch(category, self.hierarchy.title(category), "alias", part=disease)
        return [head, *rest] if rest else []

    def _find_complication(self, name: str) -> list[CodeMatch]:
        return [replace(match, part=match.part or name) for match in self.find_listed(name)]

    def _denies_complications(self, code: str, denied: str) -> bool:
        own = (self.names.name_of(code), *self.names.names_of(code), self.hierarchy.title(code))
        return any(has_match(denied, text) for text in own)

    def _find_by_parts(self, name: str) -> list[CodeMatch]:
        if not self.spec.separators:
            return []
        parts = [part.strip() for part in replace_all(self.spec.separators, "\n", name).split("\n")]
        found = [(part, self._find_single(part)) for part in parts]
        if len(parts) < 2 or any(match is None for _, match in found):
            return []
        return [replace(match, part=part) for part, match in found if match is not None]


def open_classification(spec: ClassificationSpec) -> Classification:
    """The classification of `spec`. DataError if a file is missing or has another shape."""
    files = [spec.hierarchy, *(table.file for table in (*spec.names.values(), *spec.aliases.values()) if table)]
    for ref in files:
        if not ref.file.is_file():
            raise DataError("a file of the classification is missing", where=str(ref.file),
                            why=f"the recipe names {ref.path}", next="check paths.icd10… of the recipe")  # fmt: skip
    stamps = tuple((str(ref.file), ref.file.stat().st_mtime_ns, ref.file.stat().st_size) for ref in files)
    return _open_cached(spec.model_dump_json(), stamps)


@lru_cache(maxsize=4)
def _open_cached(spec_json: str, stamps: tuple[tuple[str, int, int], ...]) -> Classification:  # noqa: ARG001
    spec = ClassificationSpec.model_validate_json(spec_json)
    hierarchy = replace(read_hierarchy(spec.hierarchy.file), moved=spec.moved)
    listed = [entry for table in spec.names.values() if table for entry in _read_entries(table)]
    if spec.titles:
        listed += [
            NameEntry(node.code, node.title)
            for node in hierarchy.nodes.values()
            if node.level in ("category", "subcategory") and node.title
        ]
    aliases = [entry for table in spec.aliases.values() if table for entry in _read_entries(table)]
    placed = [entry for entry in listed if hierarchy.place(entry.code) is not None]
    if not placed:
        raise DataError("no name of the lists has a code of the hierarchy", where=str(spec.hierarchy.file),
                        why=f"{len(listed)} names were read", next="check the columns of the lists")  # fmt: skip
    rewrites = {variant.find: variant.put for variant in spec.spellings.values() if variant is not None}
    variants = [(variant.find, variant.put) for variant in spec.variants.values() if variant is not None]
    names = DiseaseNames(placed, rewriting_form(rewrites))
    further = [
        (entry.name, replace(entry, name=names.name_of(entry.code) or entry.name))
        for entry in aliases
        if hierarchy.place(entry.code) is not None
    ]
    other = ((form, entry) for entry in placed for form in variant_forms(entry.name, variants))
    unplaced = len(listed) + len(aliases) - len(placed) - len(further)
    return Classification(hierarchy, names.with_forms([*further, *other]), spec, unplaced)


def _read_entries(table: NameList) -> Iterator[NameEntry]:
    """The names of a list; a row of another width is an error, one without code or name is not."""
    path = table.file.file
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            comma = path.suffix.lower() == ".csv"
            quoting = csv.QUOTE_MINIMAL if comma else csv.QUOTE_NONE
            rows = csv.reader(file, delimiter="," if comma else "\t", quoting=quoting)
            header = next(rows, [])
            if missing := [column for column in (table.code, table.name) if column not in header]:
                raise _malformed_error(path, f"it has no column {missing[0]!r}, but {', '.join(header)}")
            code, name = header.index(table.code), header.index(table.name)
            for row in rows:
                if row and not row[0].startswith("#"):
                    if len(row) != len(header):
                        raise _malformed_error(path, f"line {rows.line_num} has {len(row)} columns, not {len(header)}")
                    if row[code].strip() and row[name].strip():
                        yield NameEntry(row[code].strip(), row[name].strip())
    except UnicodeDecodeError as error:
        raise _malformed_error(path, f"it is not UTF-8: {error}") from error


def _malformed_error(path: Path, why: str) -> DataError:
    return DataError("a list of names has the wrong shape", where=str(path), why=why,
                     next="check file, code and name of the list in the recipe")  # fmt: skip
