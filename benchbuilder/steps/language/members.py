"""Questions of which several answers are right, by data of the language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import Regex, has_match, replace_all


class MemberRule(Spec):
    """Questions of which several answers are right: a statement gives the answer as one of them, not as the whole."""

    match: Annotated[Regex, Field(min_length=1)]
    """A pattern of what `write` replaces, such as the verb at the end of *the complications are*."""
    write: str
    unless: Regex = ""
    """A pattern of questions that have one answer, such as *the most frequent* (empty: none)."""
    in_case: bool = True
    """Whether the rule applies behind a context, too: a case has one diagnosis where a disease has several signs."""


def as_one_of_several(rules: Mapping[str, MemberRule | None], question: str, *, behind_context: bool) -> str:
    """The question for one of several answers, if one of `rules` fits it; else `question`."""
    for rule in rules.values():
        if rule is None or not has_match(rule.match, question) or (behind_context and not rule.in_case):
            continue
        if not rule.unless or not has_match(rule.unless, question):
            return replace_all(rule.match, rule.write, question)
    return question
