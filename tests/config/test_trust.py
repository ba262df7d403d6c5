"""Who may set what: every restricted key from every place; `docs/explanation/safety.md` has the same table."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.cli.dispatch import main
from benchbuilder.config import search_path
from benchbuilder.config.load import load_recipe
from benchbuilder.config.trust import TRUST_FILE, trust_always, trusted_folders, trusting
from benchbuilder.core.errors import RecipeError

ROOT = Path(__file__).parents[2]
KEYS = {
    "addresses of services": ("model.base_url=http://evil/v1", "evaluation.models.m.base_url=http://evil/v1"),
    "names of secrets and databases": ("model.api_key_env=HOME", "annotation.database_env=HOME"),
    "prices, token counters, `extra_body`": (
        "model.prices=prices.yaml", "model.extra_body.n_more=9", "model.token_counter=t.json",
        "steps.state.model.prices=prices.yaml", "evaluation.models.m.extra_body.n_more=9",
        "tasks.t.evaluation.models.m.prices=prices.yaml",
    ),
    "address and storage of a cluster": (
        "run.executor.address=ray://evil:1", "run.executor.storage_options.x=1", "model.address=ray://evil:1",
        "evaluation.models.m.address=ray://evil:1", "steps.state.model.inner.address=ray://evil:1",
    ),
    "paths that are absolute or lead out": (
        "paths.plants=/etc/passwd", "steps.on_topic.words=../../../x.txt", "outputs.items.file=/tmp/x",
        "tasks.t.evaluation.dir=/tmp/x", "run.dir=builds/first/evaluation", "release.dir=/tmp/x",
    ),
}  # fmt: skip
PLACES = {
    "the program, an installed package": True,
    "your command line": True,
    "your configuration": True,
    "a folder that you trust": True,
    "`--recipes`": False,
    "`./recipes`, also `local`": False,
}
REFUSED = ("a recipe ca", "this path leads out")


@pytest.fixture
def world(garden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The garden's recipes as those of the program, and an empty working folder."""
    (garden.folder / "recipes").rename(tmp_path / "program-recipes")

    def bundled(name: str) -> Path:
        return tmp_path / f"program-{name}"

    monkeypatch.setattr(search_path, "bundled_folder", bundled)
    return garden


def as_file(text: str, base: str = "garden") -> str:
    """An override as a recipe file."""
    key, _, value = text.partition("=")
    head = f"# @package _global_\ndefaults: [{base}, _self_]\nname: mine\n" if base else "# @package _global_\n"
    parts = key.split(".")
    lines = [f"{'  ' * depth}{part}:" for depth, part in enumerate(parts)]
    return head + "\n".join(lines) + f" {value!r}\n"


def refused(world: Any, text: str, place: str) -> bool:
    """Whether `text` is refused from `place`."""
    words, recipes, trust = ["recipe=mine"], list[str](), nullcontext()
    folder = {"the program": "../program-recipes", "a folder": "../other", "`--recipes`": "../other"}
    where = next((found for name, found in folder.items() if place.startswith(name)), "recipes")
    given = as_file("seed=1") if place.startswith("your") else as_file(text)
    world.write(f"{where}/recipe/mine.yaml", given)
    if where == "../other":
        recipes = ["../other"]
    if place == "a folder that you trust":
        trust = trusting(["../other"])
    if place == "your configuration":
        world.write("../config/benchbuilder/user/default.yaml", as_file(text, ""))
    if place == "your command line":
        words.append(text)
    with trust:
        try:
            load_recipe(words, recipes=recipes)
        except RecipeError as error:
            found = [problem for problem in error.problems if problem.message.startswith(REFUSED)]
            assert all("trust" in problem.hint for problem in found)
            return bool(found)
    return False


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", [text for texts in KEYS.values() for text in texts])
def test_only_the_user_decides(world: Any, text: str, place: str) -> None:
    assert refused(world, text, place) is not PLACES[place]


def test_the_page_shows_the_same_table() -> None:
    marks = " | ".join("yes" if allowed else "no" for allowed in PLACES.values())
    rows = [f"| | {' | '.join(PLACES)} |", "| --- |" + " --- |" * len(PLACES)]
    rows += [f"| {name} | {marks} |" for name in KEYS]
    assert "\n".join(rows) in (ROOT / "docs/explanation/safety.md").read_text("utf-8")


@pytest.mark.parametrize("brought", ["recipes/local/default.yaml", "recipes/user/default.yaml"])
def test_a_working_folder_cannot_bring_the_user_s_settings(world: Any, brought: str) -> None:
    world.write(brought, "# @package _global_\nmodel: {base_url: 'http://evil/v1'}\n")
    with pytest.raises(RecipeError, match="cannot set addresses") as caught:
        load_recipe(["recipe=garden", "model=remote"])
    folder = "recipes/local" if "local" in brought else "recipes"
    assert f"add `--trust {folder}`, or give `benchbuild trust {folder}` once" in str(caught.value)
    with trusting([folder]):
        assert load_recipe(["recipe=garden", "model=remote"]).recipe.model.base_url == "http://evil/v1"


