"""The pages of the rule workbench without a script: try, judge, show the difference, save."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from explorer_browser import ExplorerBrowser
from once import BUILT, Once
from own_rules import write_own_recipe, write_recipe_with_bundled_rules

from benchbuilder.config import bundled_folder, load_recipe
from benchbuilder.core import RecipeError
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.workbench.judged_rows import read_judged
from benchbuilder.explorer.workbench.rule_drafts import RuleDraft
from benchbuilder.explorer.workbench.rule_files import open_rule_file, steps_with_rules
from benchbuilder.explorer.workbench.rule_saving import save_rules

STEP = "/b/own/work/state_choice"
SEAMS, MORE = "  seams: [是, 的,", "  seams: [是, 为, 的,"


class Author:
    """An author at the workbench of a recipe in `folder`."""

    def __init__(self, folder: Path, rules: Path) -> None:
        self.folder, self.rules = folder, rules
        build = BuildFolder("own", folder / "builds" / "own", ("recipe=own",))
        self.browser = ExplorerBrowser(build)

    def post(self, part: str, **fields: str) -> Any:
        address = f"{STEP}/{part}?token={self.browser.site.post_token}"
        return self.browser.client.post(address, data=fields, follow_redirects=True)

    def draft(self, old: str, new: str) -> str:
        text = self.rules.read_text("utf-8")
        assert old in text
        return text.replace(old, new, 1)

    def save(self, page: str, **fields: str) -> Any:
        found = re.search(r'name="shown" value="(\w+)"', page)
        assert found is not None, page
        return self.post("save", shown=found[1], **fields)


@pytest.fixture
def author(once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Author]:
    rules = write_own_recipe(tmp_path)
    rules.write_text(rules.read_text("utf-8").replace(MORE, SEAMS, 1), "utf-8")
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", tmp_path / "builds" / "own")
    monkeypatch.chdir(tmp_path)
    author = Author(tmp_path, rules)
    yield author
    author.browser.site.trials.close()


@pytest.mark.full
def test_rules_are_tried_judged_and_saved_without_a_script(author: Author) -> None:
    assert "state_choice" in author.browser.text("/b/own/work/")
    assert "own_claims.yaml" in author.browser.text(STEP)
    before, draft = author.rules.read_bytes(), author.draft(SEAMS, MORE)
    page = author.post("try", text=draft).text
    assert re.search(r'badge new">new <strong>18<', page)
    assert author.rules.read_bytes() == before, "a trial writes nothing"
    row, made = re.search(r'name="row" value="(\S+)">.*?name="made" value="([^"]+)"', page, re.DOTALL).groups()  # type: ignore[union-attr]
    assert author.post("judge", row=row, judged="good", chosen="drawn", made=unescape(made)).status_code == 200
    (judged,) = read_judged(author.rules.with_name("own_claims_judged.tsv"))
    assert (judged.row, judged.judged, judged.made) == (row, "good", unescape(made))
    difference = author.post("difference", text=draft).text
    lines = [unescape(line) for line in re.findall(r'class="(?:added|removed)">(.*)', difference)]
    assert lines == ["-" + author.draft(SEAMS, SEAMS).split("\n")[5], "+" + draft.split("\n")[5]]
    saved = author.save(difference)
    assert saved.status_code == 200
    assert author.rules.read_text("utf-8") == draft
    assert "benchbuild recipe=own" in saved.text
    assert "of 31 steps" in saved.text or re.search(r"\d+ of \d+ steps run again", saved.text)
    assert "This is a draft" not in author.browser.text(STEP)
    # now what was judged good is lost: saving asks first
    worse = author.draft(MORE, SEAMS)
    difference = author.post("difference", text=worse).text
    assert "that you judged good" in difference
    assert author.save(difference).status_code == 409
    assert author.rules.read_text("utf-8") == draft
    assert author.save(difference, accept="yes").status_code == 200
    assert author.rules.read_text("utf-8") == worse


@pytest.mark.full
def test_a_file_that_changed_meanwhile_is_not_overwritten(author: Author) -> None:
    draft = author.draft(SEAMS, MORE)
    difference = author.post("difference", text=draft).text
    theirs = author.draft("# Chinese rules", "# Their Chinese rules")
    author.rules.write_text(theirs, "utf-8")
    conflict = author.save(difference)
    assert conflict.status_code == 409
    assert "Their Chinese rules" in conflict.text
    assert "是, 为, 的" in conflict.text
    assert author.rules.read_text("utf-8") == theirs
    assert author.post("difference", text=draft).status_code == 409
    mine = author.post("choose", choice="mine").text
    assert "Their Chinese rules" in mine, "what would be replaced is shown"
    assert author.rules.read_text("utf-8") == theirs
    assert author.save(mine).status_code == 200
    assert author.rules.read_text("utf-8") == draft


@pytest.mark.full
def test_a_wrong_draft_is_kept_as_a_draft_and_never_saved(author: Author) -> None:
    before = author.rules.read_bytes()
    wrong = author.draft("  seams: [", "  seam: [")
    page = unescape(author.post("try", text=wrong).text)
    assert "did you mean 'seams'?" in page
    difference = author.post("difference", text=wrong).text
    assert 'name="shown"' not in difference
    assert "seam: [" in author.browser.text(STEP), "the draft is there when one comes back"
    assert author.rules.read_bytes() == before
    author.post("drop", text="")
    assert "seam: [" not in author.browser.text(STEP)


@pytest.mark.full
def test_an_ending_of_a_group_is_added_to_the_draft(author: Author) -> None:
    page = author.post("add", list="seams", entry="为").text
    assert ", 包括, 为]" in page
    page = author.post("try", text=author.draft(", 包括]", ", 包括, 为]")).text
    assert re.search(r'badge new">new <strong>18<', page)
    assert SEAMS in author.rules.read_text("utf-8")
    for name in ("nothing", "not_questions", "joins.ends"):
        assert author.post("add", list=name, entry="x").status_code == 400
    page = author.browser.text(f"{STEP}/rule?place=last&words=为")
    assert '<option value="joins.ends.names.ends">' in page
    page = unescape(author.post("add", list="joins.ends.names.ends", entry="叫做").text)
    assert ", 显示, 叫做,\n" in page, "the list ends with a comma, as before"


@pytest.mark.full
def test_a_negation_for_an_ending_and_a_frame_are_written_by_forms(author: Author) -> None:
    negate = "/b/own/work/negate_choice"
    page = unescape(author.browser.text(f"{negate}/rule?place=last&words=称为"))
    entry = re.search(
        r'name="list" value="seams">.*?name="entry" value="(\{end: 称为, negated: [^"]+\})"', page, re.DOTALL
    )
    assert entry is not None, page
    address = f"{negate}/add?token={author.browser.site.post_token}"
    fields = {"list": "seams", "entry": "{end: 称为, negated: 不称为}"}
    page = author.browser.client.post(address, data=fields, follow_redirects=True).text
    assert "- {end: 称为, negated: 不称为}" in unescape(page)
    page = unescape(author.browser.text(f"{STEP}/rule?place=last&words=为"))
    assert 'name="match" value="(?i)(?P<head>.*)为"' in page
    frame = {"key": "frames", "name": "added", "match": "(?P<head>.*)为", "write": "{head}为{answer}", "before": ""}
    page = unescape(author.post("frame", **frame).text)
    assert "  frames:\n    added: {match: '(?P<head>.*)为', write: '{head}为{answer}'}\n  seams: [" in page
    later = unescape(author.post("frame", **{**frame, "name": "first", "before": "added"}).text)
    assert re.search(r"frames:\n    first: .*\n    added: ", later)
    assert author.post("frame", **frame).status_code == 400, "the name is taken"
    assert author.post("frame", **{**frame, "name": "Not a name"}).status_code == 400
    assert author.post("frame", **{**frame, "key": "seams"}).status_code == 400
    text = re.search(r'dir="ltr" data-line="\d+">\n(.*?)</textarea>', unescape(later), re.DOTALL)
    assert text is not None
    tried = unescape(author.post("try", text=text[1]).text)
    assert re.search(r'badge new">new <strong>\d', tried)
    assert 'role="alert" class="card bench-fault" hidden' in tried


@pytest.mark.full
def test_bundled_rules_are_tried_and_never_written(once: Once) -> None:
    folder = once.after(BUILT) / "builds" / "care_mi"
    rules = bundled_folder("recipes") / "rules" / "zh_claims.yaml"
    before = rules.read_bytes()
    browser = ExplorerBrowser(BuildFolder("care_mi", folder.resolve(), ("recipe=care_mi",)))
    page = browser.text("/b/care_mi/work/state_choice")
    assert "benchbuild new my_care_mi --from care_mi" in page
    token = browser.site.post_token
    for part in ("judge", "save"):
        address = f"/b/care_mi/work/state_choice/{part}?token={token}"
        answer = browser.client.post(address, data={"row": "x", "judged": "good", "made": "x", "shown": "x"})
        assert answer.status_code >= 400
    assert rules.read_bytes() == before
    assert not rules.with_name("zh_claims_judged.tsv").exists()
    assert not (folder / "workbench").exists()
    browser.site.trials.close()


@pytest.mark.full
def test_the_first_save_of_bundled_rules_copies_them_to_where_they_win(
    once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = write_recipe_with_bundled_rules(tmp_path)
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", tmp_path / "builds" / "own")
    monkeypatch.chdir(tmp_path)
    bundled, copy = bundled_folder("recipes") / "rules" / "zh_claims.yaml", recipes / "rules" / "own_zh_claims.yaml"
    before = bundled.read_bytes()
    author = Author(tmp_path, bundled)
    draft = author.draft(MORE, "  seams: [是, 的,")
    page = author.post("try", text=draft).text
    assert "recipes/rules/own_zh_claims.yaml, where your recipe uses them" in page
    row, made = re.search(r'name="row" value="(\S+)">.*?name="made" value="([^"]+)"', page, re.DOTALL).groups()  # type: ignore[union-attr]
    assert author.post("judge", row=row, judged="good", chosen="drawn", made=unescape(made)).status_code == 200
    assert not copy.exists()
    difference = author.post("difference", text=draft).text
    assert "Saving copies them to recipes/rules/own_zh_claims.yaml" in difference
    assert author.save(difference).status_code == 200
    assert (copy.read_text("utf-8"), bundled.read_bytes()) == (draft, before)
    assert [judged.row for judged in read_judged(copy.with_name("own_zh_claims_judged.tsv"))] == [row]
    loaded = load_recipe(["recipe=own"])
    assert steps_with_rules(loaded)["state_choice"] == copy
    assert "为" not in loaded.recipe.steps["state_choice"].seams  # type: ignore[attr-defined]
    page = author.post("try", text=draft).text
    assert "1 judged row" in page, "judgements of before are beside the copy"
    assert "where your recipe uses them" not in page
    author.browser.site.trials.close()


@pytest.mark.full
def test_tables_that_rules_name_are_copied_too_and_a_failed_save_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = write_recipe_with_bundled_rules(tmp_path, "medicine_en")
    monkeypatch.chdir(tmp_path)
    loaded = load_recipe(["recipe=own"])
    file = open_rule_file(loaded, "state_choice")
    assert (file.home, file.path.name) == (recipes / "rules" / "own_en_claims.yaml", "en_claims.yaml")
    draft = RuleDraft(str(file.path), file.digest, file.text, file.text.replace("{end: ' is',", "{end: 3,", 1))
    with pytest.raises(RecipeError):
        save_rules(loaded, file, draft, tmp_path / "build", ())
    assert [path for path in (recipes / "rules").rglob("*") if path.is_file()] == []
    saved = save_rules(loaded, file, replace(draft, text=f"{file.text}# own\n"), tmp_path / "build", ())
    assert saved.file == "recipes/rules/own_en_claims.yaml"
    again = load_recipe(["recipe=own"])
    assert {ref.file.parent for _, ref in again.files if ref.file.name == "verbs.tsv"} == {recipes / "rules" / "en"}
    assert open_rule_file(again, "state_choice").home == recipes / "rules" / "own_en_claims.yaml"


@pytest.mark.push
def test_read_only_has_no_route_that_writes(once: Once) -> None:
    folder = once.after(BUILT) / "builds" / "care_mi"
    reader = ExplorerBrowser(BuildFolder("own", folder, ("recipe=care_mi",)), read_only=True)
    token = reader.site.post_token
    for part in ("try", "judge", "add", "difference", "save", "choose", "drop"):
        assert reader.client.post(f"{STEP}/{part}?token={token}", data={"text": "x"}).status_code == 404
    assert reader.get("/b/own/work/").status_code == 404
    assert "/work/" not in reader.text("/keys")
    known = ExplorerBrowser(BuildFolder("own", folder))
    assert "/work/state_choice" in known.text("/b/own/work/"), "the command of the build says its recipe"


def test_a_build_of_an_unknown_command_says_how_to_open_it(tmp_path: Path) -> None:
    (tmp_path / "store" / "steps").mkdir(parents=True)
    bare = ExplorerBrowser(BuildFolder("own", tmp_path))
    assert "benchbuild view recipe=NAME" in bare.text("/b/own/work/")
    assert bare.get(STEP).status_code == 404


@pytest.mark.push
def test_a_form_of_another_page_is_refused(author: Author) -> None:
    client = author.browser.client
    before = author.rules.read_bytes()
    for part in ("try", "judge", "save", "drop"):
        assert client.post(f"{STEP}/{part}", data={"text": "x"}).status_code == 403
        assert client.post(f"{STEP}/{part}?token=wrong", data={"text": "x"}).status_code == 403
        elsewhere = {"sec-fetch-site": "cross-site"}
        address = f"{STEP}/{part}?token={author.browser.site.post_token}"
        assert client.post(address, data={"text": "x"}, headers=elsewhere).status_code == 403
    assert author.rules.read_bytes() == before
    assert not (author.folder / "builds" / "own" / "workbench").exists()
