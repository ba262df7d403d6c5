"""Composes a recipe with Hydra into plain containers: the only module that imports hydra or omegaconf."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.basecontainer import BaseContainer
from omegaconf.errors import OmegaConfBaseException

from benchbuilder import complaints
from benchbuilder.errors import Problem, RecipeError
from benchbuilder.library import Library
from benchbuilder.origins import Origin, Origins, collect_origins
from benchbuilder.recipe_file import Key, dotted
from benchbuilder.roots import Root, bundled

PRIMARY = "benchbuild"
_MOST_NODES = 20_000
_DEEPEST = 30


@dataclass(frozen=True)
class Composed:
    """A composed recipe: plain `data` with interpolations resolved, the `origins` of its keys, and the `problems`
    that were met (missing values, dangling references), which the caller reports with its own. `idle` names the
    options of the group `source` that were not chosen."""

    name: str
    data: dict[str, Any]
    origins: Origins
    problems: tuple[Problem, ...]
    roots: tuple[Root, ...]
    idle: frozenset[str]


def compose(words: Sequence[str], roots: Sequence[Root]) -> Composed:
    """Compose ``recipe=NAME key=value ...`` from the files below `roots`.

    Groups come first, then the recipe, its variant, local files, and the command line. RecipeError with every word
    that cannot be read, the first broken file, a name that stands in two roots, or a choice that does not exist.
    Can be called any number of times in one process.
    """
    library = Library(roots)
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(roots[0].path), job_name="benchbuild", version_base="1.3"):
            loader: Any = GlobalHydra.instance().config_loader()
            loader.repository = _Guarded(library)
            with _only_select():
                return _compose(words, library)
    finally:
        GlobalHydra.instance().clear()


def _compose(words: Sequence[str], library: Library) -> Composed:
    parsed = _parse(words, library)
    recipe = _chosen(parsed, "recipe")
    if recipe is None:
        raise RecipeError([complaints.no_recipe(words, library)])
    asked = [text for word in parsed if (text := _asked(word, recipe, library))]
    try:
        loader = GlobalHydra.instance().config_loader()
        defaults = loader.compute_defaults_list(PRIMARY, asked, RunMode.RUN).defaults
        cfg = hydra_compose(PRIMARY, asked)
    except (ConfigCompositionException, OmegaConfBaseException, ValueError) as error:
        missing = getattr(error, "missing_cfg_file", None) or ""
        text = str(error) or str(error.__cause__)
        raise RecipeError([complaints.explain_composition(text, missing, words, library)]) from None
    except RecursionError:
        raise RecipeError([complaints.explain_circle(library)]) from None
    layers = [(library.read[one.config_path], one.package or "") for one in defaults if one.config_path in library.read]
    written = [(word.key_or_group, word.value(), word.input_line or "") for word in parsed if _sets(word, library)]
    raw: Any = OmegaConf.to_container(cfg, resolve=False)
    origins = collect_origins(layers, written, raw)
    data, problems = _Resolver(origins).resolve(cfg)
    if (variant := _chosen(parsed, "variant")) is not None:
        data["variant"] = variant.removeprefix(f"{recipe}/")
        origins.entries["variant",] = Origin(word=f"variant={variant}", trusted=True)
    idle = frozenset(name for name in library.options("source") if f"source/{name}" not in library.read)
    return Composed(recipe, data, origins, tuple(problems), library.roots, idle)


class _Guarded(ConfigRepository):
    """Hydra's view of the files: every one is opened through the library, which checks it first."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.loaded: dict[str, ConfigResult | None] = {}
        path = ConfigSearchPathImpl()
        path.append("hydra", "pkg://hydra.conf")
        for root in library.roots:
            path.append("benchbuild", str(root.path))
        path.append("schema", "structured://")
        super().__init__(path)

    def __deepcopy__(self, memo: dict[int, object]) -> _Guarded:
        return self

    def load_config(self, config_path: str) -> ConfigResult | None:
        if not config_path.startswith("hydra/") and self.library.open(config_path) is None:
            return None
        if config_path not in self.loaded:
            self.loaded[config_path] = super().load_config(config_path)
        return self.loaded[config_path]


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