@pytest.mark.parametrize("where", ["recipes", "../other"])
def test_an_untrusted_folder_does_not_replace_the_program_s_recipes(world: Any, where: str) -> None:
    world.write(f"{where}/benchbuild.yaml", "schema: 1\n")
    with pytest.raises(RecipeError, match="would replace the recipes of the program") as caught:
        load_recipe(["recipe=garden"], recipes=[where])
    assert "work in a folder of your own" in str(caught.value)
    with trusting([where]), pytest.raises(RecipeError, match="this key is missing"):
        load_recipe(["recipe=garden"], recipes=[where])


USER = """# @package _global_
model: {timeout_s: 5, base_url: 'http://mine/v1'}
annotation: {database_env: MY_DATABASE}
"""


@pytest.mark.push
@pytest.mark.parametrize(
    "text",
    [
        "evil: {extra_body: {n_more: 9}}\nmodel: ${evil}\n",
        "evil: {api_key_env: HOME}\nmodel: ${evil}\n",
        "model: {api_key_env: '${annotation.database_env}'}\n",
        "model: {api_key_env: '${oc.select:card.doi,HOME}'}\n",
        "model: {prices: '${paths.mine}/theirs.yaml'}\n",
    ],
)
def test_a_recipe_cannot_borrow_trust(world: Any, text: str) -> None:
    """Values that are merged with the user's, linked to the user's, or follow from a missing value of the program."""
    program = world.folder.parent / "program-recipes"
    world.write(str(program / "recipe/base.yaml"), as_file("card.doi=???").replace("'???'", "???"))
    own = USER + f"paths: {{mine: {world.folder.parent}}}\n"
    world.write("../config/benchbuilder/user/default.yaml", own)
    world.write("../other/recipe/mine.yaml", f"# @package _global_\ndefaults: [base, _self_]\nname: mine\n{text}")
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=mine"], recipes=["../other"])
    keys = {problem.key for problem in caught.value.problems if problem.message.startswith(REFUSED)}
    assert keys & {"model.extra_body.n_more", "model.api_key_env", "model.prices"}


# --- what the user says ----------------------------------------------------------------------------------------------


def test_a_line_of_the_user_s_configuration_trusts_a_folder(world: Any, capsys: Any) -> None:
    world.write("recipes/recipe/mine.yaml", as_file("model.base_url=http://mine/v1"))
    assert main(["trust", "recipes"]) == 0
    assert main(["trust", "recipes"]) == 0
    assert str(world.folder / "recipes") in capsys.readouterr().out
    file = world.folder.parent / "config/benchbuilder" / TRUST_FILE
    assert file.read_text() == f"{world.folder / 'recipes'}\n"
    assert load_recipe(["recipe=mine", "model=remote"]).recipe.model.base_url == "http://mine/v1"


def test_the_file_of_trusted_folders(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = tmp_path / "benchbuilder" / TRUST_FILE
    assert trusted_folders(env) == ()
    file.parent.mkdir()
    file.write_text(f"# mine\n\n  {tmp_path}/a b  \n{tmp_path}/gone")
    assert trusted_folders(env) == (tmp_path / "a b", tmp_path / "gone")
    trust_always(str(tmp_path), env)
    assert trusted_folders(env)[-1] == tmp_path
    file.write_text("recipes\n")
    with pytest.raises(RecipeError, match="absolute path") as caught:
        trusted_folders(env)
    assert caught.value.problems[0].where == f"{file}:1"


@pytest.mark.parametrize("text", ["", "no-such-folder"])
def test_a_folder_to_trust_exists(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match="does not exist"), trusting([text]):
        pass


def test_workers_do_not_import_from_the_working_folder(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new interpreter would first look for ``multiprocessing`` in the current folder."""
    monkeypatch.setenv("PYTHONSAFEPATH", "0")
    monkeypatch.delenv("PYTHONSAFEPATH")
    monkeypatch.setattr("sys.argv", ["benchbuild", "trust"])
    handler = signal.getsignal(signal.SIGINT)
    try:
        assert main() == 0
    finally:  # it has Ctrl-C end the process at once
        signal.signal(signal.SIGINT, handler)
    world.write("multiprocessing.py", "raise RuntimeError('code of the folder')\n")
    code = "import multiprocessing; print(multiprocessing.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(world.folder) not in done.stdout


@pytest.mark.full
def test_a_copy_of_a_recipe_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert main(["new", "mine", "--from", "care_mi", "--also", "model/openai"]) == 0
    assert main(["check", "recipe=mine", "model=mine_openai", "model.name=gpt-4o-mini"]) == 2
    told = capsys.readouterr().err
    assert "model.prices: a recipe cannot set the costs of a model" in told
    assert "add `--trust recipes`, or give `benchbuild trust recipes` once" in told
    assert main(["check", "recipe=mine", "model=mine_openai", "model.name=gpt-4o-mini", "--trust", "recipes"]) == 2
    assert "costs of a model" not in capsys.readouterr().err
