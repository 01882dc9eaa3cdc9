"""The command line: ``python -m dynamo_lite run | explain | doctor | backends | breaks``. command.py is the door."""

import gc

_held = False


def hold_collector() -> None:
    """Collect no garbage until the program begins: what is imported before it lives as long as the process, and full
    collections come as late in the program as in plain Python."""
    global _held
    _held = gc.isenabled()
    gc.disable()


def release_collector() -> None:
    """Collect as before `hold_collector`."""
    global _held
    if _held:
        gc.enable()
    _held = False
