"""Liquid, figure 6: preparing PNG files beside other loaders."""

from liquid_tf.cli.bench.papers import loaders

FIGURE = loaders.figure("png")
