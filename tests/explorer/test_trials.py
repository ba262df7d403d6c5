"""What a draft of rules makes, compared with what a build makes of the saved file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from once import BUILT, Once
from own_rules import write_own_recipe
from trial_rows import unequal_rows

from benchbuilder.config import load_recipe
from benchbuilder.core import DataError, RecipeError
from benchbuilder.explorer.workbench.drafts import read_draft
from benchbuilder.explorer.workbench.rule_files import files_of_steps, open_rule_file, steps_with_rules
from benchbuilder.explorer.workbench.trial_bench import TrialBench
from benchbuilder.explorer.workbench.trial_process import BenchSettings, TrialProcess
from benchbuilder.explorer.workbench.trials import RuleTrial, TrialRequest

SEAMS = "  seams: [是, 的,"


@pytest.fixture(scope="module")
def own(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe of the user's own, and the build of the bundled sample under its name."""
    folder = tmp_path_factory.mktemp("own")
    rules = write_own_recipe(folder)
    rules.write_text(rules.read_text("utf-8").replace("  seams: [是, 为, 的,", SEAMS, 1), "utf-8")
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", folder / "builds" / "own")
    return folder


@pytest.fixture(scope="module")
def trial(own: Path) -> RuleTrial:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(own)
        bench = TrialBench(["recipe=own"], [], own / "builds" / "own", "state_choice")
    return RuleTrial(bench, lambda _: None)


@pytest.mark.full
def test_a_trial_of_the_saved_rules_equals_the_build_row_by_row(once: Once) -> None:
    folder = once.after(BUILT) / "builds" / "care_mi"
    steps = list(steps_with_rules(load_recipe(["recipe=care_mi"])))
    assert {"state_choice", "negate_choice", "ask_oe_choice", "replace_choice"} <= {*steps}
    tried = {step: unequal_rows(["recipe=care_mi"], folder, step) for step in steps}
    assert {step: rows for step, (_, rows) in tried.items() if rows} == {}
    assert all(count for count, _ in tried.values())


@pytest.mark.push
def test_an_ending_makes_new_rows_and_says_what_later_steps_make_of_them(trial: RuleTrial) -> None:
    saved = trial.run(TrialRequest(1, trial.file.text, whole=True))
    assert (saved.groups[0].place, saved.groups[0].words, saved.groups[0].count) == ("last", "为", 18)
    result = trial.run(TrialRequest(2, trial.file.text.replace(SEAMS, "  seams: [是, 为, 的,"), whole=True))
    assert result.counts == {"new": 18, "changed": 0, "lost": 0, "moved": 0, "asked": 0}
    assert result.made == result.made_before + 18 == saved.made + 18
    assert all(each.after.rule == "seam: 为" for each in result.listed["new"])
    later = {step.step: step for step in result.later}
    assert later["replace_choice"].rows == 18
    assert later["negate_choice"].rows == 18 + later["replace_choice"].kept
    for step in later.values():
        assert step.kept + sum(count for _, _, count in step.lost) >= step.rows
    assert {each.row for each in result.to_judge} <= {each.row for each in result.listed["new"]}
    assert result.changed == ("state_choice.seams",)


@pytest.mark.push
def test_an_ending_that_is_taken_away_loses_rows_with_their_cause(trial: RuleTrial) -> None:
    result = trial.run(TrialRequest(1, trial.file.text.replace(SEAMS, "  seams: [的,"), whole=True))
    assert result.counts["new"] == 0
    assert result.counts["lost"] > 70
    assert {each.after.cause for each in result.listed["lost"]} == {"needs_model: no seam fits"}
    assert result.groups[0].words.endswith("是")


@pytest.mark.push
def test_a_row_that_only_fails_for_another_cause_is_moved(trial: RuleTrial) -> None:
    text = trial.file.text.replace(SEAMS, "  seams: [是, 怎样处理, 的,")
    result = trial.run(TrialRequest(1, text, whole=True))
    assert result.counts["new"] == 0
    assert result.counts["moved"] == 2
    assert all("question refused" in each.after.cause for each in result.listed["moved"])


@pytest.mark.push
def test_a_key_that_links_to_a_changed_one_changes_too(trial: RuleTrial) -> None:
    text = trial.file.text
    entry = next(line for line in text.splitlines() if line.startswith("  negations: ["))
    draft = read_draft(trial.file, text.replace(entry, "  negations: [zzz]", 1), trial.bench.loaded)
    changed = [name for name, spec in draft.specs.items() if getattr(spec, "negations", ()) == ("zzz",)]
    assert len(changed) > 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  negations: [", "  negations: ['${steps.state_choice.stop}', "),
        ("  prompt: zh/qa2d.j2", "  prompt: zh/negate.j2"),
        ("  openers: ${steps.state_choice.openers}", "  openers: ${steps.state_choice.labels}"),
        ("  seams: [是, 的,", "  seams: [是, 的, 为,"),
    ],
)
def test_a_draft_gives_the_specs_that_a_saved_file_gives(own: Path, trial: RuleTrial, old: str, new: str) -> None:
    """Links, prompts and files need the whole recipe; other values do not."""
    text = trial.file.text.replace(old, new, 1)
    assert text != trial.file.text
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(own)
        tried = read_draft(trial.file, text, trial.bench.loaded).specs
        before = trial.bench.loaded.recipe.steps
        trial.file.path.write_text(text, "utf-8")
        try:
            saved = load_recipe(["recipe=own"]).recipe.steps
        finally:
            trial.file.path.write_text(trial.file.text, "utf-8")
    assert {name: spec for name, spec in saved.items() if spec != before[name]} == tried
    assert tried


