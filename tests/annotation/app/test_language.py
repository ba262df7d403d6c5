"""The words of the interface."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchbuilder.annotation.app.i18n import load_languages, preferred_language
from benchbuilder.core.errors import DataError

FOLDER = Path(__file__).parents[3] / "benchbuilder" / "annotation" / "app"


def _keys(language: str) -> dict[str, str]:
    return dict(load_languages({})[language]._texts)


def test_languages_have_the_same_texts_with_the_same_places() -> None:
    english, chinese = _keys("en"), _keys("zh")
    assert set(english) == set(chinese)
    for key, text in english.items():
        assert sorted(set(re.findall(r"\{\w+\}", text))) == sorted(set(re.findall(r"\{\w+\}", chinese[key]))), key
        assert not re.search(r"[一-鿿]", text) or key == "meta.name"


def test_chinese_has_chinese_punctuation() -> None:
    for key, text in _keys("zh").items():
        assert not re.search(r"[一-鿿][,.;:!?()]|[,;:!?()][一-鿿]", text), f"{key}: {text}"


def test_every_text_is_used() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in [*FOLDER.glob("*.py"), *FOLDER.glob("templates/*.j2")]
    )
    stems = set(re.findall(r'"([a-z_]+(?:\.[a-z_-]+)*)"', sources))
    prefixes = set(re.findall(r'"([a-z_]+\.(?:[a-z_]+\.)*)(?:"|\{)', sources))
    unused = [
        key
        for key in _keys("en")
        if key not in stems
        and not any(key.startswith(prefix) for prefix in prefixes)
        and not key.startswith(("error.4", "error.5", "refused.", "meta."))
    ]
    assert not unused


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
