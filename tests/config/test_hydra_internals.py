"""Each name that `HydraInternals` borrows behaves as it did in the versions in which it was seen."""

from __future__ import annotations

import inspect
from importlib.metadata import version
from typing import Any

import pytest
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.defaults_list import create_defaults_list
from omegaconf import OmegaConf
from omegaconf.basecontainer import BaseContainer

from benchbuilder.config.compose import HydraInternals, parse_yaml
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.reference_cost import EndlessReferencesError, bounded_references
from benchbuilder.config.search_path import find_roots

SEEN = {"hydra-core": ("1.3.2", "1.3.8"), "omegaconf": ("2.3.0", "2.3.1")}
"""Versions in which every name below was seen. Add a release after these tests pass with it."""


@pytest.mark.parametrize("package", SEEN)
def test_the_installed_version_is_of_a_release_that_was_seen(package: str) -> None:
    minor = version(package).rpartition(".")[0]
    assert minor in {seen.rpartition(".")[0] for seen in SEEN[package]}


def test_config_repository_finds_a_file_in_its_sources(garden: Any) -> None:
    hydra = HydraInternals(RecipeIndex(find_roots(cwd=garden.folder, environ={})))
    assert isinstance(hydra, ConfigRepository)
    opened = hydra.load_config("model/remote")
    assert opened is not None
    assert (opened.config, opened.defaults_list) == ({"kind": "remote", "name": "small"}, [])
    assert opened is hydra.load_config("model/remote")
    assert hydra.load_config("model/nothing") is None
    assert (hydra.group_exists("model"), hydra.group_exists("nothing")) == (True, False)
    assert hydra.get_group_options("model") == ["none", "remote"]


def test_create_defaults_list_takes_what_is_passed() -> None:
    parameters = list(inspect.signature(create_defaults_list).parameters)
    assert parameters == ["repo", "config_name", "overrides_list", "prepend_hydra", "skip_missing"]


def test_the_loader_reads_yaml_as_omegaconf_does() -> None:
    numbers = "1e3, -1.5e+3, 1_0e2, .5, .5e-3, 1., 1.5, 1_000.5, 12:30:45, 12:30.5, .inf, -.INF, 0o7, 017, 0x1F"
    texts = "2025-01-31, 1e, e, ., 1.2.3, -, no, Off, y, ~, null, on, 1e3x, .5e3, 1_e3, ._5"
    text = f"a: [{numbers}]\nb: [{texts}]\nc: {{1e3: x}}\n"
    assert repr(parse_yaml(text)) == repr(OmegaConf.to_container(OmegaConf.create(text)))


def test_the_table_of_resolvers_is_the_one_that_omegaconf_asks() -> None:
    resolvers = BaseContainer._resolvers
    assert {"oc.select", "oc.env"} <= set(resolvers)
    with bounded_references(9):
        assert list(resolvers) == ["oc.select"]
        assert not OmegaConf.has_resolver("oc.env")
    assert OmegaConf.has_resolver("oc.env")


@pytest.mark.parametrize(
    "form",
    ["${k{}}${k{}}", "${ k{} }${ k{} }", "${.k{}}${.k{}}", "${oc.select:k{}}${oc.select:k{}}",
     "${oc.select:'k{}'}${ oc.select : k{} }", "${oc.select:${letter}{}}${oc.select:${letter}{}}"],
)  # fmt: skip
def test_every_form_of_a_reference_that_doubles_a_text_is_counted(form: str) -> None:
    keys = {f"k{n}": form.replace("{}", str(n + 1)) for n in range(40)}
    cfg = OmegaConf.create({**keys, "k40": "x", "letter": "k"})
    with bounded_references(200) as meter, pytest.raises(EndlessReferencesError):
        _ = cfg.k0
    assert meter.left < 0


def test_references_count_together_and_through_mappings() -> None:
    cfg = OmegaConf.create({"m": "${n}", "n": {"a": "x" * 5_000}, **{f"r{n}": "${m.a}" for n in range(10)}})
    with bounded_references(100) as meter:
        assert cfg.r0 == "x" * 5_000
        with pytest.raises(EndlessReferencesError):
            _ = [cfg[f"r{n}"] for n in range(10)] * 2, [cfg[f"r{n}"] for n in range(10)]
    assert (meter.left, cfg.r0) == (-1, "x" * 5_000)
