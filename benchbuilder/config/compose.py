"""Composes a recipe with Hydra into plain containers: the only module that imports hydra or omegaconf."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra import initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from benchbuilder.config import compose_errors
from benchbuilder.config.origins import ValueOrigin, ValueOrigins, collect_value_origins
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.search_path import RecipeRoot, bundled_folder
from benchbuilder.config.yaml_source import KeyPath, dotted_key
from benchbuilder.core import Problem, RecipeError

PRIMARY_CONFIG = "benchbuild"
_MOST_NODES = 20_000
_DEEPEST = 30
_MOST_FILES = 2_000


@dataclass(frozen=True)
class ComposedRecipe:
    """A composed recipe: plain `data` with interpolations resolved, the `origins` of its keys, and the `problems`
    that were met (missing values, dangling references), which the caller reports with its own. `idle_sources` names the
    options of the group `source` that were not chosen."""

    name: str
    data: dict[str, Any]
    origins: ValueOrigins
    problems: tuple[Problem, ...]
    roots: tuple[RecipeRoot, ...]
    idle_sources: frozenset[str]


def compose_recipe(overrides: Sequence[str], roots: Sequence[RecipeRoot]) -> ComposedRecipe:
    """Compose ``recipe=NAME key=value ...`` from the files below `roots`.

    Groups come first, then the recipe, its variant, local files, and the command line. RecipeError with every word
    that cannot be read, the first broken file, a name that stands in two roots, or a choice that does not exist.
    Can be called any number of times in one process; the same words over the same files are composed once.
    """
    if (files := _digest(roots)) is None:
        return _compose_uncached(tuple(overrides), tuple(roots), {})
    kept = _compose_cached(tuple(overrides), tuple(roots), files, _message_folder(roots))
    return replace(kept, data=deepcopy(kept.data), origins=kept.origins.copy())


def _digest(roots: Sequence[RecipeRoot]) -> str | None:
    """A digest of every folder and every YAML file below `roots`; None where there are links, or too many of them."""
    digest, left = hashlib.sha256(), _MOST_FILES
    for root in roots:
        for folder, folders, names in os.walk(root.path):
            folders.sort()
            for name in (*folders, *sorted(name for name in names if name.endswith(".yaml"))):
                path, left = Path(folder, name), left - 1
                if left < 0 or path.is_symlink():
                    return None
                try:
                    data = path.read_bytes() if name not in folders else b""
                except OSError:
                    return None
                digest.update(f"{path}\0{len(data)}\0".encode(errors="surrogateescape") + data)
    return digest.hexdigest()


@lru_cache(maxsize=32)
def _compose_cached(words: tuple[str, ...], roots: tuple[RecipeRoot, ...], files: str, here: str) -> ComposedRecipe:  # noqa: ARG001
    """What `_compose_uncached` gives: it depends on nothing else (messages name files relative to the folder `here`)."""
    return _compose_uncached(words, roots, _opened_files(roots, files))


@lru_cache(maxsize=8)
def _opened_files(roots: tuple[RecipeRoot, ...], files: str) -> dict[str, ConfigResult | None]:  # noqa: ARG001
    """What Hydra made of the files with this digest, as far as they were opened until now."""
    return {}


def _message_folder(roots: Sequence[RecipeRoot]) -> str:
    """The current folder; empty where no file below `roots` lies below it, so that messages name each in full."""
    here = Path.cwd()
    near = any(root.path.is_relative_to(here) or here.is_relative_to(root.path) for root in roots)
    return str(here) if near else ""


def _compose_uncached(
    words: Sequence[str], roots: Sequence[RecipeRoot], opened: dict[str, ConfigResult | None]
) -> ComposedRecipe:
    library = RecipeIndex(roots)
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(roots[0].path), job_name="benchbuild", version_base="1.3"):
            loader: Any = GlobalHydra.instance().config_loader()
            loader.repository = _CheckedRepository(library, opened)
            loader._embed_result_config = _embedded
            with _only_select():
                return _compose(words, library)
    finally:
        GlobalHydra.instance().clear()


def _compose(words: Sequence[str], library: RecipeIndex) -> ComposedRecipe:
    parsed = _parse(words, library)
    recipe = _chosen(parsed, "recipe")
    if recipe is None:
        raise RecipeError([compose_errors.no_recipe_problem(words, library)])
    asked = [text for word in parsed if (text := _hydra_override(word, recipe, library))]
    try:
        defaults, cfg = _merged(asked)
    except (ConfigCompositionException, OmegaConfBaseException, ValueError) as error:
        missing = getattr(error, "missing_cfg_file", None) or ""
        text = str(error) or str(error.__cause__)
        raise RecipeError([compose_errors.explain_composition(text, missing, words, library)]) from None
    except RecursionError:
        raise RecipeError([compose_errors.explain_cycle(library)]) from None
    layers = [
        (library.opened_files[one.config_path], one.package or "")
        for one in defaults
        if one.config_path in library.opened_files
    ]
    written = [(word.key_or_group, word.value(), word.input_line or "") for word in parsed if _sets_key(word, library)]
    raw: Any = OmegaConf.to_container(cfg, resolve=False)
    origins = collect_value_origins(layers, written, raw)
    data, problems = _Resolver(origins).resolve(cfg)
    if (variant := _chosen(parsed, "variant")) is not None:
        data["variant"] = variant.removeprefix(f"{recipe}/")
        origins.entries["variant",] = ValueOrigin(override=f"variant={variant}", trusted=True)
    idle = frozenset(name for name in library.option_names("source") if f"source/{name}" not in library.opened_files)
    return ComposedRecipe(recipe, data, origins, tuple(problems), library.roots, idle)


def _merged(hydra_overrides: list[str]) -> tuple[list[ResultDefault], DictConfig]:
    """The files that these words choose, and their merged keys: what Hydra does, without its own configuration."""
    loader: Any = GlobalHydra.instance().config_loader()
    overrides, repository = loader._parse_overrides_and_create_caching_repo(PRIMARY_CONFIG, hydra_overrides)
    chosen = create_defaults_list(repository, PRIMARY_CONFIG, overrides, prepend_hydra=False, skip_missing=False)
    cfg = loader._compose_config_from_defaults_list(chosen.defaults, repository)
    OmegaConf.set_struct(cfg, True)
    loader._apply_overrides_to_config(chosen.config_overrides, cfg)
    return chosen.defaults, cfg


def _embedded(result: ConfigResult, package: str | None) -> ConfigResult:
    """The keys of a file below their package, as Hydra puts them; a copy, since it merges them by moving them."""
    placed = ConfigLoaderImpl._embed_result_config(result, package)  # pyright: ignore[reportPrivateUsage]
    return replace(result, config=deepcopy(result.config)) if placed is result else placed


class _CheckedRepository(ConfigRepository):
    """Hydra's view of the files: every one is opened through the library, which checks it first.

    `loaded` holds what was made of them; it stays as it is, so that further recipes may be composed of it.
    """

    def __init__(self, library: RecipeIndex, loaded: dict[str, ConfigResult | None]) -> None:
        self.library, self.loaded = library, loaded
        path = ConfigSearchPathImpl()
        path.append("hydra", "pkg://hydra.conf")
        for root in library.roots:
            path.append("benchbuild", str(root.path))
        path.append("schema", "structured://")
        super().__init__(path)
        self.sources = [
            _CachedFileSource(one.provider, one.path) if one.scheme() == "file" else one for one in self.sources
        ]

    def __deepcopy__(self, memo: dict[int, object]) -> _CheckedRepository:
        return self

    def load_config(self, config_path: str) -> ConfigResult | None:
        if not config_path.startswith("hydra/") and self.library.open_file(config_path) is None:
            return None
        if config_path not in self.loaded:
            self.loaded[config_path] = super().load_config(config_path)
        return self.loaded[config_path]


class _CachedFileSource(FileConfigSource):
    """Hydra's own reader of files, but one that reads a text once."""

    def load_config(self, config_path: str) -> ConfigResult:
        text = Path(self.path, self._normalize_file_name(config_path)).read_text(encoding="utf-8")
        header: Any = self._get_header_dict(text[:512])
        config = OmegaConf.create() if (data := _parsed(text)) is None else OmegaConf.create(data)
        return ConfigResult(config=config, path=f"file://{self.path}", provider=self.provider, header=header)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Any:
    """The text as OmegaConf reads YAML. It copies what it is given, so that this stays as it is."""
    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> Any:
    """OmegaConf's loader, over the parser in C if there is one: the text has passed the other one by then."""
    careful, quick = get_yaml_loader(), getattr(yaml, "CSafeLoader", None)
    if quick is None:
        return careful
    return type("Loader", (quick.__mro__[1], careful), {"__init__": quick.__init__})


