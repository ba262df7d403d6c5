"""The words of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.core import load_languages
from benchbuilder.core.errors import DataError
from benchbuilder.web import preferred_language


def test_more_languages_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "fr.yaml").write_text("meta: {name: Français}\ntask: {submit: Envoyer}\n", encoding="utf-8")
    found = load_languages({"fr": tmp_path / "fr.yaml"})
    assert found["fr"]("task.submit") == "Envoyer"
    assert found["fr"]("task.skip") == "Skip"
    assert found["fr"].name == "Français"


@pytest.mark.parametrize("text", ["- a\n- b\n", "task: {submit: 3}\n", "a: [\n", "just text"])
def test_a_malformed_file_is_an_error_with_advice(tmp_path: Path, text: str) -> None:
    (tmp_path / "fr.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        load_languages({"fr": tmp_path / "fr.yaml"})
    assert "fr.yaml" in error.value.where
    assert error.value.next
    with pytest.raises(DataError):
        load_languages({"de": tmp_path / "missing.yaml"})


def test_only_names_in_braces_are_replaced() -> None:
    text = load_languages({})["en"]
    assert text("progress.done", done="{total}", total=3) == "{total} of 3 done"
    assert text.duration(59.4) == "59 s"
    assert text.duration(90) == "2 min"
    assert text.duration(5400) == "1.5 h"


@pytest.mark.parametrize(
    ("header", "language"),
    [("", "en"), ("zh-Hant-TW,zh;q=0.8", "zh"), ("fr", "en"), ("zh;q=0, en", "en"), ("zh;q=abc", "en"), (",;q=,", "en"),
     ("en;q=0.1, zh;q=0.9", "zh"), ("x" * 10_000, "en")],
)  # fmt: skip
def test_the_language_that_a_browser_prefers(header: str, language: str) -> None:
    assert preferred_language(header, load_languages({})) == language
