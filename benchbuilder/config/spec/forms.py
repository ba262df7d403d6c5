"""The sentences that show a question, an answer or a claim: all that a language needs without any rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from benchbuilder.config.spec.base import Spec
from benchbuilder.core import Regex, template_faults


def _sentence(*names: str) -> Callable[[str], str]:
    """A check that a sentence is empty, or has each of `names` once and no other placeholder."""

    def check(text: str) -> str:
        faults = template_faults(text, names) if text else []
        faults += [f"{{{name}}} must stand in it once" for name in names if text and text.count(f"{{{name}}}") != 1]
        if faults:
            raise ValueError("; ".join(faults))
        return text

    return check


VerifySentence = Annotated[str, AfterValidator(_sentence("question", "answer"))]
AmongSentence = Annotated[str, AfterValidator(_sentence("question", "options", "answer"))]
ClaimSentence = Annotated[str, AfterValidator(_sentence("claim"))]
ClozeSentence = Annotated[str, AfterValidator(_sentence("left", "right"))]
BeforeSentence = Annotated[str, AfterValidator(_sentence("a", "b"))]
NextSentence = Annotated[str, AfterValidator(_sentence("a"))]
AnswerSentence = Annotated[str, AfterValidator(_sentence("answer"))]


class FormsSpec(Spec):
    """The sentences of one language, and words that ask for care; an empty sentence is not used."""

    verify: VerifySentence = ""
    """Asks whether one proposed answer to a question is right."""
    verify_among: AmongSentence = ""
    """The same, with all options of the question in view."""
    true_or_false: ClaimSentence = ""
    """Asks whether a claim is true."""
    cloze: ClozeSentence = ""
    """Asks what completes a sentence; the gap is between `left` and `right`."""
    says: AnswerSentence = "{answer}"
    """An answer as items give it."""
    says_yes: str = ""
    says_no: str = ""
    option: AnswerSentence = "- {answer}"
    """One line for each option. It holds no letter and no number: these would be a cue to the position."""
    comes_before: BeforeSentence = ""
    """Asks whether step `a` of a procedure comes before step `b`."""
    comes_next: NextSentence = ""
    """Asks for the step right after step `a`."""
    ranks: tuple[Regex, ...] = ()
    """Patterns of questions that rank their options (most, best, next)."""
    asks: tuple[Regex, ...] = ()
    """Patterns of texts that are questions as they stand, besides a question mark at the end."""
    cloze_ends: tuple[Regex, ...] = ()
    """Patterns of unfinished sentences that few words complete (is, by, the)."""
    options_named: tuple[Regex, ...] = ()
    """Patterns of questions that nobody can answer without their options (which of the following)."""
    exceptions: tuple[Regex, ...] = ()
    """Patterns of questions that ask for what is not so (all except, which is false)."""
    context_dependent: tuple[Regex, ...] = ()
    """Patterns of questions and claims about a text that is not shown (the passage, a pronoun as the subject)."""
    not_alone: tuple[Regex, ...] = ()
    """Patterns of claims that leave open who, where or when is meant, or tell somebody to do something."""
    needs_picture: tuple[Regex, ...] = ()
    """Patterns of questions about a picture or a table that is not there."""
    needs_case: tuple[Regex, ...] = ()
    """Patterns of questions about a case that is not there (the next step, this patient)."""
    catch_all: tuple[Regex, ...] = ()
    """Patterns of options about the other options (all of these, none of these), beside those found by themselves."""
