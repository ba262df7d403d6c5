"""The texts of a clone: what is copied, under which names, and what is changed on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import yaml

from benchbuilder.authoring.clone.edit_yaml import OPEN_PLACE, YamlEditor
from benchbuilder.authoring.clone.naming import CloneNames
from benchbuilder.authoring.clone.parts import (
    FileMention,
    RecipeParts,
    bound_files,
    file_mentions,
    is_bound,
    source_files,
)
from benchbuilder.config import LoadedRecipe, RecipeFile, dotted_key
from benchbuilder.core import Problem, RecipeError

EXAMPLES = "examples.yaml"
"""The file in a folder of prompts that holds an example of each."""
_MOST_BYTES = 20_000_000
"""How big a copied file may be."""


class CopiedFiles:
    """The files of a clone by their places (``recipes/...``, ``prompts/...``): first found, then written."""

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
        """Every file with its place; for a YAML file its text, with names and references changed."""
        for path, place in sorted(self.places.items(), key=lambda pair: str(pair[1])):
            editor = _editor(path)
            if editor is not None:
                self._rename_defaults(path, editor)
                for reference in self._references(path, editor):
                    editor.replace_scalar(
                        reference.scalar,
                        self._data_placeholder(path, reference) or self._new_reference(reference, place),
                    )
                if place.parts[0] == "prompts" and path.name == EXAMPLES:
                    self._examples(path, editor)
            yield path, place, editor

    def new_name(self, part: str) -> str | None:
        """The name of the copy of ``group/name`` below its group; None if it is not copied."""
        file = self.parts.files.get(part)
        if file is None:
            return None
        place = self.places[file.path.resolve()]
        return PurePosixPath(*place.parts[2:]).with_suffix("").as_posix()

    def _add_file(self, path: Path, root: Path) -> None:
        """Take in a file below the root of recipes, and what it refers to."""
        self._assign_place(
            path,
            self._free_place("recipes", self.names.recipe_file(PurePosixPath(path.relative_to(root).as_posix()))),
            "recipes",
            root,
        )
        editor = _editor(path)
        for reference in self._references(path, editor) if editor is not None else ():
            if reference.file in self.places or self._data_placeholder(path, reference):
                continue
            if reference.is_prompt:
                self._add_prompt(reference.file)
            elif reference.file.is_dir():
                for one in sorted(one for one in reference.file.rglob("*") if one.is_file()):
                    self._add_file(one.resolve(), root)
            else:
                self._add_file(reference.file, root)

    def _add_prompt(self, path: Path) -> None:
        """Take in a prompt, and the examples of its folder."""
        folder = next(folder for folder in self.loaded.prompt_roots if path.is_relative_to(folder))
        examples = path.with_name(EXAMPLES)
        for one in (path, examples) if path.suffix == ".j2" and examples.is_file() else (path,):
            if one in self.places:
                continue
            place = self.names.prompt_file(PurePosixPath(one.relative_to(folder).as_posix()))
            self._assign_place(one, self._free_place("prompts", place), "prompts", folder)

    def _assign_place(self, path: Path, place: PurePosixPath, top: str, root: Path) -> None:
        if path.stat().st_size > _MOST_BYTES:
            problem = Problem("this file is too big to be copied", where=str(path), allowed=f"{_MOST_BYTES} bytes")
            raise RecipeError([problem])
        self.places[path] = place
        self.origins[place] = f"{top}/{path.relative_to(root).as_posix()}"
        self._roots[path] = root

    def _free_place(self, top: str, place: PurePosixPath) -> PurePosixPath:
        """The place, or one beside it if another file of the clone has it."""
        taken, number, found = set(self.places.values()), 1, PurePosixPath(top, place)
        while found in taken:
            number += 1
            found = PurePosixPath(top, place.with_name(f"{place.stem}_{number}{place.suffix}"))
        return found

    def _references(self, path: Path, editor: YamlEditor) -> Iterator[FileMention]:
        root = self._roots[path]
        yield from file_mentions(editor, path, root, self.loaded.prompt_roots, {*self.sources, *self.bound})

    def _data_placeholder(self, path: Path, reference: FileMention) -> str:
        """What is written in the place of data, which a copy does not take over; empty if it is something else."""
        if reference.file in self.sources:
            return OPEN_PLACE
        if reference.file in self.bound:
            return "null"
        part, _ = self._recipe_files.get(path, ("", None))
        if not part.startswith("recipe/"):
            return ""
        # files of the user's own may stand in the place of those that the recipe names
        key = reference.scalar.key
        keys = [key, *(one for one, target in self.links.items() if target == key)]
        if any(one[0] == "sources" for one in keys):
            return OPEN_PLACE
        if key[:1] == ("paths",) and len(keys) == 1:  # of a source that is not read, for instance
            return "null"
        return "null" if any(is_bound(dotted_key(one)) for one in keys) else ""

    def _new_reference(self, reference: FileMention, place: PurePosixPath) -> str:
        """How the copy at `place` names the copy of a file."""
        target = self.places.get(reference.file) or self._folder(reference.file)
        if reference.is_prompt:
            return PurePosixPath(*target.parts[1:]).as_posix()
        return PurePosixPath(os.path.relpath(target, place.parent)).as_posix()

    def _folder(self, folder: Path) -> PurePosixPath:
        root = next(root for path, root in self._roots.items() if path.is_relative_to(folder))
        return PurePosixPath("recipes", self.names.recipe_file(PurePosixPath(folder.relative_to(root).as_posix())))

    def _rename_defaults(self, path: Path, editor: YamlEditor) -> None:
        """The options that the copy chooses: those that were copied under their new names."""
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
        return absolute.removeprefix(f"{own}/") if own else absolute

    def _examples(self, path: Path, editor: YamlEditor) -> None:
        """Keep the examples of the copied prompt_roots. Each says the language of its prompt: the folder no longer
        does.
        """
        folder = next(folder for folder in self.loaded.prompt_roots if path.is_relative_to(folder))
        tag, _, about = path.relative_to(folder).parts[0].partition("_")
        tag = self.names.language if tag == self.names.origin else tag
        lines = [f"language: {tag} # of the prompt; `about: xx` if it is about texts in another language"]
        lines += [f"about: {about}"] if about else []
        for prompt in editor.children(()):
            _, example = editor.find_entry((prompt,)) or (None, None)
            if path.with_name(f"{prompt}.j2") not in self.places:
                editor.remove((prompt,))
            elif (
                isinstance(example, yaml.MappingNode) and example.value and not editor.find_entry((prompt, "language"))
            ):
                indent = "\n" + " " * example.start_mark.column
                editor.insert(example.start_mark.index, "".join(line + indent for line in lines))


def copied_bytes(path: Path, editor: YamlEditor | None) -> bytes:
    """What is written of a file."""
    return path.read_bytes() if editor is None else editor.edited_text().encode()


def words_of_lists(loaded: LoadedRecipe) -> dict[Path, list[str]]:
    """The word lists of a recipe with their words, without the glosses behind tabs."""
    lists: dict[Path, list[str]] = {}
    for file in dict.fromkeys(ref.file.resolve() for key, ref in loaded.files if key.rpartition(".")[2] == "words"):
        lines = (
            line for line in file.read_text(encoding="utf-8-sig").splitlines() if not line.lstrip().startswith("#")
        )
        lists[file] = [text for line in lines if (text := " ".join(line.partition("\t")[0].split()))]
    return lists


def _editor(path: Path) -> YamlEditor | None:
    return YamlEditor(path.read_text(encoding="utf-8")) if path.suffix == ".yaml" else None
