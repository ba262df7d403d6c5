"""No command follows a link of whoever made the working folder, as far as it writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from once import BUILT, EVALUATED, Once
from patience import patience

from benchbuilder.cli.dispatch import main

BUILD = "builds/care_mi"
LED_OUT = [
    ("builds", "build recipe=care_mi"),
    ("builds", "evaluate --quote recipe=care_mi"),
    ("builds", "analyse recipe=care_mi"),
    ("builds", "audit recipe=care_mi"),
    ("builds", "scorecard recipe=care_mi"),
    ("builds", "results recipe=care_mi"),
    ("builds", "judge report recipe=care_mi"),
    ("builds", "word-list show recipe=care_mi"),
    ("builds", "stem-shapes recipe=care_mi"),
    ("builds", "people invite wang --role annotator recipe=care_mi annotation=app"),
    (f"{BUILD}/analysis", "analyse recipe=care_mi"),
    (f"{BUILD}/audit", "audit recipe=care_mi"),
    (f"{BUILD}/judges", "judge train recipe=care_mi"),
    (f"{BUILD}/annotation", "people invite wang --role annotator recipe=care_mi annotation=app"),
    (f"{BUILD}/run.jsonl", "build recipe=care_mi"),
    ("exports", "export recipe=care_mi to=plain"),
    ("exports/care_mi", "export recipe=care_mi to=plain"),
    ("exports/care_mi/plain/data", "export recipe=care_mi to=plain"),
    ("releases", "release recipe=care_mi version=1.0.0 --despite trial"),
    ("recipes", "new own --from care_mi"),
    ("recipes/recipe", "new own --from care_mi"),
    ("prompts", "new own --from care_mi"),
    ("sweeps", "sweep recipe=care_mi retriever.top_k=1,2 --output sweeps"),
]
BEFORE_A_CHANGE_LANDS = ("builds/care_mi/annotation", "exports/care_mi/plain/data", "prompts")


@pytest.mark.parametrize(
    ("link", "words"),
    [
        pytest.param(*case, marks=pytest.mark.push if case[0] in BEFORE_A_CHANGE_LANDS else pytest.mark.full)
        for case in LED_OUT
    ],
)
def test_a_link_out_of_the_working_folder_is_refused_before_anything_is_written(
    once: Once,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    link: str,
    words: str,
) -> None:
    here, outside = once.copied(EVALUATED, tmp_path / "here"), tmp_path / "outside"
    place = here / link
    place.parent.mkdir(parents=True, exist_ok=True)
    if "exports/care_mi/plain" in link:  # an export was there before
        (place.parent / "export.json").write_text('{"files": []}', encoding="utf-8")
    if place.exists():
        place.rename(outside)
    elif place.suffix:
        outside.touch()
    else:
        outside.mkdir()
    place.symlink_to(outside)
    before = content(outside)
    monkeypatch.chdir(here)
    assert main(words.split()) == 3, capsys.readouterr()
    assert "is a link that leads out of this folder" in capsys.readouterr().err
    assert content(outside) == before


def content(place: Path) -> dict[str, bytes]:
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if path.name != "lock"}


@pytest.mark.full
def test_a_build_that_only_repeats_what_it_said_follows_no_link(once: Once, tmp_path: Path) -> None:
    here = once.copied(BUILT, tmp_path / "here")
    run = ["benchbuild", "recipe=care_mi"]
    for _ in range(2):
        subprocess.run(run, cwd=here, check=True, capture_output=True)
    victim = tmp_path / "victim"
    victim.write_text("alias a=b\n", encoding="utf-8")
    log = here / BUILD / "run.jsonl"
    log.unlink()
    log.symlink_to(victim)
    assert subprocess.run(run, cwd=here, check=False, capture_output=True).returncode == 3
    assert victim.read_text("utf-8") == "alias a=b\n"
    log.unlink()
    os.mkfifo(log)
    done = subprocess.run(run, cwd=here, check=False, capture_output=True, encoding="utf-8", timeout=patience())
    assert done.returncode == 3
    assert "is a pipe, not a file" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("words", ["peek items recipe=care_mi", f"check --store {BUILD}", f"view {BUILD}"])
def test_a_pipe_in_a_build_makes_nobody_wait(
    once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    here = once.copied(BUILT, tmp_path / "here")
    monkeypatch.chdir(here)
    manifest = next(here.glob(f"{BUILD}/store/steps/items/*/manifest.json"))
    manifest.unlink()
    os.mkfifo(manifest)
    assert main(words.split()) == 3
    assert "manifest.json is a pipe, not a file" in capsys.readouterr().err


@pytest.mark.full
def test_deep_json_in_a_build_is_damage(
    once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = once.copied(BUILT, tmp_path / "here")
    monkeypatch.chdir(here)
    manifest = next(here.glob(f"{BUILD}/store/steps/items/*/manifest.json"))
    manifest.write_text("[" * 100_000, encoding="utf-8")
    assert main(f"check --store {BUILD}".split()) == 3
    assert "1 damaged" in capsys.readouterr().out
    assert main(["recipe=care_mi"]) == 0
    assert "step 'items' is damaged" in capsys.readouterr().out


@pytest.mark.full
def test_two_releases_at_once_have_one_secret(once: Once, tmp_path: Path) -> None:
    here = once.copied(BUILT, tmp_path / "here")
    line = ["benchbuild", "release", "recipe=care_mi", "release.private=0.3", "--despite", "trial"]
    both = [subprocess.Popen([*line, f"version=1.0.{n}"], cwd=here, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             encoding="utf-8") for n in (0, 1)]  # fmt: skip
    said = [process.communicate(timeout=patience())[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes
    for code, text in zip(codes, said, strict=True):
        assert code in (0, 2, 3), text
        assert code != 3 or "another release of care_mi is being made" in text
    private = {
        json.loads(line)["id"] for file in here.glob("releases/care_mi/private/*/*.jsonl")
        for line in file.read_text("utf-8").splitlines()
    }  # fmt: skip
    public = {
        json.loads(line)["id"] for file in here.glob("releases/care_mi/1.0.*/*/test.jsonl")
        if file.parent.name in ("tf", "oe") for line in file.read_text("utf-8").splitlines()
    }  # fmt: skip
    assert private
    assert not private & public


@pytest.mark.push
def test_an_exit_code_is_right_though_nobody_can_read_the_message() -> None:
    with Path("/dev/full").open("w") as full:
        line = ["benchbuild", "recipe=no_such"]
        assert subprocess.run(line, stderr=full, check=False).returncode == 2
