"""``python -m tests.docs --write``: writes the generated pages and the outputs of the examples again (make docs)."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.docs.pages import GENERATED, PAGES, ROOT, run_examples, without_times


def main() -> None:
    """Write what differs; say which pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs", description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    for page, make in GENERATED.items():
        _write(page, make())
    for page in PAGES:
        text = (ROOT / page).read_text()
        with tempfile.TemporaryDirectory() as folder:
            for command, shown, now in run_examples(text, Path(folder)):
                if without_times(shown) != without_times(now):
                    text = text.replace(f"$ {command}\n{shown}```", f"$ {command}\n{now}```")
        _write(page, text)


def _write(page: str, text: str) -> None:
    path = ROOT / page
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"wrote {page}")


if __name__ == "__main__":
    main()
