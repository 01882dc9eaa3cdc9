"""The handlers of canonical instructions, by family; importing this package registers them all."""

from dynamo_lite.capture.handlers import (
    attributes,
    calls,
    containers,
    control,
    names,
    operators,
    stack,
)

__all__ = ["attributes", "calls", "containers", "control", "names", "operators", "stack"]