@contextmanager
def _only_select() -> Generator[None]:
    """No resolver but ``oc.select`` exists meanwhile: a recipe cannot read the environment."""
    resolvers = BaseContainer._resolvers  # pyright: ignore[reportPrivateUsage]
    saved = dict(resolvers)
    for name in saved:
        if name != "oc.select":
            OmegaConf.clear_resolver(name)
    try:
        yield
    finally:
        resolvers.clear()
        resolvers.update(saved)


def _parse(words: Sequence[str], library: RecipeIndex) -> list[Override]:
    """Every word, parsed; RecipeError with all that cannot be read or may not stand there."""
    parser, parsed = OverridesParser.create(), list[Override]()
    problems: list[Problem] = []
    rest = list(words)
    while rest:
        if (torn := compose_errors.split_override_problem(rest)) is not None:
            problems.append(torn[1])
            del rest[: torn[0]]
            continue
        text = rest.pop(0)
        try:
            word = parser.parse_override(text)
        except HydraException:
            problems.append(compose_errors.unreadable_override_problem(text))
            continue
        problem = _refused(word, text, library)
        if problem is not None:
            problems.append(problem)
        parsed.append(word)
    if problems:
        raise RecipeError(problems)
    return parsed


def _refused(word: Override, text: str, library: RecipeIndex) -> Problem | None:
    key = word.key_or_group
    if word.is_sweep_override():
        return compose_errors.several_values_problem(text, key)
    value: Any = word.value()
    if _sets_key(word, library):
        return compose_errors.refused_override_problem(text, key, ())
    names = [str(name) for name in value] if isinstance(value, list) else [str(value)]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, str | list) and not (key == "variant" and value is None) and not word.is_delete():
        return compose_errors.invalid_name_problem(text, key)
    return compose_errors.refused_override_problem(text, key, names)


