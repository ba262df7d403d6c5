"""``new NAME --from RECIPE``: a copy of a recipe as text, with its open places marked."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchbuilder import __version__
from benchbuilder.authoring.clone.copying import CopiedFiles, copied_bytes, words_of_lists
from benchbuilder.authoring.clone.parts import RecipeParts
from benchbuilder.authoring.clone.provenance import ORIGIN_FILE, CloneNames, CopiedFile, OriginRecord, sha256_of
from benchbuilder.authoring.clone.source_form import options_in_other_script, source_template, unread_sources
from benchbuilder.config import (
    OPEN_PLACE,
    CardSpec,
    KeyPath,
    LoadedRecipe,
    RecipeIndex,
    YamlEditor,
    check_way,
    display_path,
    is_flow,
    is_reserved_name,
    load_recipe,
)
from benchbuilder.core import (
    Problem,
    RecipeError,
    language_fault,
    read_given_file,
    read_json,
    same_language,
    write_atomically,
)

_GROUPS = ("recipe", "forms", "writing")
"""Groups that have a file with the name of a new recipe."""
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
TEXT_SOURCES = ("corpus", "books", "wikipedia")
"""Kinds of sources of texts, which any flow takes as evidence."""
_REQUESTED_FIELDS = ("correct_as_of", "limitations")
"""Optional fields of a card that a copy must fill in."""


@dataclass(frozen=True, slots=True)
class WrittenSource:
    """A source as YAML, and the content of its file, which was `given` and is copied to `place` beside the recipe.

    `warning` says what could not be told of the file.
    """

    text: str
    place: str = ""
    content: bytes = b""
    given: Path | None = None
    warning: Problem | None = None


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """The name of a copy, its original, and what differs."""

    name: str
    origin: str
    language: str | None = None
    sources: tuple[str, ...] = ()
    extra_options: tuple[str, ...] = ()
    written: Mapping[str, WrittenSource] = field(default_factory=dict[str, "WrittenSource"])
    """Sources that are known already, by their ``NAME:KIND`` among `sources`."""
    card: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the card of a copy says until somebody writes it, as YAML, by field."""


