from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from built_sample import BuiltSample
from once import BUILT, Once

from benchbuilder.config import load_recipe
from benchbuilder.publishing import Release
from benchbuilder.publishing.release import private_folder


@pytest.fixture(scope="session")
def built(once: Once, tmp_path_factory: pytest.TempPathFactory) -> BuiltSample:
    """The build of the sample; tests write releases into folders of their own."""
    folder = once.copied(BUILT, tmp_path_factory.mktemp("built"))
    return BuiltSample(folder, load_recipe(["recipe=care_mi"]))


@pytest.fixture(scope="session")
def released(built: BuiltSample) -> Release:
    """A release with a private split and examples, not to be changed; its secret is the same in every run."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private_folder.secrets, "token_bytes", lambda size: b"7" * size)
        return built.release(dir="shared", private=0.3, dev=4)


@pytest.fixture
def own_releases(released: Release, built: BuiltSample, tmp_path: Path) -> Path:
    """A copy of that release with its private folder, for `release.dir`."""
    shutil.copytree(built.folder / "shared", tmp_path / "releases")
    return tmp_path / "releases"