def _sets_key(word: Override, library: RecipeIndex) -> bool:
    """Whether a word sets a key; else it chooses from a group."""
    return isinstance(word.value(), dict) or not library.is_group(word.key_or_group)


def _chosen(parsed: Sequence[Override], group: str) -> str | None:
    values = [word.value() for word in parsed if word.key_or_group == group and word.package is None]
    return str(values[-1]) if values and values[-1] is not None else None


def _hydra_override(word: Override, recipe: str, library: RecipeIndex) -> str:
    """A word as Hydra gets it: choices as they are, ``variant=X`` as the recipe's own, other keys forced."""
    text = word.input_line or ""
    if word.is_delete():
        return text
    if _sets_key(word, library):
        return text if word.package is not None else "++" + text.lstrip("+")
    if word.key_or_group != "variant":
        return text if word.package is not None else text.lstrip("+")  # +model@evaluation.models.NAME=openai adds one
    name = word.value()
    if name is None:
        return ""
    if "/" in str(name) and not str(name).startswith(f"{recipe}/"):
        raise RecipeError([compose_errors.foreign_variant_problem(text, recipe)])
    return f"variant={recipe}/{str(name).removeprefix(f'{recipe}/')}"


class _Resolver:
    """Turns a composed tree into plain containers and notes every value that cannot be had."""

    def __init__(self, origins: ValueOrigins) -> None:
        self.origins = origins
        self.problems: list[Problem] = []
        self.nodes = 0

    def resolve(self, cfg: DictConfig) -> tuple[dict[str, Any], list[Problem]]:
        """The plain data, ``None`` where a value is missing, and the problems."""
        return self._mapping(cfg, ()), self.problems

    def _mapping(self, node: DictConfig, key: KeyPath) -> dict[str, Any]:
        return {str(name): self._child(node, name, (*key, str(name))) for name in node}

    def _child(self, node: DictConfig | ListConfig, name: Any, key: KeyPath) -> Any:
        self.nodes += 1
        if self.nodes > _MOST_NODES or len(key) > _DEEPEST:
            where = str(self.origins.written_origin(key))
            raise RecipeError([Problem("references make this recipe endless", key=dotted_key(key[:1]), where=where)])
        try:
            value: Any = node[name]
        except OmegaConfBaseException as error:
            where = str(self.origins.written_origin(key))
            text, known = self.origins.written_origin(key).text, [dotted_key(other) for other in self.origins.entries]
            kind = "circle" if "Recursive" in str(error) else type(error).__name__
            root = self.origins.written_origin(key).root
            own = root is None or root.path != bundled_folder("recipes").resolve()
            self.problems.append(compose_errors.explain_reference(kind, text, dotted_key(key), where, known, own=own))
            return None
        if isinstance(value, DictConfig):
            return self._mapping(value, key)
        if isinstance(value, ListConfig):
            return [self._child(value, index, (*key, index)) for index in range(len(value))]
        return value
