"""Finds the text of a copy that is still about the original recipe, or does not fit its own sources."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchbuilder.authoring.clone.copying import EXAMPLES
from benchbuilder.authoring.clone.parts import SHARED_GROUPS
from benchbuilder.authoring.clone.provenance import OriginRecord, find_origin_record, sha256_of
from benchbuilder.authoring.clone.text_lines import StemFinder, TermFinder, TextLines, first_line_in, read_text_lines
from benchbuilder.config import (
    CardSpec,
    LoadedRecipe,
    RecipeRoot,
    ValueOrigin,
    YamlEditor,
    display_path,
    read_recipe_file,
    user_folder,
)
from benchbuilder.core import (
    DataError,
    Kept,
    Passage,
    Problem,
    ScriptCounts,
    SourceUnit,
    Triple,
    count_phrase,
    create_from_spec,
    kinds_of_slot,
    read_given_file,
    read_given_text,
    same_language,
)
from benchbuilder.steps import RelationTables

_TAG = re.compile(r"[a-z]{2}\Z")
"""The name of a folder of prompts, or of a table, of one language."""
_SCRIPT_PROPORTION = 0.05
"""The proportion of another script in a text that matters."""
_MOST = 5
"""The number of examples in a warning."""


@dataclass(frozen=True, slots=True)
class _CloneFile:
    """A file of the copy as it is now."""

    place: PurePosixPath
    path: Path
    origin: str
    unchanged: bool
    lines: TextLines

    @property
    def is_prompt(self) -> bool:
        return self.place.parts[0] == "prompts"

    @property
    def has_examples(self) -> bool:
        return self.is_prompt and self.path.name == EXAMPLES

    def location(self, line: int) -> str:
        return f"{display_path(self.path)}:{line}"


class UnadaptedText:
    """The unadapted text of the copy `recipe`; nothing for a recipe that is not a copy."""

    def __init__(self, recipe: str, roots: Sequence[RecipeRoot]) -> None:
        self.recipe = recipe
        self.record = find_origin_record(recipe, roots)

    def problems_in_files(self) -> Iterator[Problem]:
        """Problems in the files themselves; the recipe need not be complete."""
        if self.record is None:
            return
        record, files = self.record[0], self._files()
        main_file = self.record[1] / "recipes" / "recipe" / f"{self.recipe}.yaml"
        language = _yaml_text(main_file, "language") or record.language
        yield from _unchanged_word_lists(record, files)
        yield from _rules_in_other_language(record, files, language)
        yield from _prompts_in_other_language(record, files, language, self.recipe)
        yield from self._terms(record, files)

    def problems_with(self, loaded: LoadedRecipe) -> Iterator[Problem]:
        """Problems with its sources and the origins of its values."""
        if self.record is None:
            return
        record, base = self.record
        root = base / "recipes"
        yield from _unchanged_card(record, loaded)
        yield from _unchanged_sources(record, loaded, root)
        yield from _uncopied_options(record, loaded, root)
        survey = survey_sources(loaded)
        yield from _relations_without_sentence(survey)
        yield from _texts_in_other_script(survey, self._files(), loaded.recipe.language, self.recipe)

    def origin_of_list(self, list_file: Path) -> str:
        """The recipe that a word list was copied from, if it is still as it was; else empty."""
        if self.record is None or not any(file.unchanged and file.path.samefile(list_file) for file in self._files()):
            return ""
        return self.record[0].recipe

    def _files(self) -> list[_CloneFile]:
        assert self.record is not None
        record, base = self.record
        files: list[_CloneFile] = []
        for name, copied in record.files.items():
            path = base / name
            if path.is_file():
                unchanged = sha256_of(read_given_file(path)) == copied.written
                files.append(_CloneFile(PurePosixPath(name), path, copied.origin, unchanged, read_text_lines(path)))
        return files

    def _terms(self, record: OriginRecord, files: Iterable[_CloneFile]) -> Iterator[Problem]:
        """Terms of the original in texts for people and models."""
        lists = [file for file in files if str(file.place) in record.lists]
        kept = {" ".join(cell.split()) for file in lists for _, line in file.lines for cell in line.split("\t")}
        unchanged = all(file.unchanged for file in lists)
        terms = TermFinder(word for word in record.words if unchanged or word not in kept)
        related = set(record.recipe.split("_")) & set(self.recipe.split("_"))
        has_field = bool(record.words) and not related  # a recipe without words of a field is named by its sort of text
        stems = StemFinder(record.recipe if has_field else "", kinds_of_slot("source"))
        for file in files:
            if file in lists or file.path.suffix in (".tsv", ".txt") or file.has_examples:
                continue
            matches = ((line, terms.find_terms(text) | stems.find_words(text)) for line, text in file.lines)
            found = [(line, term) for line, words in matches for term in _longest(words)]
            if found:
                count = len({term for _, term in found})
                yield Problem(
                    f"{count_phrase(count, 'term')} from the word list or the name of {record.recipe}",
                    where=file.location(found[0][0]),
                    actual=_abbreviated_list(f"{term} (line {line})" for line, term in found),
                    hint="replace them by terms of your field, or write `# keep` after a line that is right as it is",
                )


def _unchanged_word_lists(record: OriginRecord, files: Iterable[_CloneFile]) -> Iterator[Problem]:
    for file in files:
        if str(file.place) in record.lists and file.unchanged:
            hint = "write the words of your field, one per line"
            yield Problem(f"the word list is still that of {record.recipe}", where=file.location(1), hint=hint)


def _rules_in_other_language(record: OriginRecord, files: Iterable[_CloneFile], language: str) -> Iterator[Problem]:
    """Unchanged rules and strings of a recipe in another language."""
    for file in () if same_language(record.language, language) else files:
        is_table = _TAG.match(PurePosixPath(file.origin).stem) is not None
        if file.is_prompt or is_table or not file.unchanged or str(file.place) in record.lists:
            continue
        sort = "rules" if file.place.parts[1] == "rules" else "words"
        yield Problem(
            f"{sort} in another language: still as in {record.recipe}",
            where=file.location(file.lines[0][0] if file.lines else 1), actual=record.language, allowed=language,
            hint="write it in the language of your recipe, or choose an option that is",
        )  # fmt: skip


def _prompts_in_other_language(
    record: OriginRecord, files: Iterable[_CloneFile], language: str, recipe: str
) -> Iterator[Problem]:
    """Prompts in another language than the recipe, as their example or folder says.

    Those of an original in the same language are right until somebody changes them.
    """
    for file in files:
        if not file.is_prompt or file.path.suffix != ".j2":
            continue
        if file.unchanged and same_language(record.language, language):
            continue
        own, about = _prompt_languages(file, recipe)
        if own and not same_language(own, language) and not same_language(about, language):
            examples = file.path.with_name(EXAMPLES)
            entry = _entry(examples, (_stem(file.path),))
            line = entry[0].start_mark.line + 1 if entry is not None else 0
            yield Problem(
                f"the prompt {file.place.name} is in another language than the recipe",
                where=f"{display_path(examples)}:{line}" if line else file.location(1), actual=own, allowed=language,
                hint=f"translate it and set `language: {language}` in its example; "
                f"if it is to stay in {own}, write `about: {language}` there",
            )  # fmt: skip


def _texts_in_other_script(
    survey: SourceSurvey, files: Iterable[_CloneFile], language: str, recipe: str
) -> Iterator[Problem]:
    """Texts in another script than the sources; in rules and strings, only letters beyond ASCII count."""
    expected = survey.scripts.main_script
    for file in files if expected else ():
        if file.has_examples:  # no model reads them
            continue
        if file.is_prompt:
            own, about = _prompt_languages(file, recipe)
            if not same_language(own, language) and same_language(about, language):
                continue
        elif _TAG.match(PurePosixPath(file.origin).stem):
            continue
        whole = file.is_prompt and file.path.suffix == ".j2"
        texts = [text for _, text in file.lines]
        script = ScriptCounts("".join(c for c in text if whole or not c.isascii()) for text in texts).main_script
        proportion = ScriptCounts(texts).proportion(script)  # a few letters are units or groups
        if script and script != expected and proportion >= _SCRIPT_PROPORTION:
            sort = "the prompt" if file.is_prompt else "rules" if file.place.parts[1] == "rules" else "this"
            yield Problem(
                f"{sort} in another script than the sources", where=file.location(first_line_in(script, file.lines)),
                actual=script.lower(), allowed=expected.lower(), hint="write it in the language of your sources",
            )  # fmt: skip


def _unchanged_card(record: OriginRecord, loaded: LoadedRecipe) -> Iterator[Problem]:
    card: dict[str, Any] = loaded.recipe.card.model_dump(mode="json")
    for name, value in card.items():
        if name in ("licence", "correct_as_of"):  # may be true of both
            continue
        if value and value == record.card.get(name) and CardSpec.model_fields[name].annotation is not bool:
            where = str(loaded.origins.origin_of(("card", name)))
            yield Problem(f"still what {record.recipe} says", f"card.{name}", where, hint="say what is true of yours")


def _unchanged_sources(record: OriginRecord, loaded: LoadedRecipe, root: Path) -> Iterator[Problem]:
    others = [other.path for other in loaded.roots if other.path != root.resolve()]
    for key, ref in loaded.files:
        if key.startswith("sources.") and any(ref.file.resolve().is_relative_to(other) for other in others):
            yield Problem(
                f"still data that came with {record.recipe}", key=key, actual=display_path(ref.file),
                where=str(loaded.origins.origin_of(tuple(key.split(".")))),
                hint="give the path of your own, or remove the source",
            )  # fmt: skip


def _uncopied_options(record: OriginRecord, loaded: LoadedRecipe, root: Path) -> Iterator[Problem]:
    """Options with texts that were not copied and may be about the field of the original."""
    origins = (*loaded.origins.entries.values(), loaded.origins.fallback)
    chosen: dict[Path, ValueOrigin] = {origin.file: origin for origin in origins if origin.file is not None}
    for file, origin in chosen.items():
        if origin.root is None or origin.root.path in (root.resolve(), user_folder(os.environ)):
            continue
        if origin.group in ("", "recipe", *SHARED_GROUPS) or _OF_ANY_FIELD.fullmatch(f"{origin.group}/{file.stem}"):
            continue
        if len(read_recipe_file(file, origin.root).marks) > 1:
            yield Problem(
                f"{origin.group}/{file.stem} is not yours: it may be about the field of {record.recipe}",
                where=f"{display_path(file)}:1",
                hint=f"copy it into your folder of recipes as {origin.group}/{loaded.recipe.name}_{file.stem}.yaml, "
                "and name the copy where this one is named",
            )


_OF_ANY_FIELD = re.compile(
    r"annotation/(?:app|sheets)(?:_[a-z]{2})?(?:_labels)?|questions/[a-z]{2}_(?:claims|labels|answers)"
)
"""Options that ask people about any field."""


def _relations_without_sentence(survey: SourceSurvey) -> Iterator[Problem]:
    by_table: dict[str, dict[str, tuple[int, str]]] = {}
    for (table, relation), count_and_place in survey.relations_without_sentence.items():
        by_table.setdefault(table, {})[relation] = count_and_place
    for table, relations in by_table.items():
        listed = (f"{relation} ({count} times, first in {place})" for relation, (count, place) in relations.items())
        yield Problem(
            f"of the relations in the sources, {len(relations)} without a sentence: their triples are dropped",
            where=next(iter(relations.values()))[1], allowed=f"a row in {display_path(Path(table))}:1",
            actual=_abbreviated_list(listed), hint="write a row for each that you want, or one for `*`",
        )  # fmt: skip


def _prompt_languages(file: _CloneFile, recipe: str) -> tuple[str, str]:
    """The language of a prompt, and that of the texts that it is about, as far as they are known."""
    examples, stem = file.path.with_name(EXAMPLES), _stem(file.path)
    tag, _, about = file.place.parts[1].partition("_")
    if not _TAG.match(tag) or file.place.parts[1] == recipe:
        tag, about = "", ""
    return _yaml_text(examples, stem, "language") or tag, _yaml_text(examples, stem, "about") or about


def _stem(file: Path) -> str:
    """The name of a prompt, or of the prompt that a file of pairs belongs to."""
    return file.name.removesuffix(".j2").removesuffix(".pairs.yaml")


def _yaml_text(file: Path, *key: str) -> str:
    """The value of a key in a YAML file; empty if there is none or the file cannot be read."""
    entry = _entry(file, key)
    return str(entry[1].value) if entry is not None and isinstance(entry[1], yaml.ScalarNode) else ""


def _entry(file: Path, key: tuple[str, ...]) -> tuple[yaml.Node, yaml.Node] | None:
    try:
        return YamlEditor(read_given_text(file)).find_entry(key)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def _longest(terms: set[str]) -> list[str]:
    """The terms that no other term contains."""
    return sorted(term for term in terms if not any(term in other for other in terms if other != term))


def _abbreviated_list(names: Iterable[str]) -> str:
    texts = list(names)
    rest = f", and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return f"{', '.join(texts[:_MOST])}{rest}"


_MOST_UNITS = 20_000
"""How many units of each source are read."""
_MOST_LETTERS = 200_000


@dataclass(slots=True)
class SourceSurvey:
    """What the first units of the sources hold.

    Attributes:
        relations_without_sentence: For (table, relation), the number of triples and the place of the first.
        scripts: The letters of the texts.
    """

    relations_without_sentence: dict[tuple[str, str], tuple[int, str]] = field(
        default_factory=dict[tuple[str, str], tuple[int, str]]
    )
    scripts: ScriptCounts = field(default_factory=ScriptCounts)


def survey_sources(loaded: LoadedRecipe) -> SourceSurvey:
    """Read the first units of every source; sources that cannot be read are left to the check of the recipe."""
    survey = SourceSurvey()
    counts, first_places = Counter[tuple[str, str]](), dict[tuple[str, str], str]()
    tables, files = _relation_tables(loaded)
    for name, unit in _units(loaded):
        row: Any = unit.outcome.row if isinstance(unit.outcome, Kept) else None
        if survey.scripts.letters.total() < _MOST_LETTERS:
            for text in (text for texts in _texts(row).values() for text in texts):
                survey.scripts.add(text)
        triple = getattr(row, "payload", None)
        if tables is None or not isinstance(triple, Triple):
            continue
        if tables.find(name, triple.relation, triple.head, triple.tail) is None:
            key = files.get(name, files.get("default", "")), triple.relation
            counts[key] += 1
            first_places.setdefault(key, f"{unit.file}:{unit.line}")
    survey.relations_without_sentence = {key: (counts[key], place) for key, place in first_places.items()}
    return survey


def _units(loaded: LoadedRecipe) -> Iterator[tuple[str, SourceUnit]]:
    for name, spec in loaded.recipe.sources.items():
        units = (unit for unit in _read(loaded, name, spec) if isinstance(unit, SourceUnit))
        yield from ((name, unit) for unit in islice(units, _MOST_UNITS))


def _read(loaded: LoadedRecipe, name: str, spec: Any) -> Iterator[Any]:
    try:
        yield from create_from_spec("source", spec, name, loaded.recipe.language).read()
    except DataError:
        return


def _relation_tables(loaded: LoadedRecipe) -> tuple[RelationTables | None, Mapping[str, str]]:
    """The relation tables by partition, and the file of each."""
    for spec in loaded.recipe.steps.values():
        refs = getattr(spec, "relations", None)
        if isinstance(refs, dict) and refs:
            files: dict[str, Any] = refs
            read = RelationTables.read({name: ref.file for name, ref in files.items()})
            return read, {name: str(ref.file) for name, ref in files.items()}
    return None, {}


def _texts(row: Any) -> Mapping[str, tuple[str, ...]]:
    if row is None:
        return {}
    return {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
