"""Kept templates give the same pages, by language and settings, and damage or another environment never shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from benchbuilder.core import PageTexts, page_texts
from benchbuilder.exporters.render import compiled_templates, templates

PAGE = "{{ 1234|n }} {{ 'a|b' }} {{ 0.5|pct }}\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHBUILDER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "templates"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The names of the templates that were compiled."""
    names: list[str | None] = []
    compile_one = Environment.compile

    def recorded(self: Environment, source: Any, name: str | None = None, *more: Any) -> Any:
        names.append(name)
        return compile_one(self, source, name, *more)

    monkeypatch.setattr(Environment, "compile", recorded)
    return names


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "pages_of_a_test"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    (package / "templates" / "page.j2").write_text(PAGE)
    yield package / "templates" / "page.j2"
    sys.modules.pop(package.name, None)


def markdown(**texts: str) -> str:
    t = PageTexts("en", {**page_texts("en").starting(""), **{f"meta.{name}": text for name, text in texts.items()}})
    return templates.render_markdown("page.j2", ["pages_of_a_test"], t=t)


def test_a_page_is_compiled_once(cache: Path, pages: Path, compiled: list[str | None]) -> None:
    first = markdown()
    assert (first, compiled) == ("1,234 a\\|b 50.0 %\n", ["page.j2"])
    assert markdown() == first
    assert compiled == ["page.j2"]
    assert len(list(cache.iterdir())) == 1


def test_values_that_never_change_follow_language_settings_and_text(
    cache: Path, pages: Path, compiled: list[str | None]
) -> None:
    assert (markdown(), markdown(group="’")) == ("1,234 a\\|b 50.0 %\n", "1’234 a\\|b 50.0 %\n")
    assert templates.render_html("page.j2", ["pages_of_a_test"], t=page_texts("en")) == "1,234 a|b 50.0 %\n"
    pages.write_text("{{ 1|n }}")
    assert markdown() == "1"
    assert len(compiled) == 4


def test_damage_and_another_program_are_compiled_again(
    cache: Path, pages: Path, compiled: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = markdown()
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:-40])
    assert markdown() == first
    monkeypatch.setattr(compiled_templates, "_program", lambda: "another")
    assert markdown() == first
    assert len(compiled) == 3


def test_a_cache_that_cannot_be_written_is_no_fault(cache: Path, pages: Path) -> None:
    cache.parent.write_text("a file where the folder would be")
    assert markdown() == "1,234 a\\|b 50.0 %\n"