def _parse(words: Sequence[str], library: Library) -> list[Override]:
    """Every word, parsed; RecipeError with all that cannot be read or may not stand there."""
    parser, parsed = OverridesParser.create(), list[Override]()
    problems: list[Problem] = []
    rest = list(words)
    while rest:
        if (torn := complaints.torn_word(rest)) is not None:
            problems.append(torn[1])
            del rest[: torn[0]]
            continue
        text = rest.pop(0)
        try:
            word = parser.parse_override(text)
        except HydraException:
            problems.append(complaints.unreadable_word(text))
            continue
        problem = _refused(word, text, library)
        if problem is not None:
            problems.append(problem)
        parsed.append(word)
    if problems:
        raise RecipeError(problems)
    return parsed


def _refused(word: Override, text: str, library: Library) -> Problem | None:
    key = word.key_or_group
    if word.is_sweep_override():
        return complaints.sweep_word(text, key)
    value: Any = word.value()
    if _sets(word, library):
        return complaints.refused_word(text, key, ())
    names = [str(name) for name in value] if isinstance(value, list) else [str(value)]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, str | list) and not (key == "variant" and value is None) and not word.is_delete():
        return complaints.not_a_name(text, key)
    return complaints.refused_word(text, key, names)


def _sets(word: Override, library: Library) -> bool:
    """Whether a word sets a key; else it chooses from a group."""
    return isinstance(word.value(), dict) or not library.is_group(word.key_or_group)


def _chosen(parsed: Sequence[Override], group: str) -> str | None:
    values = [word.value() for word in parsed if word.key_or_group == group and word.package is None]
    return str(values[-1]) if values and values[-1] is not None else None


def _asked(word: Override, recipe: str, library: Library) -> str:
    """A word as Hydra gets it: choices as they are, ``variant=X`` as the recipe's own, other keys forced."""
    text = word.input_line or ""
    if word.is_delete():
        return text
    if _sets(word, library):
        return text if word.package is not None else "++" + text.lstrip("+")
    if word.key_or_group != "variant":
        return text.lstrip("+")
    name = word.value()
    if name is None:
        return ""
    if "/" in str(name) and not str(name).startswith(f"{recipe}/"):
        raise RecipeError([complaints.foreign_variant(text, recipe)])
    return f"variant={recipe}/{str(name).removeprefix(f'{recipe}/')}"


class _Resolver:
    """Turns a composed tree into plain containers and notes every value that cannot be had."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.problems: list[Problem] = []
        self.nodes = 0

    def resolve(self, cfg: DictConfig) -> tuple[dict[str, Any], list[Problem]]:
        """The plain data, ``None`` where a value is missing, and the problems."""
        return self._mapping(cfg, ()), self.problems

    def _mapping(self, node: DictConfig, key: Key) -> dict[str, Any]:
        return {str(name): self._child(node, name, (*key, str(name))) for name in node}

    def _child(self, node: DictConfig | ListConfig, name: Any, key: Key) -> Any:
        self.nodes += 1
        if self.nodes > _MOST_NODES or len(key) > _DEEPEST:
            where = str(self.origins.written(key))
            raise RecipeError([Problem("references make this recipe endless", key=dotted(key[:1]), where=where)])
        try:
            value: Any = node[name]
        except OmegaConfBaseException as error:
            where = str(self.origins.written(key))
            text, known = self.origins.written(key).text, [dotted(other) for other in self.origins.entries]
            kind = "circle" if "Recursive" in str(error) else type(error).__name__
            root = self.origins.written(key).root
            own = root is None or root.path != bundled("recipes").resolve()
            self.problems.append(complaints.explain_reference(kind, text, dotted(key), where, known, own=own))
            return None
        if isinstance(value, DictConfig):
            return self._mapping(value, key)
        if isinstance(value, ListConfig):
            return [self._child(value, index, (*key, index)) for index in range(len(value))]
        return value