@dataclass(frozen=True, slots=True)
class Clone:
    """The files of a new recipe by their paths below the current folder, the record of its origin, and warnings.

    A recipe that is not a copy has no record. `notes` are lines about what was made.
    """

    name: str
    files: dict[PurePosixPath, bytes]
    record: OriginRecord | None
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write every file below `folder`, or none; with nothing written, RecipeError if one exists already.

        StoreError, if a link would lead one elsewhere.
        """
        record = record_place(self.name)
        files = {**self.files, record: record_of(self.files)}
        existing = [display_path(folder / place) for place in files if (folder / place).exists()]
        if existing:
            known = (folder / record).exists()
            hint = f"choose another name, or {'give --overwrite' if known else 'move these files: no recipe owns them'}"
            raise RecipeError([Problem("a copy overwrites nothing", actual=", ".join(existing[:5]), hint=hint)])
        for place in files:
            check_way(folder / place)
        written: list[Path] = []
        try:
            for place, data in files.items():
                written.append(write_atomically(folder / place, data))
        except BaseException:  # half a copy would be in the way of the next try
            for path in written:
                path.unlink(missing_ok=True)
            raise
        return written


def clone_recipe(request: CloneRequest, recipes: Sequence[str] | None = None) -> Clone:
    """Copy a recipe with all that it needs; nothing is written.

    Args:
        request: What to copy, and how.
        recipes: Further folders of recipes.

    Raises:
        RecipeError: The request is wrong, or the recipe cannot be loaded.
    """
    loaded = load_recipe([f"recipe={request.origin}"], recipes=recipes)
    library = RecipeIndex(loaded.roots)
    check_request(request, library)
    path, root = library.paths_of(f"recipe/{request.origin}")[0]
    parts = RecipeParts(request.origin, library, request.extra_options)
    bases = tuple(file.path.stem for part, file in parts.files.items() if part.startswith("recipe/"))
    old, new = (tag.partition("-")[0] for tag in (loaded.recipe.language, request.language or ""))
    names = CloneNames(request.name, path.stem, old, bases, new if new != old else "")
    copies = CopiedFiles(loaded, parts, names)
    main = copies.places[path.resolve()]
    files: dict[PurePosixPath, bytes] = {}
    copied: dict[str, CopiedFile] = {}
    for source, place, editor in copies.editors():
        if editor is not None and place.parts[:2] == ("recipes", "recipe") and len(place.parts) == 3:
            _RecipeEditor(editor, request, loaded, names.origin).change(place, copies, main=place == main)
        if editor is not None:
            keep_casing(editor)
        data = copied_bytes(source, editor)
        files[place] = data
        copied[str(place)] = CopiedFile(copies.origins[place], sha256_of(read_given_file(source)), sha256_of(data))
    lists = words_of_lists(loaded)
    card: Any = loaded.recipe.card.model_dump(mode="json")
    record = OriginRecord(
        recipe=request.origin, language=loaded.recipe.language, produced_by=f"benchbuilder {__version__}",
        found_in=root.label, licence=loaded.recipe.card.licence, files=copied, card=card,
        lists=tuple(str(copies.places[file]) for file in lists if file in copies.places),
        words=tuple(dict.fromkeys(word for words in lists.values() for word in words)),
    )  # fmt: skip
    files[PurePosixPath("recipes", "recipe", request.name, ORIGIN_FILE)] = record.to_json().encode()
    files |= {PurePosixPath("recipes/recipe", source.place): source.content for source in request.written.values()}
    foreign = options_in_other_script(request.extra_options, parts, record.words)
    return Clone(request.name, files, record, (*unread_sources(request.sources, loaded), *foreign))


def check_request(request: CloneRequest, library: RecipeIndex) -> None:
    """RecipeError with everything that is wrong with the name and the language of a new recipe."""
    problems: list[Problem] = []
    if not _NAME.match(request.name):
        allowed = "a-z, 0-9 and _, beginning with a letter"
        problems.append(Problem("this is not a valid name for a recipe", where=f"new {request.name}", allowed=allowed))
    elif is_reserved_name(request.name):
        problems.append(
            Problem("Windows cannot have a file of this name", where=f"new {request.name}", hint="choose another name")
        )
    elif places := [place for group in _GROUPS for place in library.paths_of(f"{group}/{request.name}")]:
        files = ", ".join(display_path(path) for path, _ in places)
        what = "a recipe of this name exists" if library.paths_of(f"recipe/{request.name}") else "files have this name"
        problems.append(Problem(f"{what} already", actual=files, hint="choose another name, or give --overwrite"))
    if request.language is not None and (fault := language_fault(request.language)):
        problems.append(Problem(fault, where=f"--language {request.language}"))
    if problems:
        raise RecipeError(problems)


class _RecipeEditor:
    """Changes the text of a copied recipe, besides names and references."""

    def __init__(self, editor: YamlEditor, request: CloneRequest, loaded: LoadedRecipe, origin: str) -> None:
        self.editor, self.request, self.loaded, self.origin = editor, request, loaded, origin

    def change(self, place: PurePosixPath, copies: CopiedFiles, *, main: bool) -> None:
        """Change name, language and card in every recipe; in the `main` one, also header, options and sources."""
        self.editor.replace(("name",), place.stem)
        self._edit_card()
        if self.request.language is not None:
            self.editor.replace(("language",), self.request.language)
        if self.request.sources:
            self._remove_sources()
        if not main:
            return
        self._edit_header()
        options = copies.parts.default_options.items()
        overrides = [f"override /{group}: {copies.new_name(part)}" for group, part in options]
        if self.request.sources and not self._chosen_option("override /source"):
            overrides.append("override /source: []")
        chosen = self._chosen_option("override /tokenizer")
        if self._has_other_language() and chosen is not None:
            self.editor.replace_span(chosen.start_mark.index, chosen.end_mark.index, f'"{OPEN_PLACE}"')
        elif self._has_other_language():
            overrides.append(f'override /tokenizer: "{OPEN_PLACE}"')
        self._add_defaults(overrides)
        if self.request.sources:
            forms = [
                written.text
                if (written := self.request.written.get(one))
                else source_template(one, self.request.name)[1]
                for one in self.request.sources
            ]
            self._replace_block("sources", "\n\n".join(forms))
            kinds = {source.partition(":")[2] for source in self.request.sources}
            if kinds.isdisjoint(TEXT_SOURCES) and getattr(self.loaded.recipe.annotation, "min_evidence", 0):
                why = "min_evidence: 0 # no source has passages that could support an item"
                if not self.editor.append_entry(("annotation",), why):
                    self._replace_block("annotation", f"  {why}")

    def _edit_card(self) -> None:
        for name in self.editor.children(("card",)):
            info = CardSpec.model_fields.get(name)
            if info is None or info.is_required() or name in _REQUESTED_FIELDS:
                text = self.request.card.get(name, OPEN_PLACE)
                self.editor.replace(("card", name), text, old_value_label=self.origin)
            else:
                default: Any = info.get_default()
                plain = list(default) if isinstance(default, tuple) else default  # pyright: ignore[reportUnknownArgumentType]
                text = yaml.safe_dump(plain, default_flow_style=True).partition("\n")[0]
                self.editor.replace(("card", name), text, old_value_label="" if plain == [] else self.origin)

    def _edit_header(self) -> None:
        text, origin, name = self.editor.text, self.origin, self.request.name
        first_line = text.partition("\n")[0]
        start = len(first_line) + 1 if first_line.startswith("# @package") else 0
        self.editor.insert(
            start,
            f"# Copied from {origin}; {name}/{ORIGIN_FILE} names the version. Open places hold {OPEN_PLACE}:\n"
            f"# `benchbuild check recipe={name}` lists them, and text that is still about {origin}.\n"
            + (f"# The header of {origin}:\n#\n" if text[start : start + 1] == "#" else ""),
        )

    def _chosen_option(self, group: str) -> yaml.Node | None:
        """The option that an entry of `defaults` chooses."""
        defaults = self.editor.find_entry(("defaults",))
        for entry in defaults[1].value if defaults is not None else ():
            if isinstance(entry, yaml.MappingNode) and entry.value[0][0].value == group:
                return entry.value[0][1]
        return None

    def _add_defaults(self, entries: Sequence[str]) -> None:
        """Add entries to `defaults`, above `_self_`."""
        defaults = self.editor.find_entry(("defaults",))
        if not entries:
            return
        if defaults is None:
            start = self.editor.tree.value[0][0].start_mark.index if self.editor.tree is not None else 0
            lines = "".join(f"  - {entry}\n" for entry in (*entries, "_self_"))
            self.editor.insert(start, f"defaults:\n{lines}\n")
        elif (last := next((node for node in defaults[1].value if node.value == "_self_"), None)) is not None:
            between = ", " if is_flow(defaults[1]) else f"\n{' ' * (last.start_mark.column - 2)}- "
            self.editor.insert(last.start_mark.index, "".join(f"{entry}{between}" for entry in entries))

    def _has_other_language(self) -> bool:
        """Whether the copy is in another language: then its owner must name another tokenizer."""
        language = self.loaded.recipe.language
        return not same_language(self.request.language or language, language)

    def _remove_sources(self) -> None:
        """Remove the sources of the original."""
        chosen = self._chosen_option("override /source")
        if isinstance(chosen, yaml.SequenceNode):
            self.editor.replace_span(chosen.start_mark.index, chosen.end_mark.index, "[]")
        for key in self._source_paths():
            self.editor.remove(key)
        gone = set(self.loaded.recipe.sources) - {source.partition(":")[0] for source in self.request.sources}
        for top in ("steps", "retriever", "outputs"):
            for node in self.editor.lists((top,)):
                names = [str(item.value) for item in node.value]
                kept = [name for name in names if name not in gone]
                if kept != names and is_flow(node):
                    text = f"[{', '.join(kept)}]"
                    self.editor.replace_span(node.start_mark.index, node.end_mark.index, text)

    def _source_paths(self) -> list[KeyPath]:
        """The keys below `paths` that only sources of the original use."""
        links = self.loaded.origins.links
        used = {link[0] for key, link in links.items() if key[:1] == ("sources",)}
        others = {link[0] for key, link in links.items() if key[:1] != ("sources",)}
        return [key for key in used - others if key[:1] == ("paths",)]

    def _replace_block(self, name: str, lines: str) -> None:
        """Replace a block of the recipe, or add it at the end."""
        if self.editor.find_entry((name,)) is not None:
            self.editor.replace((name,), f"\n{lines}")
            return
        newline = "" if self.editor.text.endswith("\n") else "\n"
        self.editor.insert(len(self.editor.text), f"{newline}\n{name}:\n{lines}\n")


def keep_casing(editor: YamlEditor) -> None:
    """Let every `casing` of a file keep letters: the names of its list are those of another field of knowledge."""
    for value in _mappings(editor.tree, "casing"):
        for name, way in value.value:
            if name.value == "default" and way.value == "lower":
                comment = "" if is_flow(value) else " # lower: once `names` lists the names of your field"
                editor.replace_span(way.start_mark.index, way.end_mark.index, f"keep{comment}")


def _mappings(node: yaml.Node | None, key: str) -> Iterator[yaml.MappingNode]:
    """Every mapping under `key`, wherever it is."""
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        name, value = child if isinstance(child, tuple) else (None, child)
        if name is not None and name.value == key and isinstance(value, yaml.MappingNode):
            yield value
        yield from _mappings(value, key)


_RECORD = "written.json"
"""What `new` wrote: each file below the current folder, and the SHA-256 of its bytes."""


def record_place(name: str) -> PurePosixPath:
    """Where the record of a recipe's files is."""
    return PurePosixPath("recipes/recipe", name, _RECORD)


