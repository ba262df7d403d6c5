"""``evaluation.answer_claims`` from quote to page: a fake service verifies by labels, and nothing is paid twice."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from html_page import Page
from once import Once

import benchbuilder as bb
from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

RECIPE = ["recipe=medicine_en", "annotation=none"]
RULE = "evaluation=[en_claims,en_answer_claims]"
ASKED = "evaluation=[en_claims,en_answer_claims,en_answer_claims_prompted]"
OTHER = "It is seldom discussed in textbooks"
PATTERNS = (("answer",), ("answer", "answer-wrong"), ("answer-wrong", OTHER), (OTHER,))
"""What answers say, one after the other."""
REPLIES = """
import csv, json, re

csv.field_size_limit(10**9)
with open({items!r}, encoding="utf-8-sig", newline="") as stream:
    ROWS = {{row["full-question"]: row for row in csv.DictReader(stream, delimiter="\\t")}}


def between(text, tag):
    return [part.split("</" + tag + ">")[0].strip() for part in text.split("<" + tag + ">")[1:]]


def reply(messages, body):
    text = messages[-1]["content"]
    (question,), (answer,), statements = between(text, "question"), between(text, "answer"), between(text, "statement")
    row, shown = ROWS[question], dict(one.split(": ", 1) for one in statements)
    quote = between(text, "paragraph")[0].split(". ", 1)[1][:20]
    parts = []
    for n, said in re.findall(r"\\[(\\d+)\\] ([^\\[]+)", answer):
        sides = {{side: row[side].rstrip(".") in said for side in ("answer", "answer-wrong")}}
        verdict = "supported" if sides["answer"] else "contradicted" if sides["answer-wrong"] else "not_addressed"
        parts.append({{
            "n": int(n), "kind": "claim", "verdict": verdict, "paragraph": 1, "quote": quote, "taken_back_by": None,
            "a": "says" if shown["A"].rstrip(".") in said else "none",
            "b": "says" if shown["B"].rstrip(".") in said else "none",
        }})
    return json.dumps({{"parts": parts}})
