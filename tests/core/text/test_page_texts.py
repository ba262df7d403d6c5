"""The texts of pages: complete in each language, all in use, with the plural forms of each language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.core import Choice, Claim, Item, MultipleAnswerChoice, Payload, flat_record_schema
from benchbuilder.core.errors import DataError
from benchbuilder.core.text.page_texts import missing_texts, nearest_language, page_texts, read_texts, text_names
from benchbuilder.core.text.plurals import plural_category

PACKAGE = Path(__file__).parents[3] / "benchbuilder"
STRINGS = PACKAGE / "core/text/strings"
DYNAMIC = ("error.4", "error.5", "refused.", "meta.")


def texts(language: str) -> dict[str, str]:
    return read_texts(STRINGS / f"{language}.yaml", language)


def holes(text: str) -> set[str]:
    return set(re.findall(r"\{([a-z_]+)", text))


def test_languages_have_the_same_texts_with_the_same_places() -> None:
    english = texts("en")
    # English pages show the words of a reason's code
    chinese = {key: text for key, text in texts("zh").items() if not key.startswith("reason_names.")}
    names = text_names(english)
    assert {*names.values()} == {*text_names(chinese).values()}
    for key, text in chinese.items():
        like = {hole for other, name in names.items() if name == key for hole in holes(english[other])}
        assert like == holes(text) or key == "meta.date", key
    assert not [key for key, text in english.items() if re.search(r"[一-鿿]", text)]


def test_chinese_has_chinese_punctuation() -> None:
    for key, text in texts("zh").items():
        if key.startswith(("adjudicate", "answer", "app", "changed", "error", "help", "home", "lead", "task")):
            assert not re.search(r"[一-鿿][,.;:!?()]|[,;:!?()][一-鿿]", text), f"{key}: {text}"


def test_every_text_is_used_and_every_text_that_is_asked_for_is_there() -> None:
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.j2")]
    sources = "".join(path.read_text(encoding="utf-8") for path in files if "bundled" not in path.parts)
    names = {*text_names(texts("en")).values()}
    stems = set(re.findall(r"[\"']([a-z_]+(?:\.[A-Za-z0-9_-]+)*)[\"']", sources))
    prefixes = tuple(set(re.findall(r"[\"']([a-z_]+\.(?:[a-z_0-9]+[._])*[a-z_]*)(?:[\"'{])", sources)))
    inner = {f"count.{name}" for text in texts("en").values() for name in re.findall(r":([a-z_]+)\}", text)}
    unused = names - stems - inner
    assert not sorted(name for name in unused if not name.startswith((*prefixes, *DYNAMIC)))
    asked = set(re.findall(r"\b(?:t|says\.t|frame\.t|self\.t)\([\"']([a-z_]+\.[a-z_.]*[a-z])[\"']\s*[,)]", sources))
    assert len(asked) > 400
    assert not asked - names


@pytest.mark.parametrize("payload", [Claim, Choice, MultipleAnswerChoice])
def test_each_column_of_items_has_a_meaning(payload: type[Payload]) -> None:
    row: Any = Item[payload]  # pyright: ignore[reportInvalidTypeArguments]
    assert not [name for name in flat_record_schema(row).names if not page_texts("zh").has_text(f"field.{name}")]


def test_one_thing_is_not_many() -> None:
    english, chinese = page_texts("en"), page_texts("zh")
    assert english("report.tile_sources", n=1) == "in 1 source"
    assert english("results.tile_models", n=1) == "model"
    assert english("results.first_line", yes="a", no="b", n=1) == (
        "Always yes is right on a of the 1 true/false question, always no on b."
    )
    assert chinese("report.tile_sources", n=1) == "来自 1 个来源"
    assert english("audit.headline_open", n=0, total=1234, words=1).endswith("0 of 1,234 checks and 1 word leak.")


def test_a_language_of_a_file_has_its_own_plurals_numbers_and_dates(tmp_path: Path) -> None:
    file = tmp_path / "pl.yaml"
    file.write_text(
        "meta: {name: Polski, decimal: ',', group: ' ', date: '{day}.{m}.{y}'}\n"
        "report: {tile_sources: {one: 'w {n} źródle', few: 'w {n} źródłach', many: 'w {n} źródeł', other: '{n}'}}\n"
        "count: {row: {one: '{n} wiersz', few: '{n} wiersze', many: '{n} wierszy', other: '{n} wiersza'}}\n",
        encoding="utf-8",
    )
    t = page_texts("pl-PL", {"pl": file})
    assert [t("report.tile_sources", n=n) for n in (1, 3, 5)] == ["w 1 źródle", "w 3 źródłach", "w 5 źródeł"]
    assert (t.number(12345.6), t.percent(0.5), t.date("2025-01-31")) == ("12 345,6", "50,0 %", "31.01.2025")
    assert t("report.contents") == "Contents"
    missing, wanted = missing_texts(file, "pl")
    assert (missing, wanted > 1000) == (wanted - 6, True)
    assert nearest_language("pl-PL", {"pl": file}) == "pl"
    assert page_texts("pl").language == "en"


@pytest.mark.parametrize(
    ("language", "categories"),
    [
        ("ja", "other other other other other"), ("zu", "one one other other other"),
        ("fr", "one one other other other"),
        ("ru", "many one few many one"), ("ar", "zero one two few many"), ("xx", "other one other other other"),
        ("lv", "zero one other other one"), ("fil", "one one one one one"),
    ],
)  # fmt: skip
def test_plural_categories(language: str, categories: str) -> None:
    assert [plural_category(language, n) for n in (0, 1, 2, 5, 21)] == categories.split()


def test_names_in_braces_are_all_that_is_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "de.yaml"
    file.write_text("report: {contents: '{n.__class__} {0} {n} {'}\n", encoding="utf-8")
    assert page_texts("de", {"de": file})("report.contents", n=3) == "{n.__class__} {0} 3 {"
    with pytest.raises(DataError, match="cannot be read"):
        page_texts("de", {"de": tmp_path / "no.yaml"})
