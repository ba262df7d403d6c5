"""What a clone still has of the recipe that it was copied from, and what does not fit its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchbuilder.authoring.clone.copying import EXAMPLES
from benchbuilder.authoring.clone.edit_yaml import YamlEditor
from benchbuilder.authoring.clone.parts import SHARED_GROUPS
from benchbuilder.authoring.clone.provenance import OriginRecord, find_origin_record, sha256_of
from benchbuilder.authoring.clone.source_survey import MOST_UNITS, SourceSurvey, survey_sources
from benchbuilder.authoring.clone.text_lines import (
    ScriptCounts,
    StemFinder,
    TermFinder,
    TextLines,
    first_line_in,
    read_text_lines,
)
from benchbuilder.config import CardSpec, LoadedRecipe, RecipeRoot, ValueOrigin, display_path, read_recipe_file
from benchbuilder.core import Problem

_TAG = re.compile(r"[a-z]{2}\Z")
"""A folder of prompts, or a table, of one language."""
_SHARE = 0.05
"""How much of a text another script must be to matter."""
_MOST = 5
"""How many examples a warning gives."""


@dataclass(frozen=True, slots=True)
class _CloneFile:
    """A file of the clone as it is now."""

    place: PurePosixPath
    path: Path
    origin: str
    unchanged: bool
    lines: TextLines

    @property
    def is_prompt(self) -> bool:
        return self.place.parts[0] == "prompts"

    @property
    def examples(self) -> bool:
        return self.is_prompt and self.path.name == EXAMPLES

    def location(self, line: int) -> str:
        return f"{display_path(self.path)}:{line}"


class UnadaptedText:
    """What is left over in the clone `recipe`; nothing for a recipe that is no clone."""

    def __init__(self, recipe: str, roots: Sequence[RecipeRoot]) -> None:
        self.recipe = recipe
        self.record = find_origin_record(recipe, roots)

    def problems_in_files(self) -> Iterator[Problem]:
        """What the files themselves show; the recipe need not be complete."""
        if self.record is None:
            return
        record, files = self.record[0], self._files()
        language = (
            _yaml_text(self.record[1] / "recipes" / "recipe" / f"{self.recipe}.yaml", "language") or record.language
        )
        yield from _unchanged_word_lists(record, files)
        yield from _rules_in_other_language(record, files, language)
        yield from _prompts_in_other_language(record, files, language, self.recipe)
        yield from self._terms(record, files)

    def problems_with(self, loaded: LoadedRecipe) -> Iterator[Problem]:
        """What its sources and its origins show, once it can be loaded."""
        if self.record is None:
            return
        record, base = self.record
        root = base / "recipes"
        yield from _unchanged_card(record, loaded)
        yield from _unchanged_sources(record, loaded, root)
        yield from _uncopied_options(record, loaded, root)
        seen = survey_sources(loaded)
        yield from _relations_without_sentence(seen)
        yield from _unmatched_words(seen)
        yield from _texts_in_other_script(seen, self._files(), loaded.recipe.language, self.recipe)

    def _files(self) -> list[_CloneFile]:
        assert self.record is not None
        record, base = self.record
        files: list[_CloneFile] = []
        for name, copied in record.files.items():
            path = base / name
            if path.is_file():
                unchanged = sha256_of(path.read_bytes()) == copied.written
                files.append(_CloneFile(PurePosixPath(name), path, copied.origin, unchanged, read_text_lines(path)))
        return files

    def _terms(self, record: OriginRecord, files: Iterable[_CloneFile]) -> Iterator[Problem]:
        """Terms of the old field in what people and models read."""
        lists = [file for file in files if str(file.place) in record.lists]
        kept = {" ".join(cell.split()) for file in lists for _, line in file.lines for cell in line.split("\t")}
        same = all(file.unchanged for file in lists)
        terms = TermFinder(word for word in record.words if same or word not in kept)
        stems = StemFinder("" if set(record.recipe.split("_")) & set(self.recipe.split("_")) else record.recipe)
        for file in files:
            if file in lists or file.path.suffix in (".tsv", ".txt") or file.examples:
                continue
            found = [
                (n, term)
                for n, text in file.lines
                for term in _longest(terms.find_terms(text) | stems.find_words(text))
            ]
            if found:
                count = len({term for _, term in found})
                yield Problem(
                    f"{count} {'terms' if count > 1 else 'term'} from the word list or the name of {record.recipe}",
                    where=file.location(found[0][0]),
                    actual=_abbreviated_list(f"{term} (line {line})" for line, term in found),
                    hint="say it with what your field is about, or write `# keep` behind what is right as it is",
                )


def _unchanged_word_lists(record: OriginRecord, files: Iterable[_CloneFile]) -> Iterator[Problem]:
    for file in files:
        if str(file.place) in record.lists and file.unchanged:
            hint = "write the words of your field, one a line"
            yield Problem(f"the word list is still that of {record.recipe}", where=file.location(1), hint=hint)


def _rules_in_other_language(record: OriginRecord, files: Iterable[_CloneFile], language: str) -> Iterator[Problem]:
    """Rules and strings that nobody touched, of a recipe in another language."""
    for file in files:
        table = _TAG.match(PurePosixPath(file.origin).stem) is not None
        if file.is_prompt or table or not file.unchanged or str(file.place) in record.lists:
            continue
        if _primary_language(record.language) == _primary_language(language):
            continue
        sort = "rules" if file.place.parts[1] == "rules" else "words"
        line = file.lines[0][0] if file.lines else 1
        yield Problem(
            f"{sort} in another language: still as in {record.recipe}",
            where=file.location(line),
            actual=record.language,
            allowed=language,
            hint="write it in the language of your recipe, or choose an option that is",
        )


def _prompts_in_other_language(
    record: OriginRecord, files: Iterable[_CloneFile], language: str, recipe: str
) -> Iterator[Problem]:
    """Prompts in another language than the recipe, by what their example or folder says.

    Those of an original in the same language are as its author wants them, until somebody changes them.
    """
    same = _primary_language(record.language) == _primary_language(language)
    for file in files:
        if file.is_prompt and file.path.suffix == ".j2" and not (same and file.unchanged):
            said, about = _prompt_languages(file, recipe)
            if said and _primary_language(said) != _primary_language(language) != _primary_language(about):
                line = _line(_examples(file.path), (_stem(file.path),))
                yield Problem(
                    f"the prompt {file.place.name} is in another language than the recipe",
                    where=f"{display_path(_examples(file.path))}:{line}" if line else file.location(1),
                    actual=said, allowed=language,
                    hint=f"translate it and set `language: {language}` in its example; "
                    f"if it is to stay in {said}, write `about: {language}` there",
                )  # fmt: skip


def _texts_in_other_script(
    survey: SourceSurvey, files: Iterable[_CloneFile], language: str, recipe: str
) -> Iterator[Problem]:
    """Texts in another script than the sources; of rules and strings only letters beyond ASCII are looked at."""
    wanted = survey.scripts.main_script
    for file in files if wanted else ():
        if file.examples:  # no model reads them
            continue
        if file.is_prompt:
            said, about = _prompt_languages(file, recipe)
            if _primary_language(said) != _primary_language(language) and _primary_language(about) == _primary_language(
                language
            ):
                continue
        elif _TAG.match(PurePosixPath(file.origin).stem):
            continue
        whole = file.is_prompt and file.path.suffix == ".j2"
        scripts = ScriptCounts("".join(c for c in text if whole or not c.isascii()) for _, text in file.lines)
        share = ScriptCounts(text for _, text in file.lines).proportion(
            scripts.main_script
        )  # a few letters stand for units or groups
        if scripts.main_script and scripts.main_script != wanted and share >= _SHARE:
            sort = "the prompt" if file.is_prompt else "rules" if file.place.parts[1] == "rules" else "this"
            yield Problem(
                f"{sort} in another script than the sources",
                where=file.location(first_line_in(scripts.main_script, file.lines)),
                actual=scripts.main_script.lower(),
                allowed=wanted.lower(),
                hint="write it in the language of your sources",
            )


def _unchanged_card(record: OriginRecord, loaded: LoadedRecipe) -> Iterator[Problem]:
    now: dict[str, Any] = loaded.recipe.card.model_dump(mode="json")
    for name, value in now.items():
        if value and value == record.card.get(name) and CardSpec.model_fields[name].annotation is not bool:
            if name in ("licence", "correct_as_of"):  # may well be true of both
                continue
            origin = loaded.origins.origin_of(("card", name))
            yield Problem(
                f"still what {record.recipe} says",
                key=f"card.{name}",
                where=str(origin),
                hint="say what is true of yours",
            )


def _unchanged_sources(record: OriginRecord, loaded: LoadedRecipe, root: Path) -> Iterator[Problem]:
    others = [one.path for one in loaded.roots if one.path != root.resolve()]
    for key, ref in loaded.files:
        if key.startswith("sources.") and any(ref.file.resolve().is_relative_to(other) for other in others):
            origin = loaded.origins.origin_of(tuple(key.split(".")))
            yield Problem(
                f"still data that came with {record.recipe}",
                key=key,
                where=str(origin),
                actual=display_path(ref.file),
                hint="give the path of your own, or take the source out",
            )


def _uncopied_options(record: OriginRecord, loaded: LoadedRecipe, root: Path) -> Iterator[Problem]:
    """Options of words and rules that were not copied and may be about the old field."""
    origins = (*loaded.origins.entries.values(), loaded.origins.fallback)
    chosen: dict[Path, ValueOrigin] = {one.file: one for one in origins if one.file is not None}
    for file, origin in chosen.items():
        mine = origin.root is None or origin.root.path == root.resolve() or origin.trusted
        if mine or origin.group in ("", "recipe", *SHARED_GROUPS) or origin.root is None:
            continue
        if len(read_recipe_file(file, origin.root).marks) > 1:
            yield Problem(
                f"{origin.group}/{file.stem} is not yours: it may speak of what {record.recipe} is about",
                where=f"{display_path(file)}:1",
                hint=f"copy it into your folder of recipes as {origin.group}/{loaded.recipe.name}_{file.stem}.yaml",
            )


def _relations_without_sentence(survey: SourceSurvey) -> Iterator[Problem]:
    tables = dict.fromkeys(table for table, _ in survey.relations_without_sentence)
    for table in tables:
        found = {
            relation: told for (other, relation), told in survey.relations_without_sentence.items() if other == table
        }
        yield Problem(
            f"of the relations in the sources, {len(found)} without a sentence: their triples are dropped",
            where=next(iter(found.values()))[1],
            allowed=f"a row in {display_path(Path(table))}:1",
            actual=_abbreviated_list(
                f"{relation} ({count} times, first in {place})" for relation, (count, place) in found.items()
            ),
            hint="write a row for each that you want, or one for `*`",
        )


def _unmatched_words(survey: SourceSurvey) -> Iterator[Problem]:
    for file, words in survey.unmatched_words.items():
        if words:
            looked = "" if survey.is_complete else f" (in the first {MOST_UNITS} units of each)"
            yield Problem(
                f"{len(words)} of the {survey.list_sizes[file]} words of the list hit no source{looked}",
                where=f"{display_path(file)}:{min(words.values())}",
                actual=_abbreviated_list(f"{word} (line {line})" for word, line in words.items()),
                hint="take them out, or write them as the sources do"
                + (
                    ": only whole words count, so a plural is a word of its own"
                    if file in survey.whole_word_lists
                    else ""
                ),
            )


def _prompt_languages(file: _CloneFile, recipe: str) -> tuple[str, str]:
    """The language that a prompt says it is written in, and that of the texts it speaks of, if it says so."""
    examples, is_prompt = _examples(file.path), _stem(file.path)
    tag, _, about = file.place.parts[1].partition("_")
    if not _TAG.match(tag) or file.place.parts[1] == recipe:
        tag, about = "", ""
    return _yaml_text(examples, is_prompt, "language") or tag, _yaml_text(examples, is_prompt, "about") or about


def _examples(is_prompt: Path) -> Path:
    """The file with the examples origin_of a is_prompt's folder."""
    return is_prompt.with_name(EXAMPLES)