"""


@dataclass(frozen=True)
class Verified:
    """What was asked of the fake service in each run, and what was said and written."""

    folder: Path
    plain: dict[str, bytes]
    calls: dict[str, int]
    quoted: int
    said: str
    result: bb.EvaluationResult
    labels: dict[str, tuple[str, ...]]


def said_by(*words: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(list(words)) == 0
    return said.getvalue()


def written_answers(folder: Path) -> dict[str, tuple[str, ...]]:
    """Write answers whose labels are known, and return these by item."""
    csv.field_size_limit(10**9)
    with (folder / "builds/medicine_en/items.tsv").open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if not row["expected"]][:24]
    labels = {row["id"]: PATTERNS[at % len(PATTERNS)] for at, row in enumerate(rows)}
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as stream:
        for row in rows:
            text = " ".join(f"{row.get(said, said).rstrip('.')}." for said in labels[row["id"]])
            stream.write(json.dumps({"id": row["id"], "model": "lab", "answer": text}) + "\n")
    return labels


@pytest.fixture(scope="module")
def verified(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    """An evaluation without claims, then with a budget that ends early, with enough, and the same again."""
    folder = once.copied((" ".join(RECIPE),), tmp_path_factory.mktemp("answer_claims"))
    labels = written_answers(folder)
    (folder / "replies.py").write_text(REPLIES.format(items=str(folder / "builds/medicine_en/items.tsv")), "utf-8")
    with pytest.MonkeyPatch.context() as patch, fake_openai_server({"plugin": str(folder / "replies.py")}) as server:
        patch.chdir(folder)
        results = folder / "builds/medicine_en/evaluation"
        own = ["paths.model_answers=answers.jsonl", "~evaluation.baselines"]
        assert said_by("evaluate", *RECIPE, "evaluation=[en_claims]", *own)
        plain = {path.name: path.read_bytes() for path in results.glob("results*.*")}
        model = {"name": "gpt-4o-mini", "base_url": server.base_url}
        own += ["model@evaluation.answer_claims.model=openai"]
        own += [f"evaluation.answer_claims.model.{key}={value}" for key, value in model.items()]
        quote = said_by("evaluate", "--quote", *RECIPE, ASKED, *own)
        found = re.search(r"^answer_claims\.lab +\S+ +([\d,]+) ", quote, re.M)
        assert found is not None
        calls = {"quote": len(server.log())}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(["evaluate", *RECIPE, ASKED, *own, "budget.tokens=15000"]) == 4
        calls["stopped"] = len(server.log())
        said = said_by("evaluate", *RECIPE, ASKED, *own)
        calls["all"] = len(server.log())
        (result,) = bb.evaluate("medicine_en", [*RECIPE[1:], ASKED, *own], refresh=("answer_claims.lab",))
        calls["again"] = len(server.log())
        (result,) = bb.evaluate("medicine_en", [*RECIPE[1:], ASKED, *own, "evaluation.scorers.claims.k=1"])
        calls["other k"] = len(server.log())
    return Verified(results, plain, calls, int(found[1]), said, result, labels)


@pytest.mark.full
def test_what_is_quoted_is_asked_and_nothing_is_bought_twice(verified: Verified):
    calls = verified.calls
    assert calls["quote"] == 0
    assert 0 < calls["stopped"] < calls["all"]
    assert calls["all"] == calls["again"] == calls["other k"] == verified.quoted == len(verified.labels)


@pytest.mark.full
def test_all_aspects_equal_those_of_the_labels(verified: Verified):
    said = list(verified.labels.values())
    right, wrong = (sum(side in one for one in said) / len(said) for side in ("answer", "answer-wrong"))
    assert verified.result.claims is not None
    figures = verified.result.claims.figure("lab")
    values = {name: estimate.value for name, estimate in figures.aspects.items()}
    decided = [[name for name in one if name != OTHER] for one in said if set(one) != {OTHER}]
    grounded = [("answer" in one) / len(one) for one in said]
    wanted = {
        "asserts_wrong": wrong, "asserts_right": right, "key_recall": right, "contradictions": wrong,
        "claim_precision": sum(("answer" in one) / len(one) for one in decided) / len(decided),
        "grounded": sum(grounded) / len(said),
        "f1_at_k": sum(2 * share / (share + 1) for share in grounded) / len(said),
    }  # fmt: skip
    assert values == pytest.approx(wanted, abs=1e-12)
    assert figures.claims.value == pytest.approx(sum(map(len, said)) / len(said), abs=1e-12)
    assert figures.aspects["claim_precision"].n == len(decided)
    assert sum(figures.outcomes.values()) == len(said)
    assert verified.result.claims.by_rule is False


@pytest.mark.full
def test_figures_stand_in_terminal_page_and_data(verified: Verified):
    assert "misinformation" in verified.said
    assert "verified by prompted; not audited by people" in verified.said
    data = json.loads((verified.folder / "results.json").read_text("utf-8"))
    assert verified.result.claims is not None
    assert data["claims"]["systems"][0]["aspects"]["asserts_wrong"]["value"] == pytest.approx(0.5)
    assert data["claims"]["k"] == 1
    page = Page((verified.folder / "results.html").read_text("utf-8"))
    text = " ".join(page.text.values())
    assert "Claims in answers" in text
    assert "F1@K counts 1 supported claims" in text
    assert "floor" not in text
    tables = {path.name for path in (verified.folder / "results_tables").glob("claims*.csv")}
    assert tables == {"claims.csv", "claims_outcomes.csv", "claims_by_parts.csv"}


@pytest.mark.full
def test_every_part_is_in_the_data_and_the_page_marks_its_quote(verified: Verified):
    lines = [json.loads(line) for line in (verified.folder / "claims.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == sum(map(len, verified.labels.values()))
    assert {line["verdict"] for line in lines} == {"supported", "contradicted", "not_addressed"}
    for name in ("claims.html", "claims.zh.html"):
        page = (verified.folder / name).read_text("utf-8")
        assert page.count('<article class="item"') == len(verified.labels)
        for target in re.findall(r'<a class="part [^"]*" href="#([^"]+)"', page):
            assert f'id="{target}"' in page
        assert "src=" not in page
        assert "http" not in page.partition("<main>")[2].partition("<footer")[0]


@pytest.mark.full
def test_without_the_setting_results_are_what_they_were(verified: Verified, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(verified.folder.parents[2])
    words = ["paths.model_answers=answers.jsonl", "~evaluation.baselines"]
    assert said_by("evaluate", *RECIPE, "evaluation=[en_claims]", *words)
    assert {name: (verified.folder / name).read_bytes() for name in verified.plain} == verified.plain


@pytest.mark.full
def test_a_scorer_without_a_verifier_is_refused(verified: Verified, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(verified.folder.parents[2])
    words = ["paths.model_answers=answers.jsonl", RULE, "evaluation.answer_claims=null"]
    assert main(["evaluate", *RECIPE, *words]) != 0
    assert "evaluation.judges.claims_correctness.verifier" in capsys.readouterr().err
    words += ["~evaluation.judges.claims_correctness"]
    assert main(["evaluate", *RECIPE, *words]) != 0
    assert "nobody reads the claims that this scorer counts" in capsys.readouterr().err


@pytest.mark.full
def test_people_check_a_sample_and_the_pages_say_so(verified: Verified, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(verified.folder.parents[2])
    words = ["evaluate", *RECIPE, RULE, "paths.model_answers=answers.jsonl", "~evaluation.baselines"]
    assert "not audited by people" in said_by(*words)
    with (verified.folder / "claims_to_rate.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len((verified.folder / "claims_to_rate.jsonl").read_text("utf-8").splitlines()) == 36
    for row in rows:
        assert row["claim"] in row["answer"].partition("【")[2]
        sides = {side: row[side].rstrip(".") in row["claim"] for side in ("right", "wrong")}
        row["verdict.1"] = "2" if sides["right"] else "0" if sides["wrong"] else "1"
        row["asserts_wrong.1"] = str(int(sides["wrong"]))
    with Path("rated.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert "36 claims rated by people" in said_by(*words, "paths.claim_ratings=rated.csv")
    audit = json.loads((verified.folder / "results.json").read_text("utf-8"))["claims"]["audit"]
    assert (audit["claims"], audit["raters"], audit["other"]) == (36, 1, 0)
    for page in ("results.html", "claims.html"):
        assert "Checked by people, on 36 claims that 1 rated" in (verified.folder / page).read_text("utf-8")
