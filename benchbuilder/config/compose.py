"""Composes a recipe with Hydra into plain containers; only it and `reference_cost` import hydra or omegaconf.

A failure is described by facts (`CompositionFault`), which `benchbuilder.config.compose_errors` puts into words.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra import version
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.default_element import ResultDefault
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from benchbuilder.config.composed_recipe import ComposedRecipe
from benchbuilder.config.composition_faults import (
    CompositionError,
    CompositionFault,
    UnresolvedValue,
    is_forbidden_override,
    join_split_override,
    repeated_choices,
    text_faults,
)
from benchbuilder.config.origins import ValueOrigin, ValueOrigins, collect_value_origins, references_in
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.reference_cost import EndlessReferencesError, ReferenceMeter, bounded_references
from benchbuilder.config.search_path import RecipeRoot
from benchbuilder.config.yaml_source import KeyPath

PRIMARY_CONFIG = "benchbuild"
_MOST_NODES, _MOST_LOOKUPS, _DEEPEST, _MOST_MERGED = 20_000, 5_000, 30, 8
"""The number of merged configurations that are kept for further overrides."""
_MOST_LOADED = 1000
_UNRESOLVED = re.compile(r"\$\{|\A\?\?\?\Z")
"""Texts that refer to other values, or say that a value is missing."""
_FLOAT = re.compile(r"[-+]?\d+(_\d+)*(\.[\d_]*)?[eE][-+]?\d+\Z")
"""Numbers that YAML 1.1 takes for texts, and OmegaConf does not."""


def compose_recipe(
    overrides: Sequence[str],
    roots: Sequence[RecipeRoot],
    files: str | None = None,
    drafts: Mapping[Path, str] | None = None,
) -> ComposedRecipe:
    """Compose ``recipe=NAME key=value ...`` from the files below `roots`.

    Groups come first, then the recipe, its variant, local files, and the command line.

    Args:
        overrides: the command line.
        roots: the folders of recipes.
        files: the digest of their files; merges of the same files are then kept in this process.
        drafts: texts that stand for those of files; without `files`.

    Raises:
        CompositionError: overrides cannot be read, or a choice does not exist.
        RecipeError: a file is malformed, or is found in two roots.
    """
    return _compose(overrides, RecipeIndex(roots, drafts), _merged_files(tuple(roots), files) if files else {})


class KeptConfig:
    """A configuration that stays as it is, and copies of it."""

    def __init__(self, config: DictConfig) -> None:
        self.config = config

    @cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps(self.config)

    def copy(self) -> DictConfig:
        """A copy, to be changed; `pickle` makes it in a sixth of the time of `deepcopy`."""
        return pickle.loads(self._pickled)


_LOADED: dict[tuple[str, bytes], tuple[ConfigResult, KeptConfig] | None] = {}
"""What Hydra made of texts by the names of their files; it copies that before it changes anything."""
MergedFiles = dict[tuple[Any, ...], KeptConfig]
"""Files that Hydra has merged, by their paths and packages."""


@lru_cache(maxsize=8)
def _merged_files(roots: tuple[RecipeRoot, ...], files: str) -> MergedFiles:  # noqa: ARG001
    """Some merges of the files with this digest."""
    return {}


def _compose(texts: Sequence[str], index: RecipeIndex, merged: MergedFiles) -> ComposedRecipe:
    overrides = _parse(texts, index)
    recipe = _chosen_name(overrides, "recipe")
    if recipe is None:
        raise CompositionError([CompositionFault("no_recipe")], index)
    with bounded_references(_MOST_LOOKUPS) as meter:
        files, cfg = _merge(_hydra_overrides(overrides, recipe, index), HydraInternals(index), merged, meter)
        raw: Any = OmegaConf.to_container(cfg, resolve=False)
        layers = [
            (index.opened_files[file.config_path], file.package or "")
            for file in files
            if file.config_path in index.opened_files
        ]
        settings = [(o.key_or_group, o.value(), o.input_line or "") for o in overrides if _sets_key(o, index)]
        origins = collect_value_origins(layers, settings, raw)
        resolver = _Resolver(index, origins)
        data = resolver.mapping(cfg, (), raw)
    origins.drop_unused_links(data)
    if (variant := _chosen_name(overrides, "variant")) is not None:
        data["variant"] = variant.removeprefix(f"{recipe}/")
        origins.entries["variant",] = ValueOrigin(override=f"variant={variant}", trusted=True)
    idle = frozenset(name for name in index.option_names("source") if f"source/{name}" not in index.opened_files)
    unresolved = tuple(resolver.unresolved)
    return ComposedRecipe(recipe, data, origins, unresolved, index.roots, idle, references_in(raw))


def _parse(texts: Sequence[str], index: RecipeIndex) -> list[Override]:
    """The overrides of the command line."""
    parser, parsed = OverridesParser.create(), list[Override]()
    faults = text_faults(texts)
    remaining = [] if faults else list(texts)
    while remaining:
        count, joined = join_split_override(remaining)
        if count > 1:
            faults.append(CompositionFault("split", " ".join(remaining[:count]), detail=joined))
            del remaining[:count]
            continue
        text = remaining.pop(0)
        try:
            override = parser.parse_override(text)
        except (HydraException, ValueError):  # a number may have too many digits
            faults.append(CompositionFault("unreadable", text))
            continue
        if (fault := _override_fault(override, text, index)) is not None:
            faults.append(fault)
        parsed.append(override)
    choices = [o for o in parsed if not (o.is_delete() or _sets_key(o, index))]
    faults += repeated_choices((o.key_or_group, o.package, o.input_line or "") for o in choices)
    if faults:
        raise CompositionError(faults, index)
    return parsed


def _override_fault(override: Override, text: str, index: RecipeIndex) -> CompositionFault | None:
    """What is wrong with an override that can be read; whether it is forbidden is for `compose_errors` to say."""
    key = override.key_or_group
    if text.endswith("=") and not override.is_delete():
        return CompositionFault("empty", text, key)
    value: Any = None if override.is_sweep_override() else override.value()
    if override.is_sweep_override() or (key == "variant" and isinstance(value, list)):  # a recipe has one variant
        return CompositionFault("several_values", text, key)
    names: tuple[str, ...] = ()
    if not _sets_key(override, index):
        if not isinstance(value, str | list) and not (key == "variant" and value is None) and not override.is_delete():
            return CompositionFault("not_a_name", text, key)
        names = tuple(map(str, value)) if isinstance(value, list) else (str(value),)  # pyright: ignore[reportUnknownArgumentType]
    return CompositionFault("forbidden", text, key, names) if is_forbidden_override(text, key, names) else None


def _sets_key(override: Override, index: RecipeIndex) -> bool:
    """Whether an override sets a key; else it chooses from a group."""
    return isinstance(override.value(), dict) or not index.is_group(override.key_or_group)


def _chosen_name(overrides: Sequence[Override], group: str) -> str | None:
    values = [override.value() for override in overrides if override.key_or_group == group and override.package is None]
    return str(values[-1]) if values and values[-1] is not None else None


def _hydra_overrides(overrides: Sequence[Override], recipe: str, index: RecipeIndex) -> list[Override]:
    """The overrides as Hydra gets them: choices as written, ``variant=X`` as the recipe's own, other keys forced."""
    parser = OverridesParser.create()
    texts = [text for override in overrides if (text := _hydra_override(override, recipe, index))]
    return [parser.parse_override(text) for text in texts]


