"""All loop programs, by name."""

from __future__ import annotations

from benchmarks.loops import elements, images, linear_algebra, objects, sequences, states, stencils

PROGRAMS = {
    program.name: program for module in (stencils, linear_algebra, sequences, images) for program in module.PROGRAMS
}
STATES = {program.name: program for program in states.PROGRAMS}
ELEMENTS = {program.name: program for program in elements.PROGRAMS}
OBJECTS = {program.name: program for program in objects.PROGRAMS}
ALL = PROGRAMS | STATES | ELEMENTS | OBJECTS
