"""The program `canopy` of a wheel, which has it beside the package."""

import os
import pathlib
import sys


def main():
    """Runs it in place of this process, with the same arguments."""
    program = pathlib.Path(__file__).parent / "bin" / "canopy"
    os.execv(program, ["canopy", *sys.argv[1:]])
