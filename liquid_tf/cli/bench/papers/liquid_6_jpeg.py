"""Liquid, figure 6: preparing JPEG files beside other loaders."""

from liquid_tf.cli.bench.papers import loaders

FIGURE = loaders.figure("jpeg")
