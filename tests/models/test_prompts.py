from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from benchbuilder.core import registry
from benchbuilder.core.errors import RecipeError
from benchbuilder.models import prompts
from benchbuilder.steps.writer import REPAIR_VARIABLES

ROOT = Path(__file__).parents[2] / "prompts"
NAMES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.j2"))
STEP_OF = {"qa2d": "state_choice", "negate": "negate", "ask_tf": "ask_tf", "ask_oe": "ask_oe"}
JUDGES = {"judge_correctness": "prompted", "judge_interpretability": "prompted", "judge_tuned": "openai_finetuned"}
LANGUAGES = ("zh", "en")
EXPOSURE = ("canary", "completion", "options", "paraphrase", "quiz")


def prompt(text: str) -> prompts.Prompt:
    return prompts.Prompt(name="zh/x.j2", file=Path("zh/x.j2"), source=text)


def example_of(name: str) -> dict[str, Any]:
    """The example in `examples.yaml` of the prompt's folder."""
    path = ROOT / name
    return _examples(path.parent)[path.stem]


@cache
def _examples(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "examples.yaml").read_text("utf-8"))


def pairs_of(name: str) -> list[dict[str, str]]:
    file = ROOT / name.replace(".j2", ".pairs.yaml")
    return prompts.read_few_shot_pairs(file) if file.is_file() else []


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_prompt_renders_as_its_example_says(name):
    found = prompts.find_prompt(name, [ROOT])
    example = example_of(name)
    rendered = prompts.render_prompt(found, {**example["variables"], "pairs": pairs_of(name)})
    assert rendered == example["rendered"].rstrip("\n")
    assert "reviewed_by" in example


def test_every_example_belongs_to_a_prompt():
    for file in ROOT.rglob("examples.yaml"):
        for name in yaml.safe_load(file.read_text("utf-8")):
            assert file.with_name(f"{name}.j2").is_file(), f"{file}: {name}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "kind"), STEP_OF.items())
def test_bundled_prompts_use_only_what_their_step_gives(name, kind, language):
    given = {*registry.find_kind("step", kind).load().prompt_variables, "pairs"}
    assert prompts.check_prompt(prompts.find_prompt(f"{language}/{name}.j2", [ROOT]), given) == []
    assert prompts.check_prompt(prompts.find_prompt(f"{language}/writer.system.j2", [ROOT]), given) == []
    assert (
        prompts.check_prompt(prompts.find_prompt(f"{language}/repair.j2", [ROOT]), given | set(REPAIR_VARIABLES)) == []
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["", ".alone", ".repair", ".system"])
def test_prompts_about_claims_use_only_what_their_step_gives(part, language):
    given = {*registry.find_kind("step", "read_claims").load().prompt_variables}
    given |= set(REPAIR_VARIABLES) if part == ".repair" else set()
    assert prompts.check_prompt(prompts.find_prompt(f"{language}/read_claims{part}.j2", [ROOT]), given) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["", ".check", ".system"])
def test_prompts_about_wrong_answers_use_only_what_their_step_gives(part, language):
    given = {*registry.find_kind("step", "wrong_answers").load().prompt_variables}
    found = prompts.find_prompt(f"{language}/wrong{part}.j2", [ROOT])
    assert prompts.check_prompt(found, given) == []
    assert part == "" or "answer" not in prompts.used_variables(found)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "kind"), JUDGES.items())
