"""The files of a copy: which files are copied, under which names, and with which changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import yaml

from benchbuilder.authoring.clone.parts import (
    FileMention,
    RecipeParts,
    bound_files,
    file_mentions,
    is_bound,
    source_files,
)
from benchbuilder.authoring.clone.provenance import CloneNames
from benchbuilder.config import OPEN_PLACE, LoadedRecipe, RecipeFile, YamlEditor, dotted_key
from benchbuilder.core import Problem, RecipeError, read_given_file, read_given_text

EXAMPLES = "examples.yaml"
"""The file in a folder of prompts with an example of each."""
_MOST_BYTES = 20_000_000
"""The size limit of a copied file."""


class CopiedFiles:
    """The files of a copy by their paths (``recipes/...``, ``prompts/...``)."""

    def __init__(self, loaded: LoadedRecipe, parts: RecipeParts, names: CloneNames) -> None:
        self.loaded, self.parts, self.names = loaded, parts, names
        self.sources, self.bound = source_files(loaded), bound_files(loaded)
        self.links = {key: link[0] for key, link in loaded.origins.links.items()}
        self.places: dict[Path, PurePosixPath] = {}
        self.origins: dict[PurePosixPath, str] = {}
        self._roots: dict[Path, Path] = {}
        self._recipe_files = {file.path.resolve(): (name, file) for name, file in parts.files.items()}
        for file in parts.files.values():
            self._add_file(file.path.resolve(), file.root.path)

    def editors(self) -> Iterator[tuple[Path, PurePosixPath, YamlEditor | None]]:
        """Every file with its new path; for a YAML file its editor, with changed names and references."""
        for path, place in sorted(self.places.items(), key=lambda pair: str(pair[1])):
            editor = _editor(path)
            if editor is not None:
                self._rename_defaults(path, editor)
                for reference in self._references(path, editor):
                    new = self._data_placeholder(path, reference) or self._new_reference(reference, place)
                    editor.replace_scalar(reference.scalar, new)
                if place.parts[0] == "prompts" and path.name == EXAMPLES:
                    self._examples(path, editor)
            yield path, place, editor

    def new_name(self, part: str) -> str | None:
        """The name of the copy of ``group/name`` in its group; None if it is not copied."""
        file = self.parts.files.get(part)
        if file is None:
            return None
        place = self.places[file.path.resolve()]
        return PurePosixPath(*place.parts[2:]).with_suffix("").as_posix()

    def _add_file(self, path: Path, root: Path) -> None:
        """Add a file below a root of recipes, and the files that it refers to."""
        place = self.names.recipe_file(PurePosixPath(path.relative_to(root).as_posix()))
        self._assign_place(path, "recipes", place, root)
        editor = _editor(path)
        for reference in self._references(path, editor) if editor is not None else ():
            if reference.file in self.places or self._data_placeholder(path, reference):
                continue
            if reference.is_prompt:
                self._add_prompt(reference.file)
            elif reference.file.is_dir():
                for file in sorted(file for file in reference.file.rglob("*") if file.is_file()):
                    self._add_file(file.resolve(), root)
            else:
                self._add_file(reference.file, root)

    def _add_prompt(self, path: Path) -> None:
        """Add a prompt, and the examples of its folder."""
        folder = self._prompt_root(path)
        examples = path.with_name(EXAMPLES)
        for file in (path, examples) if path.suffix == ".j2" and examples.is_file() else (path,):
            if file not in self.places:
                place = self.names.prompt_file(PurePosixPath(file.relative_to(folder).as_posix()))
                self._assign_place(file, "prompts", place, folder)

    def _prompt_root(self, path: Path) -> Path:
        return next(folder for folder in self.loaded.prompt_roots if path.is_relative_to(folder))

    def _assign_place(self, path: Path, top: str, wanted: PurePosixPath, root: Path) -> None:
        """Give a file the path `wanted` below `top`, or one with a number if another file of the copy has it."""
        if path.stat().st_size > _MOST_BYTES:
            raise RecipeError(
                [Problem("this file is too large to copy", where=str(path), allowed=f"{_MOST_BYTES} bytes")]
            )
        taken, number, place = set(self.places.values()), 1, PurePosixPath(top, wanted)
        while place in taken:
            number += 1
            place = PurePosixPath(top, wanted.with_name(f"{wanted.stem}_{number}{wanted.suffix}"))
        self.places[path] = place
        self.origins[place] = f"{top}/{path.relative_to(root).as_posix()}"
        self._roots[path] = root

    def _references(self, path: Path, editor: YamlEditor) -> Iterator[FileMention]:
        root = self._roots[path]
        yield from file_mentions(editor, path, root, self.loaded.prompt_roots, {*self.sources, *self.bound})

    def _data_placeholder(self, path: Path, reference: FileMention) -> str:
        """The value in place of data, which is not copied; empty for other references."""
        if reference.file in self.sources:
            return OPEN_PLACE
        if reference.file in self.bound:
            return "null"
        part, _ = self._recipe_files.get(path, ("", None))
        if not part.startswith("recipe/"):
            return ""
        # the user's own files may replace those that the recipe names
        key = reference.scalar.key
        keys = [key, *(link for link, target in self.links.items() if target == key)]
        if any(link[0] == "sources" for link in keys):
            return OPEN_PLACE
        if key[:1] == ("paths",) and len(keys) == 1:  # for instance of a source that is not chosen
            return "null"
        return "null" if any(is_bound(dotted_key(link)) for link in keys) else ""

    def _new_reference(self, reference: FileMention, place: PurePosixPath) -> str:
        """The path by which the copy at `place` refers to the copy of a file."""
        target = self.places.get(reference.file) or self._folder(reference.file)
        if reference.is_prompt:
            return PurePosixPath(*target.parts[1:]).as_posix()
        return PurePosixPath(os.path.relpath(target, place.parent)).as_posix()

    def _folder(self, folder: Path) -> PurePosixPath:
        root = next(root for path, root in self._roots.items() if path.is_relative_to(folder))
        return PurePosixPath("recipes", self.names.recipe_file(PurePosixPath(folder.relative_to(root).as_posix())))

    def _rename_defaults(self, path: Path, editor: YamlEditor) -> None:
        """Replace the names of chosen options that were copied by their new names."""
        if path not in self._recipe_files:
            return
        _, file = self._recipe_files[path]
        renamed = {
            (choice.line, name): new
            for choice in file.choices
            for name, part in self.parts.targets(choice, file)
            if (new := self._renamed_option(name, part, choice.group, file)) is not None
        }
        for scalar in editor.scalars():
            if scalar.key[:1] == ("defaults",):
                line = max((choice.line for choice in file.choices if choice.line <= scalar.line), default=0)
                if (new := renamed.get((line, scalar.text))) is not None:
                    editor.replace_scalar(scalar, new)

    def _renamed_option(self, name: str, part: str, group: str, file: RecipeFile) -> str | None:
        new = self.new_name(part)
        if new is None:
            return None
        absolute = f"/{part.partition('/')[0]}/{new}" if name.startswith("/") else new
        own = "/".join(map(str, file.group[1:])) if not group else ""
        _, at, place = name.partition("@")
        return (absolute.removeprefix(f"{own}/") if own else absolute) + at + place

    def _examples(self, path: Path, editor: YamlEditor) -> None:
        """Keep the examples of copied prompts; each names the language of its prompt, as the folder no longer does."""
        tag, _, about = path.relative_to(self._prompt_root(path)).parts[0].partition("_")
        tag = self.names.language if tag == self.names.origin else tag
        lines = [f"language: {tag} # of the prompt; `about: xx` if it is about texts in another language"]
        lines += [f"about: {about}"] if about else []
        for prompt in editor.children(()):
            _, example = editor.find_entry((prompt,)) or (None, None)
            if path.with_name(f"{prompt}.j2") not in self.places:
                editor.remove((prompt,))
                continue
            if isinstance(example, yaml.MappingNode) and example.value and not editor.find_entry((prompt, "language")):
                indent = "\n" + " " * example.start_mark.column
                editor.insert(example.start_mark.index, "".join(line + indent for line in lines))


def copied_bytes(path: Path, editor: YamlEditor | None) -> bytes:
    """The content of a copied file."""
    return read_given_file(path) if editor is None else editor.edited_text().encode()


def words_of_lists(loaded: LoadedRecipe) -> dict[Path, list[str]]:
    """The word lists of a recipe with their words, without the glosses behind tabs."""
    lists: dict[Path, list[str]] = {}
    for file in dict.fromkeys(ref.file.resolve() for key, ref in loaded.files if key.rpartition(".")[2] == "words"):
        lines = read_given_text(file, "utf-8-sig").splitlines()
        words = (" ".join(line.partition("\t")[0].split()) for line in lines if not line.lstrip().startswith("#"))
        lists[file] = [word for word in words if word]
    return lists


def _editor(path: Path) -> YamlEditor | None:
    return YamlEditor(read_given_text(path)) if path.suffix == ".yaml" else None
