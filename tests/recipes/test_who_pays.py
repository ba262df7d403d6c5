"""A recipe from a stranger cannot decide about the user's bill, nor keep a key in its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import bundled_folder
from benchbuilder.config.trust import trusting
from benchbuilder.core.errors import RecipeError
from benchbuilder.pipeline.check import check_recipe

WORDS = ["recipe=theirs", "model=openai", "model.name=m"]
PRICES = "as_of: 2026-01-01\nsource: nowhere\ncurrency: USD\nper_tokens: 1000000\nmodels: {m: {input: 0, output: 0}}\n"


@pytest.fixture
def stranger(tmp_path: Path):
    """Writes a recipe that starts from care_mi and says `extra`; gives its folder."""

    def write(extra: str) -> str:
        folder = tmp_path / "theirs"
        (folder / "recipe").mkdir(parents=True)
        (folder / "zero.yaml").write_text(PRICES, encoding="utf-8")
        text = f"# @package _global_\ndefaults: [care_mi, _self_]\nname: theirs\n{extra}\n"
        (folder / "recipe" / "theirs.yaml").write_text(text, encoding="utf-8")
        return str(folder)

    return write


@pytest.mark.push
@pytest.mark.parametrize(
    ("extra", "key"),
    [
        ("model: {prices: ../zero.yaml}", "model.prices"),
        ("model: {token_counter: ../zero.yaml}", "model.token_counter"),
        ("model: {extra_body: {service_tier: priority}}", "model.extra_body.service_tier"),
        ("steps: {state_choice: {model: {extra_body: {n_best: 3}}}}", "steps.state_choice.model.extra_body.n_best"),
        ("model: {base_url: 'http://evil.example/v1'}", "model.base_url"),
    ],
)
def test_what_decides_about_the_bill_is_the_users(stranger, tmp_path, extra, key):
    with pytest.raises(RecipeError) as told:
        load_recipe(WORDS, recipes=[stranger(extra)], cwd=tmp_path)
    assert key in [problem.key for problem in told.value.problems]


@pytest.mark.full
def test_a_checkout_works_beside_an_installed_wheel(tmp_path):
    """An exact copy of the bundled recipes is the bundled ones; a changed one counts only if it is trusted."""
    shutil.copytree(bundled_folder("recipes"), tmp_path / "recipes")
    shutil.copytree(bundled_folder("prompts"), tmp_path / "prompts")
    prices = Path("prices") / "openai.yaml"
    loaded = load_recipe(["recipe=care_mi", *WORDS[1:]], cwd=tmp_path)
    assert loaded.recipe.model.prices.file == bundled_folder("recipes") / prices
    with (tmp_path / "recipes" / prices).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    with pytest.raises(RecipeError, match="would replace the recipes of the program"):
        load_recipe(["recipe=care_mi", *WORDS[1:]], cwd=tmp_path)
    with trusting([str(tmp_path)]):
        loaded = load_recipe(["recipe=care_mi", *WORDS[1:]], cwd=tmp_path)
    assert loaded.recipe.model.prices.file == tmp_path / "recipes" / prices


@pytest.mark.push
def test_the_user_may_say_all_of_it(stranger, tmp_path):
    folder = stranger("seed: 7")
    words = [f"model.prices={folder}/zero.yaml", "model.extra_body={service_tier: flex}", "budget.usd=1"]
    loaded = load_recipe([*WORDS, *words], recipes=[folder], cwd=tmp_path)
    assert loaded.recipe.model.extra_body == {"service_tier": "flex"}
    assert not [warning for warning in check_recipe(loaded) if warning.key == "budget"]


@pytest.mark.push
def test_a_cap_of_the_recipe_does_not_silence_the_warning(stranger, tmp_path):
    loaded = load_recipe(WORDS, recipes=[stranger("budget: {tokens: 100000000}")], cwd=tmp_path)
    assert [warning for warning in check_recipe(loaded) if warning.key == "budget"]


@pytest.mark.push
@pytest.mark.parametrize(
    "body",
    ["{headers: {Authorization: Bearer-abc}}", "{api_key: abc}", "{a: [{x-api-key: abc}]}", "{client_secret: abc}"],
)
def test_a_key_does_not_hide_in_further_fields(tmp_path, body):
    with pytest.raises(RecipeError) as told:
        load_recipe(["recipe=care_mi", *WORDS[1:], f"model.extra_body={body}"], cwd=tmp_path)
    assert "api_key_env" in str(told.value)
    assert "abc" not in str(told.value)


@pytest.mark.push
@pytest.mark.parametrize("key", ["model.prices", "model.token_counter"])
def test_a_file_that_counts_money_is_read_before_anything_runs(tmp_path, key):
    (tmp_path / "bad").write_text("[", encoding="utf-8")
    loaded = load_recipe(["recipe=care_mi", *WORDS[1:], f"{key}=bad"], cwd=tmp_path)
    with pytest.raises(RecipeError) as told:
        check_recipe(loaded)
    assert key in [problem.key for problem in told.value.problems]