def test_prompts_of_judges_use_only_what_their_kind_gives_and_close_every_tag(name, kind, language):
    given = registry.find_kind("judge", kind).load().prompt_variables
    system = "judge_tuned.system" if kind == "openai_finetuned" else "judge.system"
    found = prompts.find_prompt(f"{language}/{name}.j2", [ROOT])
    assert prompts.check_prompt(found, set(given)) == []
    assert prompts.check_prompt(prompts.find_prompt(f"{language}/{system}.j2", [ROOT]), set(given)) == []
    assert (
        prompts.check_prompt(
            prompts.find_prompt(f"{language}/judge_repair.j2", [ROOT]), set(given) | set(REPAIR_VARIABLES)
        )
        == []
    )
    assert {"question", "answer", "evidence"} <= prompts.used_variables(found)
    for tag in ("question", "reference", "answer"):
        assert found.source.count(f"\n<{tag}>\n") == found.source.count(f"\n</{tag}>\n") == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_prompt_and_enough_pairs(language):
    names = {name.removeprefix(f"{language}/") for name in NAMES if name.startswith(language)}
    judges = {f"{name}.j2" for name in (*JUDGES, "judge_decoder", "judge_repair", "judge.system", "judge_tuned.system")}
    exposure = {f"exposure_{name}.j2" for name in EXPOSURE}
    assert names - judges - exposure == {
        *(f"{name}.j2" for name in STEP_OF),
        "repair.j2",
        "writer.system.j2",
        *("translate_term.j2", "translate_fact.j2", "translate_fact.repair.j2"),
        *(f"read_claims{part}.j2" for part in ("", ".alone", ".repair", ".system")),
        *(f"verify_claims{part}.j2" for part in ("", ".repair", ".system")),
        "confirm_claims.j2",
        "false_claims.j2",
        *(f"wrong{part}.j2" for part in ("", ".check", ".system")),
    }
    assert judges <= names
    assert exposure <= names
    sizes = {name: len(pairs_of(f"{language}/{name}.j2")) for name in STEP_OF}
    assert sizes["qa2d"] >= 14
    assert sizes["negate"] >= 8
    assert min(sizes.values()) >= 5


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", STEP_OF)
def test_pairs_agree_with_themselves(name, language):
    """The answer stands in the statement and not in a question about it; a negation keeps it; no pair occurs twice."""
    pairs = pairs_of(f"{language}/{name}.j2")
    assert len({tuple(pair.items()) for pair in pairs}) == len(pairs)
    for pair in pairs:
        answer = pair.get("answer", "")
        assert answer in pair["statement"], pair
        assert answer in pair.get("negated", pair["statement"]), pair
        assert not (name in ("qa2d", "ask_oe") and answer in pair["question"]), pair


def test_a_prompt_shows_its_examples_only_where_there_are_some():
    for language, word in (("zh", "示例"), ("en", "Example")):
        for name in STEP_OF:
            values = dict.fromkeys(("context", "question", "answer", "statement"), "甲")
            found = prompts.find_prompt(f"{language}/{name}.j2", [ROOT])
            used = {key: value for key, value in values.items() if key in prompts.used_variables(found)}
            assert word in prompts.render_prompt(found, {**used, "pairs": pairs_of(f"{language}/{name}.j2")})
            assert word not in prompts.render_prompt(found, {**used, "pairs": []})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_statement_without_an_answer_can_be_negated(language):
    found = prompts.find_prompt(f"{language}/negate.j2", [ROOT])
    text = prompts.render_prompt(found, {"statement": "甲。", "answer": "", "pairs": []})
    assert "“”" not in text
    assert '""' not in text
    assert "2. " in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b", "are a list"),
        ("[]", "are a list"),
        ("- 甲", "no mapping of strings"),
        ("- {a: 1}", "no mapping of strings"),
        ("- {a: b}\n- {c: d}", "pair 2 has other keys"),
        ("- [", "cannot be read"),
        ("- !!python/object/apply:os.getcwd []", "cannot be read"),
    ],
)
def test_wrong_pairs_are_refused(tmp_path, text, message):
    file = tmp_path / "x.pairs.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=message):
        prompts.read_few_shot_pairs(file)


def test_unknown_variables_are_found_with_their_line_before_any_call():
    [problem] = prompts.check_prompt(prompt("问：{{ question }}\n答：{{ anwser }}\n"), {"question": "", "answer": ""})
    assert problem.actual == "anwser"
    assert problem.where.endswith("x.j2:2")
    assert problem.allowed == "answer, question"


def test_names_used():
    used = prompts.used_variables(
        prompt("{% for o in options %}{{ o.text }}{{ loop.index }}{% endfor %}{{ question }}")
    )
    assert used == {"options", "question"}


def test_loops_see_only_their_counters():
    with pytest.raises(RecipeError):
        prompts.render_prompt(prompt("{% for o in a %}{{ loop.cycle }}{% endfor %}"), {"a": ["x"]})


def test_syntax_errors_have_a_line():
    [problem] = prompts.check_prompt(prompt("a\n{% if x %}\nb"), ["x"])
    assert problem.where.endswith((":2", ":3"))


def test_loops_conditions_and_plain_data_work():
    text = "{% for o in options %}{{ loop.index }}.{{ o.text }};{% endfor %}{% if n is defined and n > 1 %}{{ n }}{% endif %}"  # noqa: E501
    assert prompts.render_prompt(prompt(text), {"options": [{"text": "甲"}, {"text": "乙"}], "n": 2}) == "1.甲;2.乙;2"


def test_text_is_not_escaped_and_braces_in_values_mean_nothing():
    assert prompts.render_prompt(prompt("{{ a }}"), {"a": "<b> {{ 7 * 7 }} {% raw %}"}) == "<b> {{ 7 * 7 }} {% raw %}"


