"""The review app shows texts of any language unchanged, with language and direction, and keeps typed texts."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from samples import LANGUAGES

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")


from review_world import BOOTSTRAP, fields_of, make_world, task

from benchbuilder.annotation.database.models import Project
from benchbuilder.config.spec.annotation import ProjectSpec

SCRIPT = "interface.yaml"


def _world(language: dict[str, Any], folder: Path, **app: Any) -> Any:
    text, right, wrong = language["labels"]
    asked = {"subject": "claim", "label": language["ask"], "text": language["ask"]}
    spec = ProjectSpec.model_validate({
        "kind": "app", "title": language["labels"][0], "bootstrap": BOOTSTRAP, "per_task": 1, "rule": "mean",
        "heading": text, "paragraph": right, "fields": {"text": text, "right": right, "wrong": wrong},
        "questions": {
            "right": {**asked, "order": 1},
            "said": {**asked, "order": 2, "text": wrong, "answer": "text", "lines": 3},
        },
    })  # fmt: skip
    tasks = [
        task(
            {"text": question, "right": options[0], "wrong": options[1]}, ((language["word"], language["passages"][0]),)
        )
        for question, options in language["questions"]
    ]
    project = Project("small", spec, f"## {language['labels'][0]}\n\n{language['ask']}", language["code"], 3)
    return make_world(f"sqlite:///{folder / 'votes.db'}", [(project, tasks)], **app)


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_the_page_shows_and_keeps_what_is_written(code: str, tmp_path: Path) -> None:
    language = LANGUAGES[code]
    world = _world(language, tmp_path)
    ann = world.browser("Ann")
    page = ann.get("/p/small/1").text
    shown = html.unescape(page)
    question = next(question for question, _ in language["questions"] if question in shown)
    assert f'lang="{code}"' in page
    assert page.count('dir="auto"') > 5
    assert language["passages"][0] in shown
    assert "\N{REPLACEMENT CHARACTER}" not in page

    typed = f"{language['word']}: {question}"
    data = fields_of(page)
    names = [name for name in data if name.startswith("v.")]
    answers = {name: "1" if 'type="radio"' in page and name == names[0] else typed for name in names}
    sent = ann.client.post("/p/small/1", data=data | answers | {"action": "submit", "note": typed})
    assert sent.status_code in (200, 303), sent.text
    votes = world.store.vote_events("small")
    assert {vote.value for vote in votes} == {1, typed}
    assert typed in html.unescape(ann.get("/p/small/1").text)
    assert question in html.unescape(ann.get("/p/small/list").text)
    world.store.close()


def test_an_interface_from_right_to_left(tmp_path: Path) -> None:
    strings = tmp_path / "ar.yaml"
    strings.write_text("meta: {name: العربية, direction: rtl}\n", encoding="utf-8")
    world = _world(LANGUAGES["ar"], tmp_path, strings=_texts(strings))
    page = world.browser("Ann").get("/p/small/1", headers={"Accept-Language": "ar"}).text
    assert '<html lang="ar" dir="rtl"' in page
    world.store.close()


def _texts(path: Path) -> Any:
    return {"ar": path}
