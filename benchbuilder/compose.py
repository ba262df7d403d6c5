"""Composes a recipe with Hydra into plain containers: the only module that imports hydra or omegaconf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.base import Container
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from benchbuilder.complaints import (
    Groups,
    explain_composition,
    explain_interpolation,
    explain_word,
    refuse_word,
    unknown_option,
)
from benchbuilder.errors import Problem, RecipeError
from benchbuilder.origins import Origins, collect_origins, parse_key
from benchbuilder.recipe_file import Key, RecipeFile, dotted, read_recipe_file
from benchbuilder.roots import Root, shown

PRIMARY = "benchbuild"


@dataclass(frozen=True)
class Composed:
    """A composed recipe: plain `data` with interpolations resolved, the `origins` of its keys, and the `problems`
    that were met (missing values, dangling references), which the caller reports with its own."""

    name: str
    data: dict[str, Any]
    origins: Origins
    problems: tuple[Problem, ...]
    roots: tuple[Root, ...]


def compose(words: Sequence[str], roots: Sequence[Root]) -> Composed:
    """Compose ``recipe=NAME key=value ...`` from the files below `roots`.

    Groups come first, then the recipe, its variant, local files, and the command line. RecipeError with every word
    that cannot be read, the first broken file, a name that stands in two roots, or a choice that does not exist.
    Can be called any number of times in one process.
    """
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(roots[0].path), job_name="benchbuild", version_base="1.3"):
            repository = _Guarded(roots)
            with _only_select():
                return _compose(words, tuple(roots), repository)
    finally:
        GlobalHydra.instance().clear()


def _compose(words: Sequence[str], roots: tuple[Root, ...], repository: _Guarded) -> Composed:
    loader = GlobalHydra.instance().config_loader()
    loader.repository = repository  # pyright: ignore[reportAttributeAccessIssue]
    parsed = _parse(words, repository)
    recipe = _chosen(parsed, "recipe")
    if recipe is None:
        raise RecipeError([repository.groups.no_recipe(words)])
    asked = [_asked(word, recipe, repository) for word in parsed]
    try:
        cfg = hydra_compose(PRIMARY, asked)
        defaults = loader.compute_defaults_list(PRIMARY, asked, RunMode.RUN).defaults
    except (ConfigCompositionException, OmegaConfBaseException, ValueError) as error:
        raise RecipeError([explain_composition(error, words, repository.groups)]) from None
    except RecursionError:
        message = "the `defaults` of these files refer to each other in a circle"
        raise RecipeError([Problem(message, found=", ".join(sorted(repository.groups.files)))]) from None
    layers = [
        (repository.groups.files[path], one.package or "")
        for one in defaults
        if (path := one.config_path or "") in repository.groups.files and _brings_content(one.config_path, one.is_self, repository)
    ]
    raw: Any = OmegaConf.to_container(cfg, resolve=False)
    written = [(word.key_or_group, word.value(), word.input_line or "") for word in parsed if not _is_group(word, repository)]
    written += [(f"{_place(word)}.kind", None, word.input_line or "") for word in parsed if False]
    origins = collect_origins(layers, written, raw)
    data, problems = _resolve(cfg, origins)
    if (variant := _chosen(parsed, "variant")) is not None:
        data["variant"] = variant.removeprefix(f"{recipe}/")
    return Composed(recipe, data, origins, tuple(problems), roots)
