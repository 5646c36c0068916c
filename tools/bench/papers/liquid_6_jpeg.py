"""Liquid, figure 6: preparing JPEG files beside other loaders."""

from tools.bench.papers import liquid_6

FIGURE = liquid_6.figure("jpeg")
