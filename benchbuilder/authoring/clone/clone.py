"""``new NAME --from RECIPE``: a recipe of one's own, copied as text, with its open places marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchbuilder import __version__
from benchbuilder.authoring.clone.copying import CopiedFiles, copied_bytes, words_of_lists
from benchbuilder.authoring.clone.edit_yaml import OPEN_PLACE, YamlEditor, is_flow
from benchbuilder.authoring.clone.fitting import options_in_other_script, unread_sources
from benchbuilder.authoring.clone.naming import CloneNames
from benchbuilder.authoring.clone.parts import RecipeParts
from benchbuilder.authoring.clone.provenance import ORIGIN_FILE, CopiedFile, OriginRecord, sha256_of
from benchbuilder.authoring.clone.source_form import source_template
from benchbuilder.config import CardSpec, KeyPath, LoadedRecipe, RecipeIndex, display_path, load_recipe
from benchbuilder.core import Problem, RecipeError

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*\Z")
_HONEST = ("limitations",)
"""What a card may leave out, and a clone is asked to say."""


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """What is asked for: the clone's name, its original, and what differs."""

    name: str
    origin: str
    language: str | None = None
    sources: tuple[str, ...] = ()
    extra_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clone:
    """The files of a clone, by their places below the current folder, its record, and what may not fit."""

    files: dict[PurePosixPath, bytes]
    record: OriginRecord
    warnings: tuple[Problem, ...] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write every file below `folder`; RecipeError, and nothing written, if one is there already."""
        taken = [display_path(folder / place) for place in self.files if (folder / place).exists()]
        if taken:
            hint = "choose another name, or remove what is there"
            problem = Problem("a clone overwrites nothing", actual=", ".join(taken[:5]), hint=hint)
            raise RecipeError([problem])
        for place, data in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)
        return [folder / place for place in self.files]


def clone_recipe(request: CloneRequest, recipes: Sequence[str] | None = None) -> Clone:
    """The clone that is wished for; RecipeError if it cannot be made. Nothing is written."""
    loaded = load_recipe([f"recipe={request.origin}"], recipes=recipes)
    library = RecipeIndex(loaded.roots)
    _check_request(request, library)
    path, root = library.paths_of(f"recipe/{request.origin}")[0]
    parts = RecipeParts(request.origin, library, request.extra_options)
    bases = tuple(file.path.stem for part, file in parts.files.items() if part.startswith("recipe/"))
    names = CloneNames(request.name, path.stem, loaded.recipe.language.partition("-")[0], bases)
    copies = CopiedFiles(loaded, parts, names)
    main = copies.places[path.resolve()]
    files: dict[PurePosixPath, bytes] = {}
    copied: dict[str, CopiedFile] = {}
    for source, place, editor in copies.editors():
        if editor is not None and place.parts[:2] == ("recipes", "recipe") and len(place.parts) == 3:
            _RecipeEditor(editor, request, loaded, names.origin).change(place, copies, main=place == main)
        data = copied_bytes(source, editor)
        files[place] = data
        copied[str(place)] = CopiedFile(copies.origins[place], sha256_of(source.read_bytes()), sha256_of(data))
    lists = words_of_lists(loaded)
    card: Any = loaded.recipe.card.model_dump(mode="json")
    record = OriginRecord(
        recipe=request.origin, language=loaded.recipe.language, produced_by=f"benchbuilder {__version__}",
        found_in=root.label, licence=loaded.recipe.card.licence, files=copied, card=card,
        lists=tuple(str(copies.places[file]) for file in lists if file in copies.places),
        words=tuple(dict.fromkeys(word for words in lists.values() for word in words)),
    )  # fmt: skip
    files[PurePosixPath("recipes", "recipe", request.name, ORIGIN_FILE)] = record.to_json().encode()
    misfits = (
        *unread_sources(request.sources, loaded),
        *options_in_other_script(request.extra_options, parts, record.words),
    )
    return Clone(files, record, misfits)


def _check_request(request: CloneRequest, library: RecipeIndex) -> None:
    problems: list[Problem] = []
    if not _NAME.match(request.name):
        allowed = "a-z, 0-9 and _, beginning with a letter"
        problems.append(Problem("this is no name for a recipe", where=f"new {request.name}", allowed=allowed))
    elif places := library.paths_of(f"recipe/{request.name}"):
        found = ", ".join(display_path(path) for path, _ in places)
        problems.append(Problem("there is a recipe of this name", actual=found, hint="choose another name"))
    if request.language is not None and not _LANGUAGE.match(request.language):
        allowed = "a language tag such as zh, zu or pt-BR"
        problems.append(Problem("this is no language tag", where=f"--language {request.language}", allowed=allowed))
    if problems:
        raise RecipeError(problems)


class _RecipeEditor:
    """What changes in the recipe's own file besides names and references."""

    def __init__(self, editor: YamlEditor, request: CloneRequest, loaded: LoadedRecipe, origin: str) -> None:
        self.editor, self.wish, self.loaded, self.origin = editor, request, loaded, origin

    def change(self, place: PurePosixPath, copies: CopiedFiles, *, main: bool) -> None:
        """Name, language and card in every file; what only one may say in the `main` one."""
        self.editor.replace(("name",), place.stem)
        self._edit_card()
        if self.wish.language is not None:
            self.editor.replace(("language",), self.wish.language)
        if self.wish.sources:
            self._remove_sources()
        if not main:
            return
        self._edit_header()
        overrides = [
            f"override /{group}: {copies.new_name(part)}" for group, part in copies.parts.default_options.items()
        ]  # fmt: skip
        if self.wish.sources and not self._chosen_option("override /source"):
            overrides.append("override /source: []")
        chosen = self._chosen_option("override /tokenizer")
        if self._has_other_language() and chosen is not None:
            self.editor.replace_span(chosen.start_mark.index, chosen.end_mark.index, f'"{OPEN_PLACE}"')
        elif self._has_other_language():
            overrides.append(f'override /tokenizer: "{OPEN_PLACE}"')
        self._add_defaults(overrides)
        if self.wish.sources:
            forms = [source_template(word, self.wish.name)[1] for word in self.wish.sources]
            self._replace_block("sources", "\n\n".join(forms))

    def _edit_card(self) -> None:
        for name in self.editor.children(("card",)):
            info = CardSpec.model_fields.get(name)
            if info is None or info.is_required() or name in _HONEST:
                self.editor.replace(("card", name), OPEN_PLACE, old_value_label=self.origin)
            else:
                default: Any = info.get_default()
                plain = list(default) if isinstance(default, tuple) else default  # pyright: ignore[reportUnknownArgumentType]
                text = yaml.safe_dump(plain, default_flow_style=True).partition("\n")[0]
                self.editor.replace(("card", name), text, old_value_label="" if plain == [] else self.origin)

    def _edit_header(self) -> None:
        text = self.editor.text
        first = text.partition("\n")[0]
        at = len(first) + 1 if first.startswith("# @package") else 0
        self.editor.insert(
            at,
            f"# Copied from {self.origin}; {self.wish.name}/{ORIGIN_FILE} names the version. "
            f"Open places hold {OPEN_PLACE}:\n"
            f"# `benchbuild check recipe={self.wish.name}` lists them, and what is left over of {self.origin}.\n"
            + (f"# {self.origin} says of itself:\n#\n" if text[at : at + 1] == "#" else ""),
        )

    def _chosen_option(self, group: str) -> yaml.Node | None:
        """What an entry of `defaults` chooses."""
        found = self.editor.find_entry(("defaults",))
        for entry in found[1].value if found is not None else ():
            if isinstance(entry, yaml.MappingNode) and entry.value[0][0].value == group:
                return entry.value[0][1]
        return None

    def _add_defaults(self, entries: Sequence[str]) -> None:
        """Further entries of `defaults`, above `_self_`."""
        found = self.editor.find_entry(("defaults",))
        last = next((n for n in found[1].value if n.value == "_self_"), None) if found is not None else None
        if not entries:
            return
        if found is None or last is None:
            if found is None:
                start = self.editor.tree.value[0][0].start_mark.index if self.editor.tree is not None else 0
                lines = "".join(f"  - {entry}\n" for entry in (*entries, "_self_"))
                self.editor.insert(start, f"defaults:\n{lines}\n")
            return
        between = ", " if is_flow(found[1]) else f"\n{' ' * (last.start_mark.column - 2)}- "
        self.editor.insert(last.start_mark.index, "".join(f"{entry}{between}" for entry in entries))

    def _has_other_language(self) -> bool:
        """Whether the copy is in another language: then texts are cut by another tokenizer, which its owner names."""
        language = self.wish.language or self.loaded.recipe.language
        return language.partition("-")[0] != self.loaded.recipe.language.partition("-")[0]

    def _remove_sources(self) -> None:
        """The sources of the original, left out."""
        chosen = self._chosen_option("override /source")
        if isinstance(chosen, yaml.SequenceNode):
            self.editor.replace_span(chosen.start_mark.index, chosen.end_mark.index, "[]")
        for key in self._source_paths():
            self.editor.remove(key)
        gone = set(self.loaded.recipe.sources) - {word.partition(":")[0] for word in self.wish.sources}
        for top in ("steps", "retriever", "outputs"):
            for node in self.editor.lists((top,)):
                names = [str(one.value) for one in node.value]
                kept = [name for name in names if name not in gone]
                if kept != names and is_flow(node):
                    text = f"[{', '.join(kept)}]"
                    self.editor.replace_span(node.start_mark.index, node.end_mark.index, text)

    def _source_paths(self) -> list[KeyPath]:
        """The keys below `paths` that only sources of the original read."""
        links = self.loaded.origins.links
        used = {link[0] for key, link in links.items() if key[:1] == ("sources",)}
        others = {link[0] for key, link in links.items() if key[:1] != ("sources",)}
        return [key for key in used - others if key[:1] == ("paths",)]

    def _replace_block(self, name: str, lines: str) -> None:
        """A block of the recipe, in place of the one that it has, or at the end."""
        if self.editor.find_entry((name,)) is not None:
            self.editor.replace((name,), f"\n{lines}")
            return
        newline = "" if self.editor.text.endswith("\n") else "\n"
        self.editor.insert(len(self.editor.text), f"{newline}\n{name}:\n{lines}\n")
