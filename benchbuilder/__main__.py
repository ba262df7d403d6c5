"""Runs the command line: ``python -m benchbuilder``."""

import sys

from benchbuilder.cli import main

if __name__ == "__main__":
    sys.exit(main())
