"""`new NAME --source kg:triples=FILE`: a benchmark from a file of triples, without a single edit."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.authoring.starter.layout import propose_layout
from benchbuilder.authoring.starter.sample import UnclearLayoutError
from benchbuilder.cli.dispatch import main

DEPARTMENTS = {"呼吸内科": ("肺炎", "哮喘", "矽肺"), "皮肤科": ("湿疹", "痤疮", "疥疮")}
SIX = "".join(f"{head}\t就诊科室\t{tail}\n" for tail, heads in DEPARTMENTS.items() for head in heads)
DRUGS = [
    f"{first}{last}"
    for first in ("ato", "bari", "celo", "dumi", "esta")
    for last in ("pril", "zole", "mab", "cillin", "tidine")
]
CLASSES = ("blocker", "opioid", "antibiotic", "diuretic", "hormone")
EFFECTS = (
    ("nausea", "rash", "headache", "fatigue"), ("cough", "fever", "thirst", "cramps"),
    ("ataxia", "pallor", "hiccups", "tremor"), ("vertigo", "insomnia", "oedema", "jaundice"),
    ("dry mouth", "anaemia", "deafness", "alopecia"),
)  # fmt: skip
"""Those of each class of drugs."""


def english() -> str:
    """150 triples about drugs that do not exist."""
    rows = ["head\trelation\ttail"]
    for n, drug in enumerate(DRUGS):
        rows += [
            f"{drug}\tdrug class\t{CLASSES[n % 5]}",
            f"{drug}\tfirst sold in\t{('Norway', 'Peru', 'Japan')[n % 3]}",
        ]
        rows += [f"{drug}\thas_side_effect\t{EFFECTS[n % 5][(n // 5 + m) % 4]}" for m in range(3)]
        rows.append(f"{drug}\thalf life\t{n + 2} {('hours', 'h', 'days')[n % 3]}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def new(here: Path, text: str, *more: str, file: str = "kg.tsv") -> dict[str, Any]:
    """The recipe that `new` writes for a file with this text."""
    (here / file).write_text(text, encoding="utf-8")
    assert main(["new", "mykg", "--source", f"kg:triples={file}", *more]) == 0
    return yaml.safe_load((here / "recipes/recipe/mykg.yaml").read_text(encoding="utf-8"))


def items(here: Path, *overrides: str) -> list[dict[str, Any]]:
    assert main(["recipe=mykg", *overrides]) == 0
    lines = (here / "builds/mykg/items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.push
def test_six_triples_without_a_header_become_eighteen_items(here: Path) -> None:
    recipe = new(here, SIX)
    assert recipe["language"] == "zh"
    assert recipe["sources"]["kg"]["columns"] == {"head": 0, "relation": 1, "tail": 2}
    made = items(here)
    assert sorted(item["type"] for item in made) == ["oe"] * 6 + ["tf"] * 12
    assert {item["question"] for item in made} >= {"肺炎的就诊科室是什么？", "疥疮的就诊科室是什么？"}


@pytest.mark.push
def test_english_triples_build_and_side_effects_are_open(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = new(here, english())
    said = capsys.readouterr().out
    assert said.count("no false statements about ") == 1
    assert ": has_side_effect (open), half life (ranges); write those" in said
    assert recipe["language"] == "en"
    lists = recipe["steps"]["swap_triple"]["relations"]
    assert lists == {
        "functional": ["drug class", "first sold in"],
        "open": ["has_side_effect"],
        "ranges": ["half life"],
    }
    table = (here / "recipes/recipe/mykg/relations.tsv").read_text(encoding="utf-8")
    assert "# open: has_side_effect (75 triples, by its name: atopril → nausea; " in table
    assert "\nhas_side_effect\t{tail} is a side effect of {head}.\t" in table
    made = items(here)
    assert len(made) > 20
    names = ("drug class", "first sold in", "side effect", "half life")
    asked = {(name, item["form"]) for item in made for name in names if f"The {name} of" in item["question"]}
    assert asked <= {(name, form) for name in names[:2] for form in ("statement", "plain")}
    sets = [item for item in made if item["form"] == "set"]
    assert sets
    assert all(item["question"].startswith("What are the side effects of ") for item in sets)
    assert {"open_set"} <= {tag for item in sets for tag in item["tags"]}
    assert all(item["question"][0].isupper() for item in made)
    capsys.readouterr()
    assert main(["check", "recipe=mykg"]) == 0
    assert "relations that the recipe does not list" not in capsys.readouterr().out


@pytest.mark.push
def test_spellings_of_one_relation_are_read_as_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spellings = (
        "quarried at",
        "quarried at",
        "Quarried At",
        " QUARRIED_AT",
        "cut (by hand)",
        "Cut (by hand)",
        "colour",
    )
    text = "".join(f"stone {n}\t{spellings[n % 7]}\tplace {n % 5}\n" for n in range(35))
    recipe = new(here, f"head\trelation\ttail\n{text}", "--language", "en")
    said = capsys.readouterr().out
    assert (
        "kg: each relation is read in its most frequent spelling: quarried at (Quarried At, QUARRIED_AT); cut (by "
        in said
    )
    assert [rule["put"] for rule in recipe["sources"]["kg"]["clean"]["relation"]] == ["quarried at", "cut (by hand)"]
    table = (here / "recipes/recipe/mykg/relations.tsv").read_text(encoding="utf-8")
    rows = [line.partition("\t")[0] for line in table.splitlines() if not line.startswith("#")]
    assert rows == ["relation", "quarried at", "cut (by hand)", "colour"]
    assert "quarried at (20 triples, " in table
    items(here)  # each rule changes a record


def test_names_that_no_rule_understands_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"stone {n}\t{name}\tx{n % 3}\n" for n in range(9) for name in ("kept in", "weighed against one of"))
    new(here, f"head\trelation\ttail\n{text}", "--language", "en")
    said = capsys.readouterr().out
    assert (
        "no rule makes good sentences of these names, so that theirs only quote them: weighed against one of; " in said
    )
    table = (here / "recipes/recipe/mykg/relations.tsv").read_text(encoding="utf-8")
    assert "\nkept in\t{head} is kept in {tail}.\t{head} is not kept in {tail}." in table
    assert "\tThe relation “{relation}” holds from {head} to {tail}.\t" in table


@pytest.mark.full
def test_a_graph_of_names_that_share_characters_ends_in_a_setting_that_works(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"{first}{last}" for first in ("青苔", "红枫") for last in "茶汤粥酒饼膏"]
    places = [f"{first}{last}" for first in ("青云", "红云") for last in "谷山湖"]
    new(here, "头\t关系\t尾\n" + "".join(f"{name}\t产地\t{places[n % 6]}\n" for n, name in enumerate(names)))
    capsys.readouterr()
    assert main(["recipe=mykg"]) == 3
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    assert last.startswith("swap_triple loses the facts to ")
    (setting,) = [word for word in shlex.split(last) if word.startswith("steps.swap_triple.relations.functional=")]
    assert setting.endswith('=["产地"]')
    told = int(last.partition(setting)[2].removeprefix("' (").partition(" more")[0])
    assert len({item["family"] for item in items(here, setting)}) == told / 2 == 6


@pytest.mark.full
def test_languages_without_rules_of_their_own_build_too(here: Path) -> None:
    recipe = new(here, english(), "--language", "fr")
    assert recipe["steps"]["ask_tf_triple"]["false_form"] == "« {statement} » Est-ce vrai ?"
    questions = [item["question"] for item in items(here) if item["type"] == "tf"]
    assert questions
    assert all(question.startswith("« Pour ") and question.endswith(" » Est-ce vrai ?") for question in questions)


def test_a_language_without_sentences_has_one_row_to_write(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new(here, english(), "--language", "zu")
    table = (here / "recipes/recipe/mykg/relations.tsv").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if not line.startswith("#")]
    assert rows[1:] == ["*\t???\t???\t???\t\ttail"]
    assert main(["check", "recipe=mykg"]) == 2
    assert "a sentence must be written in place of ???\n    at:      relations.tsv:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("relation", "tail", "language"),
    [("síntoma", "tos", "es"), ("effet indésirable", "toux", "fr"), ("symptom", "cough", "en"), ("症状", "咳嗽", "zh"),
     ("लक्षण", "खाँसी", "hi"), ("أعراض", "سعال", "ar"), ("しょうじょう", "せき", "ja"), ("colour", "red", "en")],
)  # fmt: skip
def test_the_language_is_told_by_the_relations(
    here: Path, capsys: pytest.CaptureFixture[str], relation: str, tail: str, language: str
) -> None:
    text = "head\trelation\ttail\n" + "".join(f"x{n}\t{relation}\t{tail}\n" for n in range(5))
    assert new(here, text)["language"] == language
    assert "no language was named, and the triples seem to be in this one" in capsys.readouterr().out


LAYOUTS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("typed.tsv", "head\thead_type\trelation\ttail\ttail_type\nflu\tillness\tsign\tcough\tx\nflu\til\tsign\tache\tx\n",
     {"head": "head", "relation": "relation", "tail": "tail", "head_type": "head_type", "tail_type": "tail_type"}, {}),
    ("marked.tsv", "head\trelation\ttail\n流感@@疾病\t症状\t咳嗽@@症状\n麻疹@@疾病\t症状\t皮疹@@症状\n",
     {"head": "head", "relation": "relation", "tail": "tail"}, {"type_separator": "@@"}),
    ("chinese.csv", "头实体,关系,尾实体\n流感,症状,咳嗽\n麻疹,症状,皮疹\n",
     {"head": "头实体", "relation": "关系", "tail": "尾实体"}, {}),
    ("shape.csv", "wort,mehr,art\n" + "".join(f"Ding {n},Teil {n},hat\n" for n in range(9)),
     {"head": "wort", "relation": "art", "tail": "mehr"}, {}),
    ("bare.tsv", SIX, {"head": 0, "relation": 1, "tail": 2}, {"header": False, "width": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "columns", "settings"), LAYOUTS, ids=[name for name, *_ in LAYOUTS])
def test_columns_of_triples_are_told(
    tmp_path: Path, name: str, text: str, columns: dict[str, Any], settings: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    layout = propose_layout(tmp_path / name, "triples")
    assert (dict(layout.columns), dict(layout.settings)) == (columns, settings)


def test_columns_that_could_all_be_the_relation_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("uno,dos,tres\n" + "".join(f"a{n},b{n},c{n}\n" for n in range(9)), encoding="utf-8")
    with pytest.raises(UnclearLayoutError):
        propose_layout(tmp_path / "a.csv", "triples")


def test_a_form_without_a_file_says_what_is_open(here: Path) -> None:
    assert main(["new", "mykg", "--language", "en", "--source", "kg:triples"]) == 0
    recipe = yaml.safe_load((here / "recipes/recipe/mykg.yaml").read_text(encoding="utf-8"))
    assert recipe["sources"]["kg"]["path"] == "???"
    assert recipe["card"]["licence"] == "???"
    assert "\n*\tThe {relation} of {head} is" in (here / "recipes/recipe/mykg/relations.tsv").read_text(
        encoding="utf-8"
    )


def test_without_a_file_of_triples_a_language_is_needed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "mykg", "--source", "kg:triples"]) == 2
    assert "missing: a language" in capsys.readouterr().err