def _hydra_override(override: Override, recipe: str, index: RecipeIndex) -> str:
    text = override.input_line or ""
    if override.is_delete():
        return text
    if _sets_key(override, index):
        return text if override.package is not None else "++" + text.lstrip("+")
    if override.key_or_group != "variant":
        return text if override.package is not None else text.lstrip("+")  # +model@evaluation.models.NAME=openai adds
    if (name := override.value()) is None:
        return ""
    if "/" in str(name) and not str(name).startswith(f"{recipe}/"):
        raise CompositionError([CompositionFault("foreign_variant", text, "variant", detail=recipe)], index)
    plain = str(name).removeprefix(f"{recipe}/")
    return f"variant={index.owner_of_variant(recipe, plain)}/{plain}"


def _merge(
    overrides: list[Override], hydra: HydraInternals, merged: MergedFiles, meter: ReferenceMeter
) -> tuple[list[ResultDefault], DictConfig]:
    """The files that the overrides choose, in the order of merging, and their merged keys."""
    try:
        files, settings = hydra.list_files(overrides)
    except (ConfigCompositionException, OmegaConfBaseException, ValueError) as error:
        missing: str = getattr(error, "missing_cfg_file", None) or ""
        text = str(error) or str(error.__cause__)
        fault = CompositionFault("missing_file" if missing else "hydra_message", detail=missing or text)
        raise CompositionError([fault], hydra.index) from None
    except RecursionError:
        raise CompositionError([CompositionFault("cycle")], hydra.index) from None
    key = tuple((file.config_path, file.package) for file in files)
    if key not in merged:
        if len(merged) >= _MOST_MERGED:
            merged.clear()
        merged[key] = KeptConfig(_merge_files(files, hydra, meter))
    cfg = merged[key].copy() if settings else merged[key].config
    for override in settings:
        if (fault := _apply_setting(override, cfg)) is not None:
            raise CompositionError([fault], hydra.index)
    return files, cfg


