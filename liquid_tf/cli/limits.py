"""The flags of `liquid_tf.codecs.Limits`."""

from liquid_tf._native.limits import Limits
from liquid_tf.cli.flag_values import Flags


def define(values: Flags) -> None:
  """Defines --max_pixels and --max_scans."""
  usual = Limits()
  values.integer(
    "max_pixels",
    usual.pixels,
    "height times width of the largest image that is decoded",
  )
  values.integer(
    "max_scans",
    usual.scans,
    "most scans of a JPEG that is decoded; each costs a pass over the image",
  )


def read(values: Flags) -> Limits:
  """The limits that the flags say; raises ValueError where one is out of its range."""
  return Limits(pixels=values.max_pixels, scans=values.max_scans)
