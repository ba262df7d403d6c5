from __future__ import annotations

import pytest

from benchbuilder.core.text.casing import Casing

CASING = Casing(["Crohn", "Staphylococcus"], [r"\p{L}+?[\p{Lu}\d]", r"\p{Lu}\W", r"(?-i:Down) syndrome"])


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Iron deficiency", "iron deficiency"),
        ("Crohn disease", "Crohn disease"),
        ("Crohn-like changes", "Crohn-like changes"),
        ("Staphylococcus aureus", "Staphylococcus aureus"),
        ("IgA", "IgA"),
        ("mRNA", "mRNA"),
        ("T-cell count", "T-cell count"),
        ("Down syndrome", "Down syndrome"),
        ("Down-regulation", "down-regulation"),
        ("Élan", "élan"),
        ("12 mg", "12 mg"),
        ("", ""),
        ("ßeta", "ßeta"),
        ("İstanbul", "İstanbul"),  # its small letter is two characters
        ("维生素", "维生素"),
    ],
)
def test_inside_a_sentence(text, inside):
    assert CASING.lowered(text) == inside


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("iron is", "Iron is"),
        ("pH 7 is", "pH 7 is"),
        ("élan", "Élan"),
        ("ßeta", "ßeta"),
        ("", ""),
        ("90% of", "90% of"),
    ],
)
def test_at_the_beginning_of_a_sentence(text, first):
    assert CASING.raised(text) == first


def test_spans_stay_where_they_are():
    for text in ("İstanbul", "ßeta", "ŉa", "Iron"):
        assert len(CASING.lowered(text)) == len(CASING.raised(text)) == len(text)