def _merge_files(files: Sequence[ResultDefault], hydra: HydraInternals, meter: ReferenceMeter) -> DictConfig:
    cfg = OmegaConf.create()
    for file in files:
        try:
            OmegaConf.unsafe_merge(cfg, hydra.file_keys(file))
        except OmegaConfBaseException as error:
            fault = CompositionFault("hydra_message", detail=f"In '{file.config_path}': {error}")
            if meter.left >= 0:
                raise CompositionError([fault], hydra.index) from None
        if meter.left < 0:  # OmegaConf keeps such errors to itself where a mapping replaces a reference
            key = meter.key.strip(".").partition(".")[0]
            raise CompositionError(
                [CompositionFault("endless", key=key, detail=f"{file.config_path}.yaml")], hydra.index
            )
    return cfg


def _apply_setting(override: Override, cfg: DictConfig) -> CompositionFault | None:
    """Set or delete one key of the merged files."""
    text, key, value = override.input_line or "", override.key_or_group, override.value()
    if override.package is not None:
        return CompositionFault("no_such_group", text, key)
    try:
        if not override.is_delete():
            OmegaConf.update(cfg, key, value, merge=True, force_add=True)
            return None
        present: Any = OmegaConf.select(cfg, key, throw_on_missing=False)
        if present is None or (value is not None and value != present):
            return CompositionFault("nothing_to_delete", text, key)
        parent, _, name = key.rpartition(".")
        with open_dict(cfg):
            node: Any = OmegaConf.select(cfg, parent) if parent else cfg
            del node[name]
    except (OmegaConfBaseException, ValueError, IndexError, TypeError):  # the last three of a list
        return CompositionFault("unmergeable", text, key)
    return None


class HydraInternals(ConfigRepository):
    """Everything that is borrowed from inside Hydra.

    Borrowed are `ConfigRepository` and `create_defaults_list`; `reference_cost` borrows how references are resolved.
    tests/config/test_hydra_internals.py has a test for each, and names the versions in which each was seen.

    It is Hydra's view of the files: `index` checks each one before Hydra reads it.
    """

    def __init__(self, index: RecipeIndex) -> None:
        self.index = index
        self.sources: list[ConfigSource] = [_RecipeFolder(root.path, index) for root in index.roots]

    def list_files(self, overrides: list[Override]) -> tuple[list[ResultDefault], list[Override]]:
        """The files that `overrides` choose, in the order of merging, and the overrides that set keys."""
        version.setbase("1.3")
        chosen = create_defaults_list(self, PRIMARY_CONFIG, overrides, prepend_hydra=False, skip_missing=False)
        return chosen.defaults, list(chosen.config_overrides)

    def load_config(self, config_path: str) -> ConfigResult | None:
        """A checked file; the same text is read once in a process."""
        loaded = self._load(config_path)
        return loaded and loaded[0]

    def _load(self, config_path: str) -> tuple[ConfigResult, KeptConfig] | None:
        file = self.index.open_file(config_path)
        if file is None:
            return None
        key = (config_path, self.index.text_of(file.path))
        if key not in _LOADED:
            if len(_LOADED) >= _MOST_LOADED:
                _LOADED.clear()
            made = super().load_config(config_path)
            config: Any = made and made.config
            _LOADED[key] = made and (made, KeptConfig(config))
        return _LOADED[key]

    def file_keys(self, file: ResultDefault) -> DictConfig:
        """The keys of a file below its package; a copy, since merging moves them."""
        loaded = self._load(file.config_path or "")
        if loaded is None:
            return OmegaConf.create()
        opened, kept = loaded
        package = file.package if file.package is not None else opened.header["package"]
        if not package:
            return kept.copy()
        placed = OmegaConf.create()
        OmegaConf.update(placed, package, kept.config, merge=False)  # which copies it
        return placed


