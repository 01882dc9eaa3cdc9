"""``python -m dynamo_lite``: see dynamo_lite.cli."""

import sys

from dynamo_lite._first import leave_unseen
from dynamo_lite.collector import hold_collector

if __name__ == "__main__":
    leave_unseen(sys._getframe().f_code)
    hold_collector()
    from dynamo_lite.cli.command import main

    code = main()
    if not sys.flags.inspect:  # else the prompt of `python -i` comes next
        sys.exit(code)