class Loot(BaseModel):
    a: str = "x"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value", [Loot(), {"deep": [Loot()]}, (1, 2), {1: "a"}, Text("a"), object(), print, {"a": b"x"}, None, {"s": {1}}]
)
def test_only_plain_data_goes_in(value):
    with pytest.raises(TypeError, match="a prompt sees"):
        prompts.render_prompt(prompt("{{ a }}"), {"a": value})


@pytest.mark.parametrize(
    "text",
    [
        "{{ a.parse_raw('x', proto='pickle') }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ a['__class__']() }}",
        "{{ a.__class__ }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ lipsum() }}",
        "{{ self._TemplateReference__context }}",
        "{{ 'a' * 10**9 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{% for i in range(1000000000) %}a{% endfor %}",
        "{% for i in a %}{% for j in a %}{% for k in a %}{% endfor %}{% endfor %}{% endfor %}",
        "{% set x = 'aaaa' %}{% set x = x ~ x %}{{ x }}",
        "{{ a|replace('a', 'aaaaaaaaaa') }}",
        "{{ a|attr('__class__') }}",
        "{{ a|map('upper') }}",
        "{{ a|center(1000000000) }}",
        "{% include '../secret.j2' %}",
        "{% include 'zh/other.j2' %}",
        "{% import 'zh/other.j2' as o %}",
        "{% extends 'zh/other.j2' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_exploits_are_refused_before_anything_is_rendered(text):
    assert prompts.check_prompt(prompt(text), ["a"])
    with pytest.raises(RecipeError):
        prompts.render_prompt(prompt(text), {"a": "aaaa"})


def test_methods_and_attributes_of_plain_data_are_out_of_reach():
    for text in ("{{ a.format }}", "{{ a.upper }}", "{{ d.items }}", "{{ d.missing }}"):
        with pytest.raises(RecipeError, match="cannot be filled"):
            prompts.render_prompt(prompt(text), {"a": "x", "d": {"k": "v"}})


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in s %}{% for b in s %}{% endfor %}{% endfor %}",
        "{% for a in [" + "1," * 4000 + "] %}{% for b in [" + "1," * 4000 + "] %}{% endfor %}{% endfor %}",
        "{% if s %}" * 150 + "x" + "{% endif %}" * 150,
        "{{ " + "(" * 3000 + "s" + ")" * 3000 + " }}",
        "{{ " + "not " * 3000 + "s }}",
        "{{ s" + "|upper|lower" * 1000 + " }}",
        "{{ s" + "[0]" * 2000 + " }}",
        "{{ " + "s if s else " * 2000 + "s }}",
        "{% for a in s %}{% endfor %}" * 2000,
        "{% for a in 3 %}{% endfor %}",
    ],
)
def test_a_prompt_ends(text: str) -> None:
    with pytest.raises(RecipeError):
        prompts.render_prompt(prompt(text), {"s": "x" * 50_000})


def test_slow_loops_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MAX_RENDER_S", 0.05)
    slow = "{% for a in s %}{% if (s" + "|upper|lower" * 20 + ") == 'x' %}1{% endif %}{% endfor %}"
    with pytest.raises(RecipeError, match="take more than"):
        prompts.render_prompt(prompt(slow), {"s": "x" * 50_000})


def test_output_is_capped():
    big = ["x" * 1000] * 1000
    with pytest.raises(RecipeError, match="too long"):
        prompts.render_prompt(prompt("{% for b in a %}{{ b }}{% endfor %}"), {"a": big})
    with pytest.raises(RecipeError, match="join makes more"):
        prompts.render_prompt(prompt("{{ a|join }}"), {"a": big})
    with pytest.raises(RecipeError, match="join works on lists"):
        prompts.render_prompt(prompt("{{ s|join(s)|join(s) }}"), {"s": "abc"})


def test_prompts_stay_inside_their_folders(tmp_path):
    root = tmp_path / "prompts"
    root.mkdir()
    secret = tmp_path / "secret.j2"
    secret.write_text("secret")
    (root / "link.j2").symlink_to(secret)
    for name in ("../secret.j2", str(secret), "link.j2"):
        with pytest.raises(RecipeError, match="lies outside"):
            prompts.find_prompt(name, [root])
    with pytest.raises(RecipeError, match="no such prompt"):
        prompts.find_prompt("zh/nothing.j2", [root])


def test_the_first_folder_that_has_it_wins(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "two" / "a.j2").write_text("two")
    assert prompts.find_prompt("a.j2", [tmp_path / "one", tmp_path / "two"]).source == "two"
