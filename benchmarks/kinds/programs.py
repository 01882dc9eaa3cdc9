"""All of them, by name."""

from __future__ import annotations

from benchmarks.kinds import flows, idioms, oceans, pictures, samples

MODULES = (oceans, flows, pictures, samples, idioms)
PROGRAMS = {program.name: program for module in MODULES for program in module.PROGRAMS}