def record_of(files: Mapping[PurePosixPath, bytes]) -> bytes:
    """The record of these files."""
    return (json.dumps({str(place): sha256_of(data) for place, data in files.items()}, indent=1) + "\n").encode()


@contextmanager
def removed_recipe(name: str, folder: Path) -> Generator[None]:
    """Remove the files of a recipe, and put them back if the context fails.

    Raises:
        RecipeError: No record says that `new` wrote it, or somebody edited a file since; nothing is removed.
    """
    record = folder / record_place(name)
    if not record.is_file():
        if not (folder / "recipes" / "recipe" / f"{name}.yaml").exists():
            yield
            return
        hint = "choose another name; or remove it yourself, if nobody needs it"
        raise RecipeError(
            [
                Problem(
                    "`new` overwrites only a recipe that it wrote",
                    where="--overwrite",
                    actual=f"there is no {display_path(record)}",
                    hint=hint,
                )
            ]
        )
    known: dict[str, Any] = read_json(record)
    files = {path: read_given_file(path) for place in known if (path := folder / place).is_file()}
    edited = [
        display_path(path)
        for path, data in files.items()
        if sha256_of(data) != known[path.relative_to(folder).as_posix()]
    ]
    if edited:
        hint = "choose another name, or remove these files if nobody needs what was written there"
        raise RecipeError(
            [
                Problem(
                    "somebody edited this recipe since `new` wrote it",
                    where="--overwrite",
                    actual=", ".join(edited[:5]),
                    hint=hint,
                )
            ]
        )
    files[record] = read_given_file(record)
    for path in files:
        path.unlink()
    try:
        yield
    except BaseException:  # also on Ctrl-C: the former recipe must not be lost
        for path, data in files.items():
            write_atomically(path, data)
        raise
