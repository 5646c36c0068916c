"""Liquid, figure 6: preparing PNG files beside other loaders."""

from tools.bench.papers import liquid_6

FIGURE = liquid_6.figure("png")
