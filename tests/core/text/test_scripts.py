"""Texts that are clearly in another language than they are said to be in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchbuilder.config import load_recipe
from benchbuilder.core import DataError
from benchbuilder.pipeline import check_recipe
from benchbuilder.pipeline.other_language import other_language

ENGLISH = [
    f"Which of these is the most common cause of {ill} in a child who has been ill for {n} days?"
    for n, ill in enumerate(["fever", "cough", "a rash", "anaemia", "jaundice", "vomiting"] * 3, 2)
]
PORTUGUESE = [
    f"Qual \u00e9 a causa mais comum de {ill} em uma crian\u00e7a que est\u00e1 doente h\u00e1 {n} dias?"
    for n, ill in enumerate(["febre", "tosse", "anemia", "icter\u00edcia", "v\u00f4mitos", "dor"] * 3, 2)
]
CHINESE = [
    f"\u53d1\u70ed{n}\u5929\u7684\u60a3\u513f\u6700\u5e38\u89c1\u7684\u75c5\u56e0\u662f\u4ec0\u4e48\uff1f\u5e94\u5f53\u9996\u5148\u68c0\u67e5\u54ea\u4e00\u9879\uff1f"
    for n in range(2, 20)
]
MIXED = [f"{text} ({other})" for text, other in zip(ENGLISH, PORTUGUESE, strict=True)]
CODED = [f"{text} IL-6, TNF-alpha, ALT, AST, HBsAg, pH, CT, MRI" for text in CHINESE]


@pytest.mark.parametrize(
    ("texts", "language", "found"),
    [
        (PORTUGUESE, "yo", ("pt", "latin")),
        (PORTUGUESE, "en", ("pt", "latin")),
        (PORTUGUESE, "es", ("pt", "latin")),
        (ENGLISH, "pt", ("en", "latin")),
        (ENGLISH, "zh", ("en", "latin")),
        (CHINESE, "en", ("", "cjk")),
        (["\u03b1\u03b2\u03b3\u03b4 " * 9 + str(n) for n in range(12)], "en", ("el", "greek")),
        (PORTUGUESE, "pt", None),
        (ENGLISH, "en", None),
        (CHINESE, "zh", None),
        (CHINESE, "ja", None),
        (MIXED, "en", None),  # bilingual
        (MIXED, "pt", None),
        (CODED, "zh", None),  # terms and abbreviations in other letters
        (ENGLISH, "ig", None),  # nothing is known of the language
        (CHINESE, "gl", None),
        (ENGLISH, "hi-Latn", None),
        (PORTUGUESE[:9], "en", None),
        (["aspirin", "heparin 5 mg", "warfarin"] * 40, "pt", None),
    ],
)
def test_only_a_clear_difference_is_found(texts: list[str], language: str, found: tuple[str, str] | None) -> None:
    assert other_language(texts, language) == found


@pytest.mark.push
def test_a_file_in_another_language_stops_with_a_question(tmp_path: Path) -> None:
    rows = [{"question": text, "A": "sim", "B": "n\u00e3o", "C": "c", "D": "d", "answer": "A"} for text in PORTUGUESE]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ["recipe=exam_any", f"paths.exam_any={tmp_path / 'q.jsonl'}"]
    with pytest.raises(DataError) as caught:
        check_recipe(load_recipe(words))
    text = str(caught.value)
    assert "is this the right file? exam_any is taken for Yoruba, and its texts are like Portuguese" in text
    assert "q.jsonl:1" in text
    assert "Qual \u00e9 a causa" in text
    assert "sources.exam_any.language=pt" in text
    check_recipe(load_recipe([*words, "sources.exam_any.language=pt"]))
    check_recipe(load_recipe([*words, "language=pt"]))