class _RecipeFolder(ConfigSource):
    """A folder of recipes, as a source of configuration for Hydra."""

    def __init__(self, folder: Path, index: RecipeIndex) -> None:
        super().__init__("benchbuild", f"file://{folder}")
        self._index = index

    @staticmethod
    def scheme() -> str:
        return "file"

    def load_config(self, config_path: str) -> ConfigResult:
        text = self._index.text_of(Path(self.path, f"{config_path}.yaml")).decode()
        header: Any = self._get_header_dict(text[:512])
        config = OmegaConf.create() if (data := parse_yaml(text)) is None else OmegaConf.create(data)
        return ConfigResult(config=config, path=config_path, provider=self.provider, header=header)

    def available(self) -> bool:
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        return Path(self.path, config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        return Path(self.path, f"{config_path}.yaml").is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        paths = [*Path(self.path, config_path).iterdir()]
        groups = [path.name for path in paths if path.is_dir()] if results_filter is not ObjectType.CONFIG else []
        configs = [path.stem for path in paths if path.suffix == ".yaml" and results_filter is not ObjectType.GROUP]
        return sorted({*groups, *configs})


_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _YamlLoader(_BaseLoader):  # pyright: ignore[reportUntypedBaseClass]
    """Reads YAML as OmegaConf does, over the parser in C if there is one: ``1e3`` is a number, a date is a text."""


_YamlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in _YamlLoader.yaml_implicit_resolvers.items()
}
_YamlLoader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


@lru_cache(maxsize=256)
def parse_yaml(text: str) -> Any:
    """The data of a YAML text that `RecipeIndex` has checked. OmegaConf copies it: the cache does not change."""
    return yaml.load(text, Loader=_YamlLoader)


class _Resolver:
    """Turns a composed tree into plain containers and collects the values that cannot be resolved."""

    def __init__(self, index: RecipeIndex, origins: ValueOrigins) -> None:
        self.index, self.origins = index, origins
        self.unresolved: list[UnresolvedValue] = []
        self.nodes = 0

    def mapping(self, node: DictConfig, key: KeyPath, raw: Any = None) -> dict[str, Any]:
        """The plain data below `node`, ``None`` where a value cannot be resolved.

        `raw` is the same unresolved, as plain data.
        """
        raw = raw or OmegaConf.to_container(node, resolve=False)
        return {str(name): self._child(node, name, (*key, str(name)), raw[name]) for name in node}

    def _child(self, node: DictConfig | ListConfig, name: Any, key: KeyPath, raw: Any) -> Any:
        self.nodes += 1
        try:
            if self.nodes > _MOST_NODES or len(key) > _DEEPEST:
                raise EndlessReferencesError
            if not isinstance(raw, dict | list) and not (isinstance(raw, str) and _UNRESOLVED.search(raw)):
                return raw  # OmegaConf would take most of the time of a composition to find that it is resolved
            value: Any = node[name]
        except EndlessReferencesError:
            fault = CompositionFault("endless", key=str(key[0]), detail=str(self.origins.written_origin(key)))
            raise CompositionError([fault], self.index) from None
        except OmegaConfBaseException as error:
            circle = "Recursive" in str(error)
            self.unresolved.append(UnresolvedValue(key, "circle" if circle else type(error).__name__))
            return None
        below: Any = None if isinstance(raw, str) else raw
        if isinstance(value, DictConfig):
            return self.mapping(value, key, below)
        if isinstance(value, ListConfig):
            below = below or OmegaConf.to_container(value, resolve=False)
            return [self._child(value, index, (*key, index), below[index]) for index in range(len(value))]
        return value
