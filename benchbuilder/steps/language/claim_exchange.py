"""Claims of one form exchange a part: what is said of one thing is said of another, which makes it false."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchbuilder.core import Regex, Span, comparison_form, content_id, has_match, match_group_spans, split_words
from benchbuilder.steps.language.answer_texts import number_range, without_numbers
from benchbuilder.steps.language.edits import replace_span

_STEM = 4
"""So many first letters of two words that are alike make them one word."""
_MOST = 200
"""So many claims of a form are looked at for each."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim with what is known of it, the part that it may exchange, and the words of the rest."""

    text: str
    known: str
    value: str
    start: int
    words: frozenset[str]
    rest: frozenset[str]

    def excludes(self, other: _Claim) -> bool:
        """Whether neither claim is true with the value of the other, as far as their words tell."""
        names = comparison_form(self.value), comparison_form(other.value)
        held = names[1] in comparison_form(self.known) or names[0] in comparison_form(other.text)
        return not held and not self.rest & other.rest and self._is_apart(other)

    def _is_apart(self, other: _Claim) -> bool:
        """Whether two values share no word, or are measures in one unit whose numbers share no value."""
        one, two = number_range(self.value), number_range(other.value)
        if one is None or two is None:
            return one is two and not self.words & other.words
        unit = comparison_form(without_numbers(self.value)) == comparison_form(without_numbers(other.value))
        return unit and (one[1] < two[0] or two[1] < one[0])


def exchanged_claims(
    claims: Mapping[str, str], patterns: Sequence[Regex], vague: Sequence[Regex], ignored: Collection[str]
) -> Mapping[str, str]:
    """The false claim for each of `claims` that another one gives a part to; the claims have what is known of them.

    A pattern of whole claims has the group ``value``, which is exchanged. The groups ``same...`` must be equal in both
    claims, and the groups ``rest`` must not share a word but `ignored` ones: then what is true of one is not true of
    the other. A value in which `vague` is found stays. Of those that fit, the value that was given least is taken.
    """
    words = frozenset(word.casefold() for word in ignored)
    forms: dict[tuple[str, ...], list[_Claim]] = {}
    for text in sorted(claims, key=lambda text: content_id("claim", text, "")):
        for pattern in patterns:
            spans = match_group_spans(pattern, text)
            if spans is None or any(has_match(bad, spans["value"][0]) for bad in vague):
                continue
            same = (comparison_form(part) for name, (part, _) in sorted(spans.items()) if name.startswith("same"))
            parts = (_stems(part, words) for part in (spans["value"][0], spans.get("rest", ("", 0))[0]))
            forms.setdefault((pattern, *same), []).append(_Claim(text, claims[text], *spans["value"], *parts))
    found: dict[str, str] = {}
    for group in forms.values():
        given = Counter[str]()
        for place, one in enumerate(group):
            others = [other for other in (group[place + 1 :] + group[:place])[:_MOST] if one.excludes(other)]
            if others:
                value = min(others, key=lambda other: given[other.value]).value
                given[value] += 1
                end = one.start + len(one.value)
                found.setdefault(one.text, replace_span(one.text, Span(start=one.start, end=end), value))
    return found


def _stems(text: str, ignored: Collection[str]) -> frozenset[str]:
    return frozenset(word.casefold()[:_STEM] for word in split_words(text) if word.casefold() not in ignored)
