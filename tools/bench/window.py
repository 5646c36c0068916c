"""Windows of ImageNet's recipes, for peers that have no step of their own for them.

Imports nothing, so that scripts of other interpreters can use it.
"""

import math


def random_window(width, height, rng):
  """What RandomResizedCrop takes: 8 to 100 % of the area, of a ratio of 3:4 to 4:3.

  Args:
    width: of the image.
    height: of the image.
    rng: whose `random` gives numbers from 0 to 1.

  Returns:
    (left, top, width, height); a square in the centre where ten draws did not fit.
  """
  for _ in range(10):
    area = width * height * (0.08 + 0.92 * rng.random())
    ratio = math.exp(math.log(4 / 3) * (2 * rng.random() - 1))
    wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
    if 0 < wide <= width and 0 < high <= height:
      left = int(rng.random() * (width - wide + 1))
      return left, int(rng.random() * (height - high + 1)), wide, high
  return central_window(width, height, 1)


def central_window(width, height, share):
  """A square in the centre: (left, top, width, height).

  Args:
    width: of the image.
    height: of the image.
    share: its side, of the shorter side of the image.
  """
  side = round(min(width, height) * share)
  return (width - side) // 2, (height - side) // 2, side, side
