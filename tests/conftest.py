from __future__ import annotations

import gc
import os
import platform
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import HealthCheck, settings

# before numpy and torch are imported: the threads of two workers would wait for each other
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# processors round 32 bits otherwise than each other: one guess of 54,000 in an audit was another, and the guard red
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# recipes that were composed once, for all processes of a run; a later run finds its own
os.environ.setdefault("BENCHBUILDER_CACHE", tempfile.mkdtemp(prefix="benchbuilder-cache-"))

from costs import register
from last_run import Recorder
from once import Once
from patience import patience
from tiers import QUICK, changed_parts, chosen_tiers, is_due, mark, tier_of, tiers_in
from toy_kinds import TOY_KINDS
from warm import RUN, end, shared

from benchbuilder.config import search_path
from benchbuilder.core import registry

os.environ.setdefault(RUN, str(os.getpid()))
patience()  # measured once, for all workers of a run
_WARM = Path(f"{os.environ['BENCHBUILDER_CACHE']}-warm-{os.environ[RUN]}")

# as the command does: collections of garbage cost a sixth of the time
gc.set_threshold(100_000, *gc.get_threshold()[1:])

# a test never depends on the speed of the machine
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

# they are for the libraries of this project, and some tests install others
for name in ("PIP_CONSTRAINT", "PIP_NO_INDEX"):
    os.environ.pop(name, None)

# pages open in the language of the locale
os.environ |= {"LANG": "C.UTF-8"}
for name in ("LC_ALL", "LC_MESSAGES"):
    os.environ.pop(name, None)

# a shell ignores SIGINT in what it runs in the background, and tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)

_FIRST = ("test_structure.py", "tests/docs/test_", "config/messages/")
"""Parts of the names of tests that cost little and fail most often: they compare the parts of the project."""
_LONGEST = (
    "README.md]",
    "test_results_are_as_recorded[care_mi]",
    "test_without_extras_a_command_that_needs_one_names_it",
    "test_faults_of_every_sort_one_after_the_other_lose_nothing",
    "test_every_option_composes_with_a_recipe",
    "test_the_examples_of_every_help_run",
    "test_two_processes_learn_what_one_does",
    "evaluate-and-judge.md]",
    "evaluate-your-models.md]",
    "test_its_tests_pass",
    "run-on-a-cluster.md]",
    "test_the_whole_command_at_tiny_sizes",
)
"""Parts of the names of the longest tests, which begin first: workers then end at about the same time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `.ci/run` gives."""
    parser.addoption("--record", default="", metavar="FILE", help="write what became of the tests of each tier")
    parser.addoption("--since", default="", metavar="COMMIT", help="run the full tests of parts changed since then too")


def pytest_configure(config: pytest.Config) -> None:
    """Measure what tests cost, and keep the result if a file is given."""
    register(config)
    # a look at the whole heap at the end of each process takes seconds, and finds what earlier collections found
    config.stash[gc_collect_iterations_key] = 0
    if config.getoption("record") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config.invocation_params.dir / config.getoption("record")))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the warm process and delete the cache of this run."""
    if not hasattr(config, "workerinput"):
        end(_WARM)
        shutil.rmtree(_WARM, ignore_errors=True)
        shutil.rmtree(os.environ["BENCHBUILDER_CACHE"], ignore_errors=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which the run leaves out every test, unless it is named: a worker imports for ten seconds."""
    path = collection_path
    named = {(config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args}
    if not path.name.startswith("test_") or path.resolve() in named:
        return None
    if is_due(path, config.getoption("since")):
        return None
    return tiers_in(path).isdisjoint(chosen_tiers(config.getoption("markexpr"))) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its tier, and begin with those that fail most often and with the longest."""
    since = config.getoption("since")
    for item in items:
        mark(item, since)
        tier = tier_of(item)
        if tier != QUICK and not is_due(item.path, since) and tier not in tiers_in(item.path):
            raise pytest.UsageError(f"{item.nodeid}: -m {tier} would leave this file out; see tiers_in")
        if tier == QUICK and "warm_folder" in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid}: it runs whole commands, so mark it @pytest.mark.push")
    items.sort(key=lambda item: not any(part in item.nodeid for part in (*_FIRST, *_LONGEST)))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which parts changed."""
    since = config.getoption("since")
    return [f"since {since}: {file} changed, so all tests of {part}" for part, file in changed_parts(since).items()]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With BENCHBUILDER_TESTS=all, as `.ci/run` sets it where everything is there, no test may be skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter is not None else ()
    if skipped and os.environ.get("BENCHBUILDER_TESTS") == "all" and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\n{len(skipped)} skipped: with BENCHBUILDER_TESTS=all that is an error", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def warm_folder() -> Path:
    """A folder for the PATH with a `benchbuild` that does not import everything anew (see `warm`)."""
    return shared(_WARM)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, warm_folder: Path) -> Once:
    """Builds that many tests begin with."""
    return Once(tmp_path_factory, warm_folder / "benchbuild")


@pytest.fixture
def toy_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kinds that do nothing stand in for the built-in ones."""
    monkeypatch.setattr(registry, "BUILT_IN_KINDS", TOY_KINDS)
    registry.kinds_of_slot.cache_clear()
    yield
    registry.kinds_of_slot.cache_clear()


GARDEN: dict[str, str] = yaml.safe_load((Path(__file__).parent / "garden.yaml").read_text("utf-8"))


class Garden:
    """A current folder with a small tree of recipes, which a test may change. `garden.yaml` holds its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_kinds: None) -> Garden:
    made = Garden(tmp_path / "project")
    for name, text in GARDEN.items():
        made.write(name, text)
    monkeypatch.chdir(made.folder)
    monkeypatch.setattr(search_path, "bundled_folder", lambda name: tmp_path / "nothing" / name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(search_path.RECIPES_ENV, raising=False)
    return made
