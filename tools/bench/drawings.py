"""Drawings to compare codecs with: flat colours, outlines and smooth edges."""

import colorsys
import math
import random

from PIL import Image, ImageDraw

_SIDE = 512
_FINER = 4  # drawn at this multiple and averaged down, which smooths the edges

_Point = tuple[float, float]


def _star(centre: _Point, radius: float, turn: float, points: int) -> list[_Point]:
  """Corners of a star of `points` points."""
  corners = []
  for i in range(2 * points):
    angle = turn + math.pi * i / points
    reach = radius if i % 2 == 0 else radius / 2
    corners.append(
      (centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle))
    )
  return corners


def draw(seed: int) -> Image.Image:
  """Draws one image: shapes in seven colours on a plain ground.

  Args:
    seed: chooses the drawing. There are 4 shapes for 0, and 4 more for each step.

  Returns:
    An RGB image of 512 x 512 pixels.
  """
  chance = random.Random(seed)
  side = _SIDE * _FINER
  hue = chance.random()
  colours = [
    tuple(
      round(255 * value)
      for value in colorsys.hsv_to_rgb((hue + i / 7) % 1, chance.uniform(0.3, 1), 0.9)
    )
    for i in range(7)
  ]
  image = Image.new("RGB", (side, side), (255, 255, 255))
  canvas = ImageDraw.Draw(image)
  for _ in range(4 + 4 * seed):
    x, y = chance.uniform(0, side), chance.uniform(0, side)
    radius = chance.uniform(side / 40, side / 5)
    turn = chance.uniform(0, math.pi)
    box = (x - radius, y - radius * chance.uniform(0.4, 1), x + radius, y + radius)
    style = {
      "fill": chance.choice(colours),
      "outline": chance.choice([(0, 0, 0), chance.choice(colours)]),
      "width": _FINER * chance.randint(1, 5),
    }
    match chance.randrange(6):
      case 0:
        canvas.ellipse(box, **style)
      case 1:
        canvas.rounded_rectangle(box, radius / 4, **style)
      case 2:
        canvas.pieslice(box, math.degrees(turn), 360, **style)
      case 3:
        canvas.polygon(_star((x, y), radius, turn, 5), **style)
      case 4:
        degrees = math.degrees(turn)
        canvas.regular_polygon((x, y, radius), 3, rotation=degrees, **style)
      case _:
        line = {"fill": style["fill"], "width": style["width"], "joint": "curve"}
        canvas.line(_star((x, y), radius, turn, 3), **line)
  return image.reduce(_FINER)
