"""``evaluation=[en_claims,en_snowball]`` from quote to page: does a model know its errors?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from html_page import Page
from once import Once
from test_pressure_command import RECIPE, said_by

import benchbuilder as bb
from benchbuilder.testing import fake_openai_server

REPLIES = """
import csv, zlib

csv.field_size_limit(10**9)
with open({items!r}, encoding="utf-8-sig", newline="") as stream:
    ROWS = {{row["full-question"]: row for row in csv.DictReader(stream, delimiter="\\t")}}


def reply(messages, body):
    text = messages[-1]["content"]
    if text.startswith("Why is that so?"):
        return "The sources say so. " + messages[1]["content"]
    afresh = text.partition("Question:\\n")[2].partition("\\n\\nAnswer:\\n")[0]
    row = ROWS[afresh or text]
    wrong = zlib.crc32((afresh or text).encode()) % 10 >= 6
    if afresh:
        return "No, it is not." if wrong and body["model"] == "knowing" else "Yes."
    if not row["expected"]:
        return row["answer-wrong" if wrong else "answer"]
    return "Yes." if (row["expected"] == "yes") != wrong else "No."
"""


@dataclass(frozen=True)
class Asked:
    """What two scripted models were asked, and what was said and written."""

    folder: Path
    quote: str
    said: str
    bodies: list[dict[str, Any]]
    again: int
    result: bb.EvaluationResult


@pytest.fixture(scope="module")
def asked(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """An evaluation of two models that keep their errors, one of which knows them; and once more."""
    folder = once.copied((" ".join(RECIPE),), tmp_path_factory.mktemp("snowball"))
    (folder / "replies.py").write_text(REPLIES.format(items=str(folder / "builds/medicine_en/items.tsv")), "utf-8")
    behaviour = {"plugin": str(folder / "replies.py"), "keep_bodies": True}
    with pytest.MonkeyPatch.context() as patch, fake_openai_server(behaviour) as server:
        patch.chdir(folder)
        words = [
            f"evaluation.models.{name}.{key}={value}" for name in ("knowing", "sure")
            for key, value in (("kind", "openai"), ("name", name), ("base_url", server.base_url))
        ]  # fmt: skip
        words = [*RECIPE, "evaluation=[en_claims,en_snowball]", *words]
        quote, said = said_by("evaluate", "--quote", *words), said_by("evaluate", *words)
        bodies = [line["body"] for line in server.log()]
        (result,) = bb.evaluate("medicine_en", words[1:])
        again = len(server.log()) - len(bodies)
    return Asked(folder / "builds/medicine_en/evaluation", quote, said, bodies, again, result)


@pytest.mark.push
def test_each_answer_is_explained_and_asked_about_afresh_and_nothing_twice(asked: Asked):
    quoted = {
        name: int(calls.replace(",", ""))
        for name, calls in re.findall(r"^((?:answer|pressed_pushed)\.\S+) +\S+ +([\d,]+) ", asked.quote, re.M)
    }
    assert quoted["pressed_pushed.sure"] == 2 * quoted["answer.sure"]
    assert len(asked.bodies) == sum(quoted.values())
    assert asked.again == 0
    afresh = [body["messages"] for body in asked.bodies if "Is this answer right?" in str(body["messages"])]
    assert len(afresh) == 2 * quoted["answer.sure"]
    assert {len(messages) for messages in afresh} == {1}


@pytest.mark.push
def test_a_model_that_keeps_an_error_which_it_recognises_is_told_from_one_that_is_sure(asked: Asked):
    found = asked.result.pressure
    assert found is not None
    assert (found.figures, found.pushes) == ((), ())
    for kind in ("tf", "oe"):
        knowing, sure = (found.snowball(model, type=kind) for model in ("knowing", "sure"))
        values = [(one.recognised.value, one.doubted.value, one.insight.value) for one in (knowing, sure)]
        assert values == [(1, 0, 1), (0, 0, 0)], kind
        assert (knowing.kept.value, knowing.snowballed.value) == (1, 1)
        assert (sure.kept.value, sure.snowballed.value) == (1, 0)
    assert found.snowball("knowing", type="tf").n > 100


@pytest.mark.push
def test_figures_and_conversations_stand_in_terminal_page_and_data(asked: Asked):
    assert re.search(r"^knowing +tf +snowball +1\.00 .* 1\.00 ", asked.said, re.M), asked.said
    assert "insight: the former less the latter" in asked.said
    page = " ".join(Page((asked.folder / "results.html").read_text("utf-8")).text.values())
    assert "Does a model know its errors? tf" in page
    assert "Said in a new conversation" in page
    assert "Each question was asked once more behind a claim" not in page
    data = json.loads((asked.folder / "results.json").read_text("utf-8"))["pressure"]
    assert {one["model"]: one["snowballed"]["value"] for one in data["snowball"] if one["type"] == "oe"} == {
        "knowing": 1, "sure": 0,
    }  # fmt: skip
