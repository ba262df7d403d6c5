"""Publishing a trained judge: its card, what stays, and one tag for one digest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_hub import FakeHub, fake_hub
from once import JUDGED, Once

from benchbuilder.cli.dispatch import main
from benchbuilder.core import DataError, RecipeError
from benchbuilder.publishing import plan_judge_upload, publish_judge

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    return once.copied(JUDGED, tmp_path_factory.mktemp("judged"))


@pytest.fixture
def judge(home: Path) -> Path:
    return home / "builds" / "care_mi" / "judges" / "ridge_correctness"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    with fake_hub() as server:
        yield server


def test_a_judge_is_published_once_without_what_it_learned_from(judge: Path, hub: FakeHub) -> None:
    done = publish_judge(judge, "owner/garden", "CC-BY-4.0", endpoint=hub.address)
    card = json.loads((judge / "card.json").read_text("utf-8"))
    assert done.tag == card["artefact_sha256"][:12]
    sent = hub.tags[done.tag]
    assert {"README.md", "card.json", "learned.json"} < sent.keys()
    assert not any("predictions" in name or "held_out" in name for name in sent)
    assert json.loads(sent["card.json"])["raters"] == []
    readme = sent["README.md"].decode()
    assert "license: " in readme
    assert card["data_sha256"] in readme
    assert "| all | 98 |" in readme
    assert "| cpubmed | " in readme
    assert "- Clinical decisions" in readme
    assert not any(rater.replace("_", r"\_") in readme for rater in card["raters"])
    requests = len(hub.requests)
    assert publish_judge(judge, "owner/garden", "CC-BY-4.0", endpoint=hub.address).was_there
    assert not any("/commit/" in request for request in hub.requests[requests:])


def test_a_judge_needs_a_licence_a_repository_and_its_own_files(judge: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="has a licence"):
        plan_judge_upload(judge, "owner/garden", " ")
    with pytest.raises(RecipeError, match="no repository is named"):
        plan_judge_upload(judge, None, "CC-BY-4.0")
    (judge / "final" / "added.json").write_text("{}", "utf-8")
    try:
        with pytest.raises(DataError, match="was changed since it was trained"):
            plan_judge_upload(judge, "owner/garden", "CC-BY-4.0")
    finally:
        (judge / "final" / "added.json").unlink()


def test_the_command_says_what_would_go(judge: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", str(judge), "--repository", "owner/garden", "--licence", "CC0-1.0", "--dry-run"]) == 0
    assert "nothing was sent" in capsys.readouterr().out