@pytest.mark.push
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  seams: [", "  seam: [", "did you mean 'seams'?"),
        ("'几(?![乎何内丁])'", "'几((?![乎何内丁])'", "is not a regular expression"),
        ("\nstate_choice:\n", "\nstate_choice: 3\nother:\n", "a mapping"),
    ],
)
def test_a_wrong_draft_is_explained_with_its_line(trial: RuleTrial, old: str, new: str, told: str) -> None:
    text = trial.file.text.replace(old, new, 1)
    assert text != trial.file.text
    with pytest.raises(RecipeError) as caught:
        trial.run(TrialRequest(1, text, whole=False))
    assert told in str(caught.value)
    assert "own_claims.yaml:" in str(caught.value)


@pytest.mark.push
def test_a_yaml_error_is_explained_with_its_line(trial: RuleTrial) -> None:
    text = trial.file.text.replace("包括]", "包括", 1)
    with pytest.raises(RecipeError, match="bracket") as caught:
        trial.run(TrialRequest(1, text, whole=False))
    assert caught.value.problems[0].where.rpartition(":")[2].isdigit()


@pytest.mark.push
def test_frames_that_decide_no_row_are_unused_or_hidden(trial: RuleTrial) -> None:
    frames = (
        "  frames:\n    all: {match: '(?P<q>.*)', answers: [], write: '{q}即{answer}'}\n"
        "    never: {match: 'zzz', write: '{answer}'}\n    behind: {match: '(?P<q>.*)是', write: '{q}是{answer}'}\n"
    )
    text = trial.file.text.replace("  seams: [", frames + "  seams: [", 1)
    result = trial.run(TrialRequest(1, text, whole=True))
    states = {each.rule: each.state for each in result.yields}
    assert states["never"] == "unused"
    assert states["behind"] == "hidden"
    assert states["all"] == ""


@pytest.mark.full
def test_a_trial_process_stops_a_pattern_that_runs_away_and_names_it(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own)
    process = TrialProcess(BenchSettings(("recipe=own",), (), own / "builds" / "own", "state_choice"))
    text = (own / "recipes" / "rules" / "own_claims.yaml").read_text("utf-8")
    try:
        first = process.try_draft(text, whole=True)
        assert first is not None
        assert first.counts == {"new": 0, "changed": 0, "lost": 0, "moved": 0, "asked": 0}
        with pytest.raises(DataError) as caught:
            process.try_draft(text.replace("'什么|哪|", "'(?:(?:.|[^0])+)+0z|什么|哪|", 1), whole=True)
        assert "(?:(?:.|[^0])+)+0z" in str(caught.value)
        again = process.try_draft(text, whole=False)
        assert again is not None
    finally:
        process.close()


@pytest.mark.full
def test_a_process_that_hangs_is_ended_and_starts_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    process = TrialProcess(BenchSettings(("recipe=own",), (), own / "builds" / "own", "state_choice"), longest_s=0.5)
    text = (own / "recipes" / "rules" / "own_claims.yaml").read_text("utf-8")
    try:
        assert process.try_draft(text, whole=True) is not None
        with pytest.raises(DataError, match="take longer than"):
            process.try_draft(text.replace("'什么|哪|", "'(?:(?:.|[^0])+)+0z|什么|哪|", 1), whole=True)
        assert process.try_draft(text, whole=True) is not None
    finally:
        process.close()


@pytest.mark.full
def test_a_step_with_rules_in_two_files_opens_either() -> None:
    loaded = load_recipe(["recipe=law_zh"])
    assert [file.stem for file in files_of_steps(loaded)["state_choice"]] == ["zh_claims", "zh_law"]
    first, second = open_rule_file(loaded, "state_choice"), open_rule_file(loaded, "state_choice", "zh_law")
    assert (first.path.stem, second.path.stem) == ("zh_claims", "zh_law")
    assert first.judged == second.judged, "a step has one set of judged rows"
    draft = read_draft(second, second.text.replace("构成, 侵犯了, ", "侵犯了, ", 1), loaded)
    assert draft.changed == ("state_choice.joins.ends.law.ends",)
    assert "构成" not in draft.specs["state_choice"].joins.ends["law"].ends  # type: ignore[attr-defined]
    with pytest.raises(RecipeError, match="has no rules of the step"):
        open_rule_file(loaded, "state_choice", "zh_options")


@pytest.mark.push
def test_a_step_without_rows_says_why(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    with pytest.raises(DataError, match="no rows reach"):
        TrialBench(["recipe=own", "source=[medqa]"], [], own / "builds" / "own", "negate_triple")
    with pytest.raises(DataError, match="not built yet"):
        TrialBench(["recipe=own"], [], own / "builds" / "none", "state_choice")
