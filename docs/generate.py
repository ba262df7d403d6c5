"""Writes the reference, the site's navigation and the table of completion: ``python docs/generate.py [--check]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reference_pages import (
    api_page,
    completion_table,
    fault_pages,
    kind_pages,
    program_pages,
    record_pages,
    site_nav,
    test_pages,
)

FOLDER = Path(__file__).parent
PAGES = {
    "reference/cli.md": program_pages.command_line,
    "reference/python-api.md": api_page.python_api,
    "reference/exit-codes.md": program_pages.exit_codes,
    "reference/recipe-schema.md": kind_pages.recipe_schema,
    "reference/kinds.md": kind_pages.kinds_page,
    "reference/drop-reasons.md": kind_pages.drop_reasons,
    "reference/records.md": record_pages.records,
    "explanation/faults-that-were-tried.md": fault_pages.faults,
    "reference/tests.md": test_pages.tests_page,
}
OTHERS = {
    "../mkdocs.yml": site_nav.site_settings,
    "../benchbuilder/cli/completion_table.json": completion_table.completion_table,
}
NOTE = "<!-- Written by docs/generate.py from the code: change the docstrings there, then run it again. -->\n\n"


def main() -> int:
    """Write every page, or say which ones are stale (exit code 1)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is stale")
    check = parser.parse_args().check
    stale: list[str] = []
    texts = {name: NOTE + make().rstrip() + "\n" for name, make in PAGES.items()}
    texts |= {name: make().rstrip() + "\n" for name, make in OTHERS.items()}
    for name, text in texts.items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    told = "stale" if check else "written"
    sys.stdout.write(f"{told}: {', '.join(stale)}\n" if stale else "every generated page is up to date\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
