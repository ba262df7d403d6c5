"""Every wrong recipe gives one readable message; `expected/` holds the messages, one YAML file per topic.

After a message has changed, `BENCHBUILDER_WRITE_MESSAGES=1 pytest tests/config/messages` writes the messages anew.
Read the difference before you commit it. For a new case, first write its name and `: ""` into the file of its topic.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.config import compose
from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import BenchbuilderError
from benchbuilder.pipeline.check import check_recipe

SECRET = "the-secret-that-must-not-be-printed"
EXPECTED = Path(__file__).parent / "expected"
HEAD = "# Messages of test_wrong_recipes.py, which says how to write them anew.\n"
GARDEN, FLOW = "recipes/recipe/garden.yaml", "recipes/flow/claims.yaml"
MINE, HEADER = "recipes/recipe/mine.yaml", "# @package _global_"

Change = Callable[[Any], object]
CASES: dict[str, tuple[list[str], list[str], Change]] = {}
WARNINGS: set[str] = set()


def case(
    name: str, change: Change = lambda garden: None, words: str = "", recipe: str = "recipe=garden", recipes: str = ""
) -> None:
    assert name not in CASES
    CASES[name] = ([*recipe.split(), *words.split()], recipes.split(), change)


def warning(name: str, change: Change = lambda garden: None, words: str = "", recipe: str = "recipe=garden") -> None:
    case(name, change, words, recipe)
    WARNINGS.add(name)


def swap(old: str, new: str, file: str = GARDEN) -> Change:
    return lambda garden: garden.replace(file, old, new)


def add(text: str, file: str = GARDEN) -> Change:
    return lambda garden: garden.write(file, (garden.folder / file).read_text() + text)


def outside(garden: Any, name: str) -> None:
    """Make `name` beside the plants a link to a file or folder outside the recipes."""
    secret = garden.write("../secret/a.tsv", "head\trelation\ttail\n")
    link = garden.folder / GARDEN[:-5] / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret if link.suffix else secret.parent)


def pipe(garden: Any, name: str) -> None:
    (garden.folder / name).unlink()
    os.mkfifo(garden.folder / name)


def write(file: str, text: str | bytes) -> Change:
    return lambda garden: garden.write(file, text)


# --- keys and values ---------------------------------------------------------------------------------------------
case("key_typo", swap("tone: plain", "tome: plain"))
case("key_of_recipe", words="recipe.language=en")
case("top_level_typo", swap("language: en", "langauge: en"))
case("wrong_type", swap("min_chars: 5", "min_chars: five"))
case("out_of_range", words="retriever.top_k=0")
case("not_one_of", swap("match: exact", "match: exactly"))
case("list_for_mapping", swap("  state:\n    prompt: en/state.j2\n", "  state: [en/state.j2]\n  other:\n"))
case(
    "list_for_steps", write("recipes/variant/garden/listed.yaml", "# @package _global_\nsteps: [a]\n"), "variant=listed"
)
case("scalar_for_list", swap('endings: [".", "!"]', "endings: 3"))
case("mapping_for_path", swap("words: garden/words.txt", "words: {resolved_path: /etc/passwd}"))
case("missing_value", swap("licence: CC0-1.0", "licence: ???"))
case("path_is_null", swap("plants: garden/plants.tsv", "plants: null"))
case("dangling_reference", swap("${paths.plants}", "${paths.plantz}", "recipes/source/plants.yaml"))
case("endless_reference", swap("title: Garden", "title: ${card}"))
case("schema_version", swap("schema: 1", "schema: 2", "recipes/benchbuild.yaml"))
case("bad_name", swap("name: garden", "name: My Garden"))
case("seed_too_long", swap("seed: 7", "seed: " + "1" * 59))
case("seed_below_zero", swap("seed: 7", "seed: -1"))
case("tokens_too_many", add("budget: {tokens: 1.0e30}\n"))
case("tokens_too_long", add("budget: {tokens: " + "1" * 59 + "}\n"))
case("shared_name", add("oak: {kind: topic, from: sources.triple}\nplants: {kind: topic, from: oak}\n", FLOW))
case("many_at_once", lambda g: (swap("min_chars: 5", "min_chars: five\n    tome: x")(g), swap("seed: 7", "seed: x")(g)))

case("list_in_wrong_place", swap("tone: plain", "tone: [plain, very plain]"))
case("long_list", swap("tone: plain", f"tone: {[f'tone {n}' for n in range(30)]}"))
case("mapping_in_wrong_place", swap("tone: plain", "tone: {of: voice, loud: false, pitch: [1, null]}"))
case("list_for_a_kind", write("recipes/variant/garden/listed.yaml", f"{HEADER}\noutputs: {{items: [jsonl]}}\n"),
     "variant=listed")  # fmt: skip

# --- YAML --------------------------------------------------------------------------------------------------------
case("yaml_no", swap("tone: plain", "tone: no"))
case("yaml_language_yes", swap("language: en", "language: yes"))
case("language_unknown", words="language=zz")
case("language_replaced", words="language=iw")
case("language_with_unknown_region", words="language=zh-Hanz-QY")
case("language_as_a_name", words="language=Chinese")
case("yaml_number", swap("tone: plain", "tone: plain\n    version: 1.10"))
case("yaml_time", swap("tone: plain", "tone: 22:30"))
case("yaml_key_no", swap("tone: plain", "no: plain"))
case("key_not_ascii", swap("tone: plain", "语气: plain"))
case("key_with_dot", swap("steps:\n", "steps.state: {}\nsteps:\n"))
case("key_twice", swap("tone: plain", "tone: plain\n    tone: other"))
case("tab", swap("    tone: plain", "\ttone: plain"))
case("colon", swap("tone: plain", "tone: plain: very"))
case("open_bracket", swap('endings: [".", "!"]', 'endings: [".", "!"'))
case("alias", swap("tone: plain", "tone: &a plain\n    version: *a"))
case("python_tag", swap("tone: plain", "tone: !!python/object/apply:os.getcwd []"))
case("not_utf8", write(GARDEN, "name: 花园\n".encode("gb18030")))
case("too_deep", write(GARDEN, "a: " + "[" * 3000 + "\n"))
case("alias_bomb", write(GARDEN, f"{HEADER}\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"))
case("long_number", swap("seed: 7", "seed: 1" + ":00" * 1000))
case("null_byte", write(GARDEN, "name: a\x00b\n"))
case("question_marks_in_braces", write(GARDEN, "card: {licence: ???}\n"))
case("reference_in_braces", write(GARDEN, "card: {licence: ${name}}\n"))
case("reference_bomb", add("requires: {a: '${card}'}\n" + "".join(
    f"b{n}: ['${{b{n + 1}}}', '${{b{n + 1}}}', '${{b{n + 1}}}']\n" for n in range(20)) + "b20: x\n"))  # fmt: skip
case("reference_doubles_a_text", add("requires: {a: '${b0}'}\n" + "".join(
    f"b{n}: ${{b{n + 1}}}${{b{n + 1}}}\n" for n in range(40)) + "b40: x\n"))  # fmt: skip
case("merge_follows_doubling_texts", lambda g: (write("recipes/recipe/chain.yaml", "# @package _global_\n" + "".join(
    f"b{n}: ${{b{n + 1}}}${{b{n + 1}}}\n" for n in range(40)) + "b40: x\n")(g), write(
    "recipes/recipe/tied.yaml", "# @package _global_\ndefaults: [garden, chain, _self_]\nb0: {a: 1}\n")(g)),
    recipe="recipe=tied")  # fmt: skip
case("not_a_mapping", write(GARDEN, "- name\n"))

# --- where recipes are found -------------------------------------------------------------------------------------
case("unknown_recipe", recipe="recipe=gardn")
case("no_recipe", recipe="retriever.top_k=2")
case("recipe_key_typo", recipe="recip=garden")
case("climbing_recipe", recipe="recipe=../../outside/evil")
case("absolute_recipe", recipe="recipe=/etc/passwd")
case("shadowed_recipe", write("../other/recipe/garden.yaml", "name: other\n"), recipes="../other")
case("shadowed_option", write("../other/retriever/bm25.yaml", "kind: bm25\n"), recipes="../other")
case(
    "shadowed_prompt",
    lambda g: (write("../other/prompts/en/state.j2", "x\n")(g), write("../other/recipes/run/x.yaml", "a: 1\n")(g)),
    recipes="../other/recipes",
)
case("no_such_folder", recipes="../nowhere")
case("recipe_is_a_link", lambda g: (g.write("../evil.yaml", "name: evil\n"), (g.folder / GARDEN).unlink(), (
    g.folder / GARDEN).symlink_to(g.folder.parent / "evil.yaml")))  # fmt: skip

case("name_is_inherited", write(MINE, f"{HEADER}\ndefaults: [garden, _self_]\n"), recipe="recipe=mine")
case("name_of_another", write(MINE, f"{HEADER}\ndefaults: [garden, _self_]\nname: other\n"), recipe="recipe=mine")
case("name_of_subfolder", write("recipes/recipe/my/mine.yaml", f"{HEADER}\ndefaults: [/recipe/garden, _self_]\n"),
     recipe="recipe=my/mine")  # fmt: skip
case("name_of_no_file", write("recipes/recipe/my-own.yaml", f"{HEADER}\ndefaults: [garden, _self_]\nname: my_own\n"),
     recipe="recipe=my-own")  # fmt: skip
case("name_by_word", words="name=other")
case("name_by_variant", write("recipes/variant/garden/named.yaml", f"{HEADER}\nname: named\n"), "variant=named")
case("no_package_of_recipe", swap(f"{HEADER}\n", ""))
case("no_package_of_variant", write("recipes/variant/garden/bare.yaml", "# Fewer.\nseed: 3\n"), "variant=bare")
case("no_package_of_source", swap("# @package sources.plants\n", "", "recipes/source/plants.yaml"))
case("no_package_of_flow", swap("# @package steps\n", "", FLOW))
case("package_of_other_source", swap("sources.plants", "sources.plantz", "recipes/source/plants.yaml"))
case("package_below_comment", swap(HEADER, f"# My garden.\n{HEADER}"))
case("package_far_below", swap(HEADER, "\n" * 12 + "# @package hydra.run"))

# --- choices -----------------------------------------------------------------------------------------------------
case("variant_typo", words="variant=strickt")
case("variant_of_other_recipe", words="variant=balcony/strict")
case("unknown_option", words="model=remot")
case("unknown_option_in_file", swap("[plants]", "[plantz]"))
case("renamed_option", words="annotation=files")
case("option_is_a_number", words="retriever=3")
case("choice_in_wrong_place", words="model@steps.stat.model=remote")
case("choice_of_unknown_group", words="modle@steps.state.model=remote")
case("flow_not_chosen", swap("  - override /flow: claims\n", ""))
case("chosen_twice", swap("  - override /flow: claims\n", "  - /model@steps.state.model: none\n"))
case("choice_without_override", swap("  - override /flow", "  - /retriever: wide\n  - override /flow"))
case("sources_without_override", write(MINE, f"{HEADER}\ndefaults: [garden, /source: [quiz, plants], _self_]\n"),
     recipe="recipe=mine")  # fmt: skip
case("choice_without_slash", swap("override /source: [plants]", "source: plants"))
case("override_without_slash", swap("override /source: [plants]", "override source: [plants]"))
case("recipe_chosen_in_recipe", write(MINE, f"{HEADER}\ndefaults:\n  - recipe: garden\n"), recipe="recipe=mine")
case("self_below_override", swap("- _self_", "- self"))
case("self_below_recipe", write(MINE, f"{HEADER}\ndefaults: [garden, _self]\n"), recipe="recipe=mine")
case("override_above_recipe", write(MINE, f"{HEADER}\ndefaults:\n  - override /source: [quiz]\n  - garden\n"),
     recipe="recipe=mine")  # fmt: skip
case("override_order", swap("  - /model@steps.state.model: null\n  - override /flow: claims\n",
                            "  - override /flow: claims\n  - /model@steps.state.model: null\n"))  # fmt: skip
case("defaults_is_a_mapping", write(GARDEN, "# @package _global_\ndefaults: {flow: claims}\n"))
case("circle_of_defaults", lambda g: (
    write("recipes/recipe/balcony.yaml", "# @package _global_\ndefaults: [roof]\n")(g),
    write("recipes/recipe/roof.yaml", "# @package _global_\ndefaults: [balcony]\n")(g),
    swap("  - /model@steps.state.model: null\n", "  - balcony\n")(g)))  # fmt: skip

# --- the command line --------------------------------------------------------------------------------------------
case("override_typo", words="retriver.top_k=2")
case("override_typo_deep", words="retriever.topk=2")
case("override_wrong_type", words="retriever.top_k=many")
case("unquoted_chinese", words="card.title=花园")
case("unreadable_value", words="card.title=(a")
case("quoted_keys", words='card.title={"Mostly":true,"false":1}')
case("signs_in_keys", words='card.title={"Fire!":false}')
case("several_values", words="retriever.top_k=1,2")
case("several_variants", words="variant=[a,b]")
case("a_variant_as_a_list", words="variant=[a]")
case("list_with_spaces", words="source=[plants, quiz]")
case("list_without_commas", words="steps.state.endings=[a b , c]")
case("list_never_closed", words="source=[plants, quiz retriever.top_k=2")
case("spaces_around_sign", words="retriever.top_k = 3")
case("space_before_sign", words="retriever.top_k =3")
case("space_after_sign", words="retriever.top_k= 3")
case("spaces_everywhere", words="source = [plants, quiz]")
case("empty_value", words="run.dir= retriever.top_k=")
case("empty_choice", words="variant=")
case("empty_text_as_folder", words='run.dir=""')
case("chosen_twice_by_words", words="recipe=balcony retriever=wide retriever=wide")
case("hydra_word", words="hydra.searchpath=[/tmp]")
case("no_equals_sign", words="balcony")
case("delete_nothing", words="~steps.stat")
case("null_of_nothing", words="sources.plant=null steps.stat=null outputs.nope=null")
case("sampling_below_a_model", words="model=remote model.temperature=0.3")
case("sampling_of_a_model", words="model=remote model.name=x model.sampling.max_new_tokens=16")
case("sampling_alone", words="temperature=0")
case("key_of_another_place", words="top_k=2")
case("how_many_items", words="items=20")
case("how_many_under_another_name", words="max_items=20")
case("part_taken_out", words="~retriever")
case("sampling_typo_below_a_model", words="model=remote model.name=x model.tempreature=0.3")

# --- kinds and installation --------------------------------------------------------------------------------------
case("unknown_kind", swap("kind: bm25", "kind: bm52", "recipes/retriever/bm25.yaml"))
case("no_kind", write("recipes/retriever/bm25.yaml", "k1: 1.5\ntop_k: 3\n"))
case("kind_does_not_import", swap("{kind: topic,", "{kind: broken,", FLOW))
case("requires_not_installed", add('requires: {benchbuilder-cmhe: ">=0.1,<0.2"}\n'))
case("requires_other_version", add('requires: {pyyaml: "<1"}\n'))

# --- files and prompts -------------------------------------------------------------------------------------------
case("missing_file", swap("garden/words.txt", "garden/wrods.txt"))
case("missing_source", swap("garden/plants.tsv", "garden/plant.tsv"))
case("source_of_wrong_shape", write("recipes/recipe/garden/plants.tsv", "oak;needs;light\n"))
case("missing_prompt", swap("en/state.j2", "en/stat.j2"))
case("prompt_variable", write("prompts/en/state.j2", "{{ head }}\n{{ tial }}\n"))
case("prompt_syntax", write("prompts/en/state.j2", "{{ head }\n"))
case("prompt_calls", write("prompts/en/state.j2", "{{ head.__class__ }} {{ tail() }}\n"))

case("device", words="steps.on_topic.words=/dev/zero")
case("device_as_source", words="paths.plants=/dev/zero")
case("pipe", lambda g: pipe(g, "recipes/recipe/garden/words.txt"))
case("pipe_as_prompt", lambda g: pipe(g, "prompts/en/state.j2"))
case("pipe_as_recipe", lambda g: pipe(g, GARDEN))

# --- what a stranger's recipe may not do -------------------------------------------------------------------------
case("path_leaves_recipes", swap("garden/words.txt", "../../../secret.txt"))
case("absolute_path", swap("garden/words.txt", "/etc/passwd"))
case("home_path", swap("garden/words.txt", "~/.ssh/id_rsa"))
case("absolute_path_by_link", swap("plants: garden/plants.tsv", "plants: /etc/passwd"))
case("prompt_leaves", swap("en/state.j2", "../recipes/recipe/garden/words.txt"))
case("symbolic_link", lambda g: ((g.folder / "recipes/recipe/garden/words.txt").unlink(), (
    g.folder / "recipes/recipe/garden/words.txt").symlink_to("/etc/hosts")))  # fmt: skip
case("address_from_recipe", swap("seed: 7", "seed: 7\nmodel: {kind: remote, name: x, base_url: 'http://evil'}"))
case("secret_name_from_recipe", swap("seed: 7", "seed: 7\nmodel: {kind: remote, name: x, api_key_env: AWS_KEY}"))
case("writes_outside", swap("file: items.jsonl", "file: ../../.bashrc", "recipes/outputs/standard.yaml"))
case("builds_outside", swap("dir: null", "dir: /tmp/evil", "recipes/run/laptop.yaml"))
OUTPUT = "recipes/outputs/standard.yaml"
case("builds_here", swap("dir: null", 'dir: "."', "recipes/run/laptop.yaml"))
case("builds_nowhere", swap("dir: null", 'dir: ""', "recipes/run/laptop.yaml"))
case("builds_all_over_builds", swap("dir: null", "dir: builds/..", "recipes/run/laptop.yaml"))
case("variant_outside", swap("seed: 7", "seed: 7\nvariant: x/../../../home"))
case("output_over_journal", swap("items.jsonl", "Replies.SQLite-wal. ", OUTPUT))
case("output_over_ledger", swap("items.jsonl", "ledger.tsv", OUTPUT))
case("output_over_store", swap("items.jsonl", "store/outputs.json", OUTPUT))
case("output_over_output", add("more: {kind: jsonl, file: Items.JSONL}\n", OUTPUT))
case("output_as_stream", swap("items.jsonl", "'replies.sqlite:x'", OUTPUT))
case("linked_match", lambda g: (outside(g, "sec/a.tsv"), swap("garden/plants.tsv", "garden/sec/*.tsv")(g)))
case("linked_folder_of_matches", lambda g: (outside(g, "sec"), swap("garden/plants.tsv", "garden/s*/*.tsv")(g)))
case("link_behind_a_link", lambda g: (outside(g, "far/a.tsv"), (g.folder / f"{GARDEN[:-5]}/near").mkdir(), (
    g.folder / f"{GARDEN[:-5]}/near/x").symlink_to("../far"), swap("garden/words.txt", "garden/near")(g)))  # fmt: skip
case("on_from_a_path_of_mine", swap("words: garden/words.txt", "words: '${paths.plants}/../../x'"),
     words="paths.plants=mine/plants.tsv")  # fmt: skip
case("judge_outside", add("evaluation: {scorers: {mine: {kind: judged, folder: /etc}}}\n"))
case("target", swap("tone: plain", "_target_: os.system"))
case("hydra_key", add("hydra: {run: {dir: /tmp}}\n"))
case("hydra_package", swap("# @package _global_", "# @package hydra.run"))
case(
    "hydra_default",
    swap("  - override /flow: claims\n", "  - override /flow: claims\n  - override /hydra/launcher: x\n"),
)
case("environment_in_value", swap("title: Garden", "title: '${oc.env:BENCHBUILDER_SECRET}'"))
case("environment_in_defaults", swap("/flow: claims", "/flow: '${oc.env:BENCHBUILDER_SECRET}'"))
case("environment_nested", swap("title: Garden", "title: '${${name}:BENCHBUILDER_SECRET}'"))
case("environment_on_command_line", words="card.title=${oc.env:BENCHBUILDER_SECRET}")
case("climbing_choice", words="flow=../../outside/evil")
case("climbing_default", swap("/flow: claims", "/flow: ../../outside/evil"))
case("climbing_interpolated", swap("name: garden", "name: garden\nevil: ${paths.plants}/../../../x"))

# --- wiring ------------------------------------------------------------------------------------------------------
case("unknown_step", swap("from: on_topic}", "from: on_topik}", FLOW))
case("unknown_source", swap("sources.triple", "sources.tripel", FLOW))
case("source_without_prefix", swap("sources.triple", "plants", FLOW))
case("unwired_port", swap("from: {each: state, fact: on_topic}", "from: state", FLOW))
case("unknown_port", swap("fact: on_topic", "facts: on_topic", FLOW))
case(
    "wrong_payload",
    lambda g: (
        swap("[plants]", "[plants, quiz]")(g),
        swap("{kind: state, from: on_topic}", "{kind: state, from: sources.choice}", FLOW)(g),
    ),
)
case("wrong_role", swap("{kind: review, from: pair}", "{kind: review, from: state}", FLOW))
case(
    "two_sorts_of_rows",
    lambda g: (
        swap("[plants]", "[plants, quiz]")(g),
        swap("from: sources.triple", "from: [sources.triple, sources.choice]", FLOW)(g),
    ),
)
case(
    "not_an_ancestor",
    lambda g: (
        add("aside: {kind: topic, from: sources.triple, words: '${steps.on_topic.words}', match: exact}\n", FLOW)(g),
        swap("fact: on_topic", "fact: aside", FLOW)(g),
    ),
)
case("circle", swap("{kind: topic, from: sources.triple}", "{kind: topic, from: pair}", FLOW))
case("items_unknown", swap("items: items", "items: item"))
case("items_of_other_rows", swap("items: items", "items: pair"))

# --- warnings ----------------------------------------------------------------------------------------------------
warning("language_by_word", words="language=no")
warning("card_is_inherited", write(MINE, f"{HEADER}\ndefaults: [garden, _self_]\nname: mine\ncard: {{title: Mine}}\n"),
        recipe="recipe=mine")  # fmt: skip


def read(topic: Path) -> dict[str, str]:
    return yaml.safe_load(topic.read_text(encoding="utf-8"))


TOPICS = {name: topic for topic in sorted(EXPECTED.glob("*.yaml")) for name in read(topic)}


def agrees(name: str, message: str) -> None:
    """The message of a case is the expected one; with BENCHBUILDER_WRITE_MESSAGES=1 it is first written there."""
    topic = TOPICS[name]
    expected = read(topic)
    if os.environ.get("BENCHBUILDER_WRITE_MESSAGES") == "1" and expected[name] != message:
        expected[name] = message
        blocks = (f"{key}: |\n{textwrap.indent(text, '  ')}" for key, text in expected.items())
        topic.write_text(HEAD + "".join(blocks), encoding="utf-8")
    assert message == expected[name]


@pytest.mark.push
@pytest.mark.parametrize("name", sorted(set(CASES) - WARNINGS))
def test_message(name: str, garden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHBUILDER_SECRET", SECRET)
    if name == "reference_bomb":
        monkeypatch.setattr(compose, "_MOST_NODES", 1000)  # 20,000 take seconds
    words, recipes, change = CASES[name]
    change(garden)
    with pytest.raises(BenchbuilderError) as caught:
        check_recipe(load_recipe(words, recipes=recipes))
    told = str(caught.value).replace(str(garden.folder.parent), "HERE").replace(version("pyyaml"), "INSTALLED") + "\n"
    assert SECRET not in told
    agrees(name, told)
    assert caught.value.exit_code == (3 if told.startswith("sources.") else 2)


@pytest.mark.parametrize("name", sorted(WARNINGS))
def test_warning(name: str, garden: Any) -> None:
    words, recipes, change = CASES[name]
    change(garden)
    told = "".join(f"{warning}\n" for warning in check_recipe(load_recipe(words, recipes=recipes)))
    agrees(name, told)


def test_every_text_belongs_to_a_case() -> None:
    texts = [name for topic in EXPECTED.glob("*.yaml") for name in read(topic)]
    assert sorted(texts) == sorted(CASES)
