"""``benchbuild view``: look at builds in a browser."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from rich.console import Console

from benchbuilder.api import export_site, release_of
from benchbuilder.cli.session import split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import check_content, display_path, load_recipe
from benchbuilder.core import DataError, Problem, RecipeError, count_phrase, imports_of
from benchbuilder.explorer import BuildFolder, find_builds

_BUILDS = "builds"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def run(args: argparse.Namespace, console: Console) -> int:
    """Serve the builds on this machine until Ctrl-C."""
    if not 0 <= args.port <= 65535:
        raise RecipeError(
            [Problem("--port is a number from 0 to 65535", where="command line: --port", actual=str(args.port))]
        )
    if args.export is not None:
        return _export(args, console)
    with imports_of("view", "the explorer"):
        from benchbuilder.explorer import ExplorerSite, create_explorer
        from benchbuilder.web import serve_app
    builds = _builds(args)
    site = ExplorerSite(
        {build.name: build for build in builds}, read_only=args.read_only, recipes=tuple(args.recipes or ())
    )

    def show(address: str) -> None:
        entrance = f"{address}enter/{site.token}"
        print_line(console, f"{count_phrase(len(builds), 'build')} at {entrance} (Ctrl-C stops)")
        if not args.no_browser and _has_screen():
            webbrowser.open(entrance)

    serve_app(create_explorer(site), "127.0.0.1", args.port, on_ready=show, on_stop=site.trials.close)
    return 0


def _export(args: argparse.Namespace, console: Console) -> int:
    """Write the pages of a release as static files, and say where they are and how large."""
    names, overrides = split_names(args.overrides)
    if len(names) + bool(overrides) != 1:
        raise RecipeError([Problem("--export needs one release", where="command line: --export",
                                   hint="name the folder of a release, or recipe=NAME")])  # fmt: skip
    release = Path(names[0]) if names else release_of(overrides, args.recipes, Path.cwd())
    site = export_site(release, args.export)
    size = f"{count_phrase(site.files, 'file')}, {site.bytes / 1e6:.1f} MB"
    print_line(console, f"{display_path(release)} as pages in {display_path(site.folder)}: {size}")
    index = display_path(site.folder / "index.html")
    print_line(console, f"next: open {index} in a browser, or copy the folder to any web server")
    return 0


def _builds(args: argparse.Namespace) -> list[BuildFolder]:
    """The builds that the arguments mean; DataError if there is none."""
    names, overrides = split_names(args.overrides)
    folders = [Path(name) for name in names]
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise DataError(f"{display_path(missing[0])} is not a folder", where="command line",
                        next="name folders of builds, or recipe=NAME")  # fmt: skip
    own: Path | None = None
    if overrides:
        own = load_recipe(overrides, recipes=args.recipes).recipe.place_of_build(Path.cwd())
        folders.insert(0, own)
    folders = folders or [Path(_BUILDS)]
    words = {own: tuple(overrides)} if own is not None else {}
    builds = find_builds(folders, words, keeps_indexes=not args.read_only)
    if not builds:
        where = ", ".join(map(display_path, folders))
        raise DataError(f"there is no build in {where}", where="command line", why="no folder below has a store",
                        next="build first: benchbuild recipe=NAME, or name the folder of a build")  # fmt: skip
    for build in builds:
        check_content(build.folder)
    return builds


def _has_screen() -> bool:
    """Whether a browser can open a window here; on a machine without a screen, the address is only printed."""
    return not sys.platform.startswith("linux") or any(os.environ.get(name) for name in _SCREENS)