def _stem(file: Path) -> str:
    """The name origin_of the is_prompt that a file is, or that its pairs are for."""
    return file.name.removesuffix(".j2").removesuffix(".pairs.yaml")


def _yaml_text(file: Path, *key: str) -> str:
    """What a YAML file says under a key; empty if it says nothing or cannot be read."""
    found = _entry(file, key)
    return str(found[1].value) if found is not None and isinstance(found[1], yaml.ScalarNode) else ""


def _line(file: Path, key: tuple[str, ...]) -> int:
    """The line of a key in a YAML file; 0 if the file does not hold it or cannot be read."""
    found = _entry(file, key)
    return found[0].start_mark.line + 1 if found is not None else 0


def _entry(file: Path, key: tuple[str, ...]) -> tuple[yaml.Node, yaml.Node] | None:
    try:
        return YamlEditor(file.read_text(encoding="utf-8")).find_entry(key)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def _longest(terms: set[str]) -> list[str]:
    """The terms that stand in no other one."""
    return sorted(term for term in terms if not any(term in other for other in terms if other != term))


def _primary_language(tag: str) -> str:
    return tag.partition("-")[0]


def _abbreviated_list(names: Iterable[str]) -> str:
    texts = list(names)
    rest = f", and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return f"{', '.join(texts[:_MOST])}{rest}"
