"""Which builds are found, and which steps they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.explorer import BuildFolder, find_builds


@pytest.mark.push
def test_a_build_has_its_steps_in_the_order_of_the_flow(care_mi: Path) -> None:
    manifests = BuildFolder("care_mi", care_mi).manifests()
    places = {name: place for place, name in enumerate(manifests)}
    assert len(manifests) > 20
    assert all(places[up] < places[name] for name, manifest in manifests.items() for up in manifest.inputs)


def test_builds_are_found_below_a_folder_each_with_a_name_of_its_own(tmp_path: Path) -> None:
    for place in ("one/care_mi", "two/care_mi", "two/deep/er/exam", "care_mi", ".hidden/x", "empty"):
        (tmp_path / place / "store" / "steps").mkdir(parents=True)
    (tmp_path / "empty" / "store" / "steps").rmdir()
    builds = find_builds([tmp_path, tmp_path / "one"], {tmp_path / "one" / "care_mi": ("recipe=care_mi",)})
    names = [build.name for build in builds]
    assert len(names) == len(set(names)) == 4
    assert {"care_mi", "exam"} <= set(names)
    assert [build.overrides for build in builds if build.folder.parent.name == "one"] == [("recipe=care_mi",)]
