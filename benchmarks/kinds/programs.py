"""All of them, by name."""

from __future__ import annotations

from benchmarks.kinds import flows, idioms, oceans, pictures, samples

PROGRAMS = {program.name: program for module in (oceans, flows, pictures, samples, idioms) for program in module.PROGRAMS}
