"""What a recipe may say of a cluster, and who may say it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchbuilder.config.load import load_recipe
from benchbuilder.core import registry
from benchbuilder.core.errors import RecipeError
from benchbuilder.testing import check_kind
from pydantic import ValidationError

from benchbuilder_ray.spec import Needs, RaySpec


def test_the_kind_is_known() -> None:
    kind = registry.find_kind("executor", "ray")
    assert kind.distribution == "benchbuilder-ray"
    check_kind("executor", "ray", kind.load())


def test_run_ray_works_from_any_recipe() -> None:
    run = load_recipe(["recipe=care_mi", "run=ray"], environ={}).recipe.run
    assert run.executor == RaySpec(kind="ray")
    assert run.shard_rows == load_recipe(["recipe=care_mi"], environ={}).recipe.run.shard_rows


def test_the_cluster_is_no_part_of_what_is_built() -> None:
    words = ["recipe=care_mi", "run=ray", "run.executor.storage=s3://bucket/builds", "run.executor.gpus=1"]
    assert load_recipe(words, environ={}).yaml == load_recipe(["recipe=care_mi"], environ={}).yaml


@pytest.mark.parametrize(
    ("key", "value"),
    [("address", "ray://evil:10001"), ("storage", "s3://evil/bucket"), ("storage_options", "{endpoint_url: http://e}")],
)
def test_only_the_user_names_the_cluster(key: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes" / "run").mkdir(parents=True)
    other = tmp_path / "recipes" / "run" / "theirs.yaml"
    other.write_text(f"defaults: [ray, _self_]\nexecutor: {{{key}: {value!r}}}\n".replace("'{", "{").replace("}'", "}"))
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=care_mi", "run=theirs"], environ={})
    assert [problem.key.split(".")[:3] for problem in caught.value.problems] == [["run", "executor", key]]
    assert "only from the command line" in caught.value.problems[0].allowed
    own = tmp_path / "recipes" / "local" / "run" / "mine.yaml"
    own.parent.mkdir(parents=True)
    load_recipe(["recipe=care_mi", "run=ray", f"run.executor.{key}={value}"], environ={})


@pytest.mark.parametrize("name", ["key", "secret", "aws_secret_access_key", "token", "password", "account_key"])
def test_secrets_stand_in_no_recipe(name: str) -> None:
    for options in ({name: "x"}, {"client_kwargs": {name: "x"}}):
        with pytest.raises(ValidationError, match="secrets stand in the environment"):
            RaySpec(kind="ray", storage_options=options)
    with pytest.raises(ValidationError, match="secrets stand in the environment"):
        RaySpec(kind="ray", storage="s3://me:secret@host/bucket")
    assert RaySpec(kind="ray", storage_options={"endpoint_url": "http://store:9000", "anon": False})


@pytest.mark.parametrize("url", ["/mnt/shared", "shared", "s3:/x", "file://"])
def test_a_storage_is_a_url(url: str) -> None:
    with pytest.raises(ValidationError, match="a URL is wanted"):
        RaySpec(kind="ray", storage=url)


def test_what_the_workers_of_a_step_take() -> None:
    spec = RaySpec(kind="ray", cpus=2, memory_mb=500, steps={"retrieve": {"gpus": 0.5, "resources": {"big": 1}}})
    assert spec.needs("ask") == Needs(2, 0, 500)
    assert spec.needs("retrieve") == Needs(2, 0.5, 500, (("big", 1),))
    assert str(spec.needs("retrieve")) == "2 CPU, 0.5 GPU, 500 MB, 1 big"
    machine = {"CPU": 16.0, "GPU": 1.0, "memory": 3000 * 2.0**20, "big": 9.0}
    assert spec.needs("retrieve").fit(machine) == 2
    assert spec.needs("ask").fit(machine) == 6
    assert Needs(gpus=1).fit({"CPU": 4.0}) == 0


def test_ray_tells_nobody() -> None:
    """Importing the kind loads no Ray; connecting switches its statistics off first."""
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
