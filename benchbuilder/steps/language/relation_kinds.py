"""What a relation is by its name and by the shape of its triples: which setting of `swap_triple` should list it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import ValidationError, model_validator

from benchbuilder.core import (
    FrozenModel,
    LengthUnit,
    Problem,
    RecipeError,
    Regex,
    Triple,
    WordForms,
    count_phrase,
    group_names,
    has_match,
    match_groups,
    read_given_text,
    template_faults,
)

RelationKind = Literal["functional", "ranges", "preferences", "kinds", "open", "checkable"]
"""The field of `SwapRelations` that should list the relation; ``checkable`` needs none."""
LISTED_KINDS: tuple[RelationKind, ...] = ("functional", "open", "ranges", "preferences", "kinds")

_SURE = 20
"""So many triples show whether concepts have one end."""
_ONE_END = 0.98
_MANY_ENDS = 3
"""In an open relation a concept has so many ends, and an end so many concepts, on average."""
_FEW_TAILS = 20
_HEADS_BY_TAIL = 10
_MOST = 0.5
_SHOWN = 3
_TEXTS = ("statement", "negated", "tf", "oe", "oe_set")
_PLACES = ("head", "relation", "tail")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])|_+")


class RelationSentence(FrozenModel):
    """Sentences over ``{head}``, ``{relation}`` and ``{tail}`` for relations without their own.

    Where `when` matches a whole name, its named groups stand for what they match: ``{verb}``.
    """

    when: Regex = ""
    """Searched in the name of the relation, as `readable_name` gives it; empty: any. It may use ``%part%``."""
    several: bool | None = None
    """Only for relations of which a concept has several ends, or one; ``null``: for both."""
    statement: str
    negated: str
    tf: str
    oe: str = ""
    oe_set: str = ""
    """The question for all ends. With `oe` beside it, each is for its own relations: with one end, or several."""
    unclear: bool = False
    """Whether no rule understands such names, so that the sentences only quote them."""


class RelationWords(FrozenModel):
    """What relations and answers look like in a language. Lists are patterns that are searched."""

    open: tuple[Regex, ...] = ()
    """Names of relations with more right ends than a graph lists."""
    preferences: tuple[Regex, ...] = ()
    """Names of relations that advise."""
    kinds: tuple[Regex, ...] = ()
    """Names of relations whose answers are classes of answers."""
    several: tuple[Regex, ...] = ()
    """Names of relations of which a concept may have several ends, though a small graph lists one."""
    drop: Regex = ""
    """What a sentence leaves out of a name."""
    small: Regex = ""
    """What a sentence writes of a name in small letters."""
    ranges: tuple[Regex, ...] = ()
    """Answers that are amounts or ranges."""
    classes: tuple[Regex, ...] = ()
    """Answers that name a class of answers."""
    negative: tuple[Regex, ...] = ()
    """Answers that deny."""
    lists: tuple[Regex, ...] = ()
    """Answers of several parts."""
    unit: LengthUnit = "words"
    longest: int = 8
    """The length of the longest answer that is no clause, in units."""
    sentences: tuple[RelationSentence, ...] = ()
    parts: dict[str, Regex] = {}
    """Named patterns for `when`, which may refer to earlier ones."""

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        forms = WordForms(parts=self.parts)
        for sentence in self.sentences:
            known = (*_PLACES, *group_names(forms.expand(sentence.when)))
            if faults := [fault for key in _TEXTS for fault in template_faults(getattr(sentence, key), known)]:
                raise ValueError(f"{sentence.when}: {'; '.join(faults)}")
        return self

    @classmethod
    def read(cls, files: Iterable[Path]) -> RelationWords:
        """The words of files; lists are joined, and the last file counts for the rest. RecipeError for a faulty one."""
        data: dict[str, Any] = {}
        for file in files:
            try:
                read: Any = yaml.safe_load(read_given_text(file)) or {}
                cls.model_validate(read)
            except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
                message, found = "the words for relations cannot be read", str(error).replace("\n", " ")
                raise RecipeError([Problem(message, where=str(file), actual=found, hint="correct it")]) from None
            for key, value in read.items():
                data[key] = [*data.get(key, ()), *value] if isinstance(value, list) else value
        return cls.model_validate(data)

    def sentence_for(self, nature: RelationNature) -> RelationSentence | None:
        """The sentences of a relation, with its name in them if that is not its readable one; None without any."""
        name = readable_name(nature.relation, self.drop, self.small)
        several = nature.single < _ONE_END if nature.kind in ("functional", "checkable") else nature.kind != "ranges"
        forms = WordForms(parts=self.parts)
        fits = ((one, forms.expand(one.when)) for one in self.sentences if one.several in (None, several))
        found, when = next((pair for pair in fits if not pair[1] or has_match(pair[1], name)), (None, ""))
        if found is None:
            return None
        texts: dict[str, str] = {key: getattr(found, key) for key in _TEXTS}
        if found.oe and found.oe_set:
            texts["oe" if several else "oe_set"] = ""
        if "{" not in name:
            groups = match_groups(when, name) or {}
            own = {"relation": name} if name != nature.relation else {}
            for group, value in (*groups.items(), *own.items()):
                texts = {key: text.replace(f"{{{group}}}", value) for key, text in texts.items()}
        return found.model_copy(update=texts)

    def unusable(self, answer: str) -> str:
        """Why an answer is no single one: ``negative``, ``list`` or ``clause``; empty if it is one."""
        if _any(self.negative, answer):
            return "negative"
        if _any(self.lists, answer):
            return "list"
        length = len(answer) if self.unit == "characters" else len(answer.split())
        return "clause" if length > self.longest else ""


@dataclass(frozen=True)
class RelationNature:
    """What a relation was taken for, and why.

    `single` is the share of its heads with one tail. `unusable` counts the answers that are no single ones.
    """

    relation: str
    kind: RelationKind
    why: str
    triples: int
    heads: int
    single: float
    unusable: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.relation} ({count_phrase(self.triples, 'triple')}, {self.why}: {'; '.join(self.examples)})"


def readable_name(relation: str, drop: str = "", small: str = "") -> str:
    """The name of a relation in words, without what `drop` matches, and with small letters in what `small` matches.

    >>> readable_name("hasSide_effect", "^has "), readable_name("IgE type"), readable_name("Moon Of", small="Of|Mo")
    ('side effect', 'IgE type', 'moon of')
    """
    words = _CAMEL.sub(" ", relation).strip()
    words = words.lower() if words != relation else relation
    words = re.sub(small, lambda found: found[0].lower(), words) if small else words
    return (re.sub(drop, "", words).strip() or words) if drop else words


def relation_natures(triples: Iterable[Triple], words: RelationWords) -> list[RelationNature]:
    """The nature of each relation, the largest one first."""
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for triple in triples:
        pairs.setdefault(triple.relation, {})[triple.head, triple.tail] = None
    found = [_nature(relation, list(ends), words) for relation, ends in pairs.items()]
    return sorted(found, key=lambda nature: (-nature.triples, nature.relation))


def proposed_lists(natures: Iterable[RelationNature]) -> Mapping[RelationKind, list[str]]:
    """The relations that each list of a recipe should have; empty lists are left out."""
    names: dict[RelationKind, list[str]] = {kind: [] for kind in LISTED_KINDS}
    for nature in natures:
        if nature.kind != "checkable":
            names[nature.kind].append(nature.relation)
    return {kind: found for kind, found in names.items() if found}


def _nature(relation: str, pairs: Sequence[tuple[str, str]], words: RelationWords) -> RelationNature:
    heads, tails = Counter(head for head, _ in pairs), Counter(tail for _, tail in pairs)
    single = sum(count == 1 for count in heads.values()) / len(heads)
    unusable = sum(bool(words.unusable(tail)) for _, tail in pairs)
    kind, why = _kind(readable_name(relation), heads, tails, words, single, unusable)
    firsts = dict(reversed(pairs))  # of each concept its first end
    shown = sorted(pairs, key=lambda pair: firsts[pair[0]] != pair[1])[:_SHOWN]
    examples = tuple(f"{head} → {tail}" for head, tail in shown)
    return RelationNature(relation, kind, why, len(pairs), len(heads), single, unusable, examples)


def _kind(
    name: str, heads: Counter[str], tails: Counter[str], words: RelationWords, single: float, unusable: int
) -> tuple[RelationKind, str]:
    count = tails.total()
    if _any(words.preferences, name):
        return "preferences", "by its name"
    if _any(words.kinds, name):
        return "kinds", "by its name"
    amounts = sum(n for tail, n in tails.items() if _any(words.ranges, tail))
    if amounts >= max(_MOST * count, min(_SHOWN, count)):
        return "ranges", f"{amounts} answers are amounts or ranges"
    if _any(words.open, name):
        return "open", "by its name"
    if unusable >= max(_MOST * count, min(_SHOWN, count)):
        return "open", f"{unusable} answers are negative, lists or clauses"
    several = _any(words.several, name)
    ones = round(single * len(heads))
    if single >= _ONE_END and count >= _SURE and len(tails) > 1 and not several:
        return "functional", f"{ones} of {len(heads)} concepts have one end"
    if single < _ONE_END and len(tails) <= min(_FEW_TAILS, len(heads) / _HEADS_BY_TAIL):
        classes = sum(n for tail, n in tails.items() if _any(words.classes, tail))
        if classes >= _MOST * count:
            return "kinds", f"{len(tails)} different answers, most of which name a class"
    if count >= _SURE and count >= _MANY_ENDS * max(len(heads), len(tails)):
        return "open", f"{count / len(heads):.1f} ends a concept and {count / len(tails):.1f} concepts an end"
    return "checkable", f"{count_phrase(len(tails), 'answer')} of {count_phrase(len(heads), 'concept')}"


def _any(patterns: Sequence[str], text: str) -> bool:
    return any(has_match(pattern, text) for pattern in patterns)
