"""Checks of every generated question."""

from __future__ import annotations

import regex

from benchbuilder.core import LengthUnit, ProducedBy, Question, SpecIssue, Statement, to_half_width
from benchbuilder.steps.language.answer_texts import contains_text

_STOP = "."
_POINTS = regex.compile(r"(?<=\p{Nd})\.(?=\p{Nd})|(?<=[\p{LC}\p{M}])\.(?=[\p{LC}\p{Nd}])|\.(?=[,;:)])")
"""Full stops that end no sentence: inside a number or a name of cased letters, and before another mark."""

CONTEXT_REMARK = SpecIssue(
    "context_dependent", "no words find texts about a passage that is not shown (forms.context_dependent)", "", ()
)
"""What a step says of a language without such words."""


def open_question(
    statement: Statement, produced_by: ProducedBy, text: str, checks: tuple[str, ...], tags: tuple[str, ...] = ()
) -> Question:
    """The open-ended question `text` about a statement, with `tags`."""
    return Question.child(
        statement, produced_by=produced_by, type="oe", text=text, context=statement.context, fact=statement.fact,
        family=statement.family, negated=statement.negated, checks=checks, form=statement.form,
        tags=tags,
    )  # fmt: skip


def shown_context(context: str) -> str:
    """The text before a question that is shown in a frame of its own lines; a text gets a line break at its end.

    >>> shown_context("A case."), shown_context("")
    ('A case.\\n', '')
    """
    bare = context.rstrip()
    return f"{bare}\n" if bare else ""


def is_one_sentence(question: str, mark: str, ends: str) -> bool:
    """Whether `question` ends in `mark` (empty: in anything) and contains no other character of `ends`.

    A full stop inside a number or a name is allowed.

    >>> is_one_sentence("Is it so?", "?", ".?!")
    True
    >>> is_one_sentence("It is. Is it?", "?", ".?!")
    False
    """
    body = question.removesuffix(mark)
    if (mark and body == question) or not body.strip():
        return False
    return not any(end in (_POINTS.sub("", body) if end == _STOP else body) for end in ends)


def with_end_mark(question: str, mark: str) -> str:
    """`question`, with `mark` instead of a final mark that differs from it in width only.

    >>> with_end_mark("Is it so？", "?")
    'Is it so?'
    """
    end = question[-1:]
    return question[:-1] + mark if end and to_half_width(end) == to_half_width(mark) else question


def leaks_answer(answer: str, question: str, ignore: str, matching: LengthUnit = "characters") -> bool:
    """Whether the normalised `question`, without the characters `ignore`, contains `answer` (or has it as whole words).

    Of a sign beside one letter, nothing is left out: O- is no article.

    >>> leaks_answer("Iron", "what contains IRON?", ""), leaks_answer("O-", "O doador universal é", "-", "words")
    (True, False)
    """
    if sum(map(str.isalnum, answer)) == 1 < len(answer.strip()):
        return answer.strip() in question
    return contains_text(question, answer, matching, ignore)
