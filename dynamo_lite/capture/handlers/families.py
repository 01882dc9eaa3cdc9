"""All families of handlers: importing this registers them."""

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
