"""``python -m dynamo_lite``: see dynamo_lite.cli."""

import sys

from dynamo_lite.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
