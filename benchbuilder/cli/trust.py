"""``benchbuild trust``: the folders whose recipes may set what only the user sets."""

from __future__ import annotations

import argparse
import os

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.config import trust_always, trusted_folders


def run(args: argparse.Namespace, console: Console) -> int:
    """Add a folder to the user's own configuration, or list those that are trusted."""
    if args.folder is not None:
        file = trust_always(args.folder, os.environ)
        print_line(console, f"trusted from now on; to undo this, remove its line from {file}")
    for folder in dict.fromkeys(trusted_folders(os.environ)):
        print_line(console, str(folder))
    return 0
