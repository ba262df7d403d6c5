"""Publishing: what goes to the Hub, once for each version, and what is refused before anything goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from built_sample import BuiltSample
from fake_hub import FakeHub, fake_hub

from benchbuilder.cli.dispatch import main
from benchbuilder.core import DataError, RecipeError, ServiceError
from benchbuilder.publishing import Release, plan_upload, publish_release

pytestmark = pytest.mark.push


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    with fake_hub() as server:
        yield server


@pytest.mark.push
def test_a_release_is_published_once_with_a_tag(released: Release, hub: FakeHub) -> None:
    hub.files["old/removed.jsonl"] = b"{}"
    done = publish_release(released.folder, "owner/garden", endpoint=hub.address)
    expected = {path.relative_to(released.folder).as_posix(): path.read_bytes() for path in released.files}
    assert hub.tags["1.0.0"] == {".gitattributes": b"", **expected}
    assert done.address == f"{hub.address}/datasets/owner/garden/tree/1.0.0"
    sent = len(hub.requests)
    again = publish_release(released.folder, "owner/garden", endpoint=hub.address)
    assert again.was_there
    assert not any("/commit/" in request or "/tag/" in request for request in hub.requests[sent:])
    hub.tags["1.0.0"]["SHA256SUMS"] = b"of other files"
    with pytest.raises(RecipeError, match="nothing is published twice under one version"):
        publish_release(released.folder, "owner/garden", endpoint=hub.address)
    hub.tags = {"v1.2.0": {}, "notes": {}}
    with pytest.raises(RecipeError, match=r"has version 1\.2\.0"):
        publish_release(released.folder, "owner/garden", endpoint=hub.address)


@pytest.mark.push
@pytest.mark.parametrize(
    ("status", "at", "remedy"),
    [
        (401, "/api/repos/create", "log in with `hf auth login`"),
        (403, "/commit/", "ask owner to let you write"),
        (404, "/refs", "check that owner exists"),
        (409, "/commit/", "somebody else changed the repository"),
    ],
)
def test_a_refusal_of_the_hub_says_what_helps(
    released: Release, hub: FakeHub, status: int, at: str, remedy: str
) -> None:
    hub.refuse, hub.status, hub.exists = at, status, "create" not in at
    with pytest.raises(ServiceError, match="owner/garden could not be published") as refused:
        publish_release(released.folder, "owner/garden", endpoint=hub.address)
    assert remedy in refused.value.next
    assert hub.tags == {}


@pytest.mark.push
@pytest.mark.parametrize("at", ["/commit/", "/tag/"])
def test_a_network_that_is_cut_loses_nothing_and_publishes_nothing_twice(
    released: Release, hub: FakeHub, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    hub.loses, hub.exists = at, False
    with pytest.raises(ServiceError, match="could not be published") as refused:
        publish_release(released.folder, "owner/garden", endpoint=hub.address)
    assert "goes on where it stopped" in refused.value.next
    hub.loses = ""
    done = publish_release(released.folder, "owner/garden", endpoint=hub.address)
    assert done.was_there == (at == "/tag/")
    assert list(hub.tags) == ["1.0.0"]
    assert sum("/tag/" in request for request in hub.requests) == 1


@pytest.mark.push
def test_a_hub_that_is_not_there_is_explained(released: Release, hub: FakeHub) -> None:
    with pytest.raises(ServiceError, match="owner/garden could not be published"):
        publish_release(released.folder, "owner/garden", endpoint="http://127.0.0.1:9")


@pytest.mark.push
def test_a_dry_run_shows_every_file_and_sends_nothing(
    released: Release, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchbuilder.cli.publish.publish_release", lambda *_, **__: pytest.fail("it was sent"))
    assert main(["publish", str(released.folder), "--repository", "owner/garden", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("to owner/garden, with the tag 1.0.0:\n")
    for file in released.files:
        assert f"  {file.relative_to(released.folder).as_posix()} " in said
    assert "released despite 2 refusals: a trial" in said
    assert said.endswith("nothing was sent\n")


@pytest.mark.push
def test_only_what_the_release_wrote_is_published(own_releases: Path, built: BuiltSample) -> None:
    folder = own_releases / "care_mi" / "1.0.0"
    with pytest.raises(RecipeError, match="no repository is named"):
        plan_upload(folder)
    with pytest.raises(RecipeError, match="an owner and a name"):
        plan_upload(folder, "garden")
    (folder / "notes.txt").write_text("of mine", encoding="utf-8")
    with pytest.raises(DataError, match="holds files that no release wrote") as refused:
        plan_upload(folder, "owner/garden")
    assert refused.value.where == "notes.txt"
    (folder / "notes.txt").unlink()
    (folder / "README.md").write_text("short", encoding="utf-8")
    with pytest.raises(DataError, match="is not as it was released"):
        plan_upload(folder, "owner/garden")
    with pytest.raises(DataError, match="holds no release"):
        plan_upload(own_releases / "care_mi" / "private", "owner/garden")
