"""What `check` says of a copy: what is left over of its original, each with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from clone_world import CARD, NEW, fill, run

from benchbuilder.authoring.clone.text_lines import StemFinder, TermFinder, read_text_lines
from benchbuilder.core import ScriptCounts
from benchbuilder.core.errors import DataError

ENGLISH = "question,A,B,C,D,answer\nWhich vitamin prevents scurvy?,Vitamin A,Vitamin C,Vitamin D,Vitamin K,B\n"


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run("check", *words) == code
    return capsys.readouterr().out


def warning(text: str, message: str) -> str:
    """The one warning that begins so."""
    found = [
        part for part in re.split(r"(?m)^(?=warning: |\w+: \d+ sources)", text) if message in part.partition("\n")[0]
    ]
    assert len(found) == 1, f"{len(found)} times {message!r} in\n{text}"
    return found[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
def test_everything_that_is_open_is_listed_at_once_with_what_is_left_over(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*NEW)
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    out, err = capsys.readouterr()
    for key in CARD:
        assert f"- card.{key}: a value must be given here (`???`)" in err
    assert "- sources.questions.path: a value must be given here" in err
    assert re.search(r"at: +recipes/recipe/nutrition\.yaml:\d+", err)
    assert "at:      recipes/recipe/nutrition/words.txt:1" in warning(out, "the word list is still that of care_mi")


@pytest.mark.full
def test_an_unfilled_copy_with_the_sources_of_its_original_names_their_paths(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("new", "nutrition", "--from", "care_mi")
    text = (here / "recipes/recipe/nutrition.yaml").read_text()
    assert "  medqa: ???\n" in text
    assert "  votes: null\n" in text
    assert run("check", "recipe=nutrition") == 2
    assert "- paths.medqa: a value must be given here" in capsys.readouterr().err


@pytest.mark.full
def test_terms_of_the_old_field_are_found_until_they_are_gone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    fill(here)
    text = told(capsys, "recipe=nutrition")
    assert "at:      prompts/nutrition/ask_oe.pairs.yaml:2" in text
    pairs = here / "prompts/nutrition/ask_oe.pairs.yaml"
    pairs.write_text("- {statement: 缺碘会引起甲状腺肿大。, answer: 甲状腺肿大, question: 缺碘会引起什么？}\n")
    assert "prompts/nutrition/ask_oe.pairs.yaml" not in told(capsys, "recipe=nutrition")


@pytest.mark.full
def test_a_term_that_is_in_the_new_list_too_is_no_leftover(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    fill(here)
    assert "早孕" not in told(capsys, "recipe=nutrition")  # it stands in examples of prompts only, which nobody is sent
    assert "recipes/verdicts/nutrition_zh.yaml" in told(capsys, "recipe=nutrition")
    words = here / "recipes/recipe/nutrition/words.txt"
    words.write_text(words.read_text() + "新生儿\n")
    assert "recipes/verdicts/nutrition_zh.yaml" not in told(capsys, "recipe=nutrition")


@pytest.mark.full
def test_another_language(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW, "--language", "en")
    recipe = fill(here)
    (here / "recipes/recipe/nutrition/questions.csv").write_text(ENGLISH)
    (here / "recipes/recipe/nutrition/book.txt").write_text("Vitamin C prevents scurvy.\n")
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    assert "- tokenizer: one must be chosen here (`???`)" in capsys.readouterr().err
    recipe.write_text(recipe.read_text().replace('/tokenizer: "???"', "/tokenizer: whitespace"))
    text = told(capsys, "recipe=nutrition")
    rules = [part for part in text.split("warning: ") if part.startswith("rules in another language")]
    assert [re.search(r"at: +(\S+):\d+", part)[1] for part in rules] == [  # pyright: ignore[reportOptionalSubscript]
        "recipes/rules/nutrition_claims.yaml", "recipes/rules/nutrition_preparation.yaml",
    ]  # fmt: skip
    prompt = warning(text, "the prompt qa2d.j2 is in another language than the recipe")
    examples = (here / "prompts/nutrition/examples.yaml").read_text().splitlines()
    assert f"at:      prompts/nutrition/examples.yaml:{examples.index('qa2d:') + 1}\n" in prompt
    assert "found:   zh" in prompt
    script = [part for part in text.split("warning: ") if "in another script than the sources" in part]
    assert any("at:      prompts/nutrition/qa2d.j2:1\n" in part and "found:   cjk" in part for part in script)
    assert any("at:      recipes/questions/nutrition_claims.yaml:" in part for part in script)


@pytest.mark.full
def test_a_prompt_may_speak_of_texts_in_another_language(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW, "--language", "yue")
    recipe = fill(here)
    recipe.write_text(recipe.read_text().replace('/tokenizer: "???"', "/tokenizer: jieba"))
    examples = here / "prompts/nutrition/examples.yaml"
    assert re.search(r"(?m)^qa2d:\n  language: zh #", examples.read_text())
    assert "the prompt qa2d.j2 is in another language" in told(capsys, "recipe=nutrition")
    examples.write_text(examples.read_text().replace("qa2d:\n", "qa2d:\n  about: yue\n"))
    text = told(capsys, "recipe=nutrition")
    assert "the prompt qa2d.j2 is in another language" not in text
    assert "the prompt ask_tf.j2 is in another language" in text


@pytest.mark.full
def test_relations_without_a_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW, "--source", "facts:triples")
    recipe = fill(here)
    folder = here / "recipes/recipe/nutrition"
    (folder / "facts.tsv").write_text(
        "head\trelation\ttail\n维生素\t缺乏症\t坏血病\n碘\t含于\t海带\n碘\t含于\t紫菜\n膳食纤维\t别名\t粗粮纤维\n"
    )
    text = recipe.read_text()
    for name in ("head", "relation", "tail"):
        text = text.replace(f"      {name}: ???", f"      {name}: {name}")
    head, _, tail = text.partition("  facts:\n")
    recipe.write_text(f"{head}  facts:\n{tail.replace('path: nutrition/book.txt', 'path: nutrition/facts.tsv')}")
    columns = "relation\tstatement\tnegated\ttf\toe\tanswer_end\n"
    row = "缺乏症\t缺乏{head}会引起{tail}。\t缺乏{head}不会引起{tail}。\t缺乏{head}会引起{tail}吗？\t\ttail\n"
    (folder / "relations_cpubmed.tsv").write_text(columns + row)
    found = warning(told(capsys, "recipe=nutrition"), "of the relations in the sources, 2 without a sentence")
    assert re.search(r"at: +\S*facts\.tsv:3", found)
    assert "含于 (2 times, first in " in found
    assert "relations_cpubmed.tsv:1" in found


@pytest.mark.full
def test_what_still_is_the_original_s(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    recipe = fill(here)
    record = json.loads((here / "recipes/recipe/nutrition/origin.json").read_text())
    title = record["card"]["title"]
    recipe.write_text(recipe.read_text().replace("title: 营养", f"title: {title}").replace(
        "override /source: []", "override /source: [medqa]").replace("nutrition_sheets", "app_zh_law"))  # fmt: skip
    place = Path(__file__).parents[3] / "recipes/recipe/care_mi/sample/medqa"
    text = told(capsys, "recipe=nutrition", f"paths.medqa={place}")
    assert "card.title" in warning(text, "still what care_mi says")
    assert "care_mi/sample/medqa" in warning(text, "still data that came with care_mi")
    assert "questions/nutrition_zh_law.yaml" in warning(text, "questions/zh_law is not yours")
    assert "annotation/app is not yours" not in text, "it asks about any field"


@pytest.mark.push
def test_a_recipe_that_is_no_copy_has_nothing_left_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "warning" not in told(capsys, "recipe=care_mi")


@pytest.mark.full
def test_a_broken_record_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    (here / "recipes/recipe/nutrition/origin.json").write_text("{")
    assert run("check", "recipe=nutrition") == DataError.exit_code
    assert "the record of the origin of this recipe cannot be read" in capsys.readouterr().err


def test_terms_in_scripts_with_spaces_are_whole_words() -> None:
    terms = TermFinder(["arm", "Vitamin C", "ไข่", "乳"])
    assert terms.find_terms("Farms harm; vitamin c, กินไข่แล้ว") == {"Vitamin C", "ไข่"}
    assert terms.find_terms("an ARM") == {"arm"}


BROKEN = {"colon": "title: Nutrition: facts", "tab": "\tlanguage: zh", "quote": "stop: '."}


@pytest.mark.push
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("place", [
    "recipes/recipe/nutrition.yaml", "recipes/rules/nutrition_claims.yaml", "recipes/questions/nutrition_claims.yaml",
])  # fmt: skip
def test_broken_yaml_is_told_by_its_place(
    broken: str, place: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*NEW)
    file = here / place
    file.write_text(f"{file.read_text()}\n{BROKEN[broken]}\n")
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    assert re.search(rf"at: +{place}:\d+", capsys.readouterr().err)


@pytest.mark.full
def test_broken_pairs_of_a_prompt_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    fill(here)
    file = here / "prompts/nutrition/qa2d.pairs.yaml"
    file.write_text(f"{file.read_text()}\n- a: b: c\n")
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    assert "prompts/nutrition/qa2d.pairs.yaml" in capsys.readouterr().err


@pytest.mark.push
def test_items_without_a_source_are_found_without_a_build(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW)
    recipe = fill(here)
    recipe.write_text(recipe.read_text().replace("kind: multiple_choice", "kind: several_choice"))
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    err = capsys.readouterr().err
    assert "- items: no rows of the chosen sources reach the items" in err
    assert re.search(r"at: +recipes/recipe/nutrition\.yaml:\d+", err)
    assert "found:   sources.questions of `fact[several_choice]`, sources.book of `passage`" in err
    assert "hint:    the steps read sources.triple, sources.passage, sources.choice" in err


@pytest.mark.full
def test_an_open_tokenizer_hides_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*NEW, "--language", "en")
    line = next(n for n, text in enumerate((here / "recipes/recipe/nutrition.yaml").read_text().splitlines(), start=1)
                if '/tokenizer: "???"' in text)  # fmt: skip
    capsys.readouterr()
    assert run("check", "recipe=nutrition") == 2
    err = capsys.readouterr().err
    assert f"- tokenizer: one must be chosen here (`???`)\n    at:      recipes/recipe/nutrition.yaml:{line}\n" in err
    assert "- card.title: a value must be given here" in err
    assert "- sources.questions.columns.answer_key: a value must be given here" in err


def test_what_is_marked_and_what_is_no_text_is_no_leftover(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("kind: best_evidence\nlabel: Fill in the cells # keep\nframe: 'it is {sign}'\nunits: '[αβγδ]'\n")
    texts = [text for _, text in read_text_lines(file)]
    assert TermFinder(["evidence", "cells", "sign"]).find_terms(" ".join(texts)) == set()
    assert StemFinder("medicine_en").find_words("A careful editor of Medical text, remedied") == {"medical"}
    assert StemFinder("law_zh").find_words("law and lawyers") == set()
    assert StemFinder("claims_en", ["claims"]).find_words("kind: claims") == set()
    few = ScriptCounts(["[αβγδ]", "a pattern of units in a file of rules that is long enough " * 2])
    assert few.proportion("GREEK") < 0.05


@pytest.mark.full
def test_words_are_looked_for_by_the_rule_of_the_step(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole words in questions, as the build does it: neither plurals nor paragraphs count."""
    run("new", "nutrition", "--from", "medicine_en", "--source", "questions:multiple_choice", "--source", "book:corpus")
    recipe = fill(here, old="medicine_en")
    data = recipe.with_suffix("")
    (data / "questions.csv").write_text(ENGLISH)
    (data / "book.txt").write_text("Ketones stand in paragraphs only, and so does choline, which counts for nothing.\n")
    (data / "words.txt").write_text("vitamin c\nvitami\ncholine\nscurvy\n")
    found = warning(told(capsys, "recipe=nutrition"), "words of the list match nothing")
    assert "2 of the 4 words" in found
    assert "vitami (line 2), choline (line 3)" in found
    assert "a plural is a word of its own" in found


@pytest.mark.full
def test_a_build_names_the_recipe_that_a_list_was_copied_from(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of another field are off topic by a list that nobody has written anew; the setting named keeps them."""
    run("new", "planets", "--from", "medicine_en", "--source", "questions:multiple_choice", "--source", "book:corpus")
    words = (here / "recipes/recipe/planets/words.txt").read_bytes()
    data = fill(here, "planets", old="medicine_en").with_suffix("")
    (data / "words.txt").write_bytes(words)
    (data / "questions.csv").write_text(
        "question,A,B,C,D,answer\nWhich planet is the reddest?,Mars,Venus,Earth,Pluto,A\n"
    )
    command = ["recipe=planets", "annotation=none", "run.dir=b"]
    capsys.readouterr()
    run(*command)
    told_once = " ".join(capsys.readouterr().out.split())
    found = re.search(r"warning: 1 of 1 rows of questions are off topic by \S+, a list copied from medicine_en and not "
                      r"changed\. .*?(steps\.\w+\.words=null) keeps every row", told_once)  # fmt: skip
    assert found is not None, told_once
    run(*command, found[1])
    assert "rows of questions are off topic" not in " ".join(capsys.readouterr().out.split())
