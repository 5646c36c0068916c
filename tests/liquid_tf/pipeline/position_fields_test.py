"""A position's JSON is read field by field: what is hostile is refused by its name."""

import copy
import json
import pathlib
import re
from typing import Any

from absl.testing import absltest, parameterized

from liquid_tf._pipeline.position import Position

_POSITION: dict[str, Any] = {
  "version": 1,
  "epoch": 1,
  "step": 9,
  "cuts": [[2, 3], [4, 1]],
  "cached": [10, 7],
  "mixes": [1, 2, 3],
  "run": {
    "dataset": "index 0xcddb253f",
    "split": "train",
    "samples": "60 samples, fingerprint fdcf5cde0f59ea88",
    "shard_policy": "pad",
    "batch_size": 8,
    "shuffle": True,
    "seed": -5,
    "scan groups": ["pcr"],
    "mix": {"png": 5, "raw": 3},
    "transforms": ["RandomCrop(17)"],
    "worker": [0, 1],
    "batches": 8,
    "samples of scan groups": [5, 3],
  },
  "borrowed": [80],
  "skipped": [3],
}
_MAY_LACK = {"mix", "transforms", "borrowed", "skipped"}
_MAY_BE_NULL = {"shard_policy", "scan groups", "samples of scan groups"}

_PAGE = (pathlib.Path(__file__).parents[3] / "docs/formats/position.md").read_text()

# As JSON has them.
_HOSTILE = [
  *(
    "null",
    "true",
    '"1"',
    '"é"',
    "1.0",
    "NaN",
    "-1e999",
    "-1",
    "0",
    "[]",
    "[[]]",
    "{}",
  ),
  *(
    "[[]]",
    '{"png": -1}',
    '{"png": "3"}',
    "[-1]",
    "[1.5]",
    "[true]",
    "[null]",
    '["a"]',
  ),
  *("[[0, 3]]", "[[2]]", "[[2, 3, 4]]", "[[65537, 1]]", "[1, 1]", "[1, 0]"),
  *(str(1 << 63), str(1 << 200), f"[{1 << 63}]", "9" * 4000, f'"{"x" * 100000}"'),
  "[" * 400 + "]" * 400,
]


def _fields(value: Any, way: tuple = ()) -> list[tuple]:
  """The way to each field, and to each item of a list."""
  found = [way] if way else []
  for key in value if isinstance(value, dict) else ():
    found += _fields(value[key], (*way, key))
  for i in range(len(value)) if isinstance(value, list) else ():
    found += _fields(value[i], (*way, i))
  return found


def _changed(way: tuple, value: Any) -> dict[str, Any]:
  changed = copy.deepcopy(_POSITION)
  inner: Any = changed
  for key in way[:-1]:
    inner = inner[key]
  inner[way[-1]] = value
  return changed


def _is_number(value: Any, least: int, most: int = (1 << 63) - 1) -> bool:
  return type(value) is int and least <= value <= most


def _numbers(value: Any) -> bool:
  return isinstance(value, list) and all(_is_number(one, 0) for one in value)


def _is_right(way: tuple, value: Any) -> bool:
  """Whether a hostile value is none there, said apart from what is tested."""
  field = [key for key in way if isinstance(key, str)][-1]
  if field == "version":
    return type(value) is int and value == 1
  if value is None:
    return field in _MAY_BE_NULL and way[-1] == field
  if field in ("dataset", "split", "samples", "shard_policy") or (
    field in ("scan groups", "transforms") and way[-1] != field
  ):
    return isinstance(value, str)
  if field in ("scan groups", "transforms"):
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
  if field == "shuffle":
    return isinstance(value, bool)
  if field == "seed":
    return _is_number(value, -(1 << 63))
  if field == "step":
    return _is_number(value, 4)
  if field in ("batch_size", "batches"):
    return _is_number(value, 1)
  if field == "mix":
    return isinstance(value, str) or value == {}
  if field == "cuts":
    return value == [] if way[-1] == field else len(way) == 2 and value == [1, 1]
  if field == "worker":
    return way[-1] == 1 and _is_number(value, 1) or way[-1] == 0 and value == 0
  if field in ("cached", "mixes", "borrowed", "skipped", "samples of scan groups"):
    return _numbers(value) if way[-1] == field else _is_number(value, 0)
  if field in ("epoch", "png", "raw"):
    return _is_number(value, 0)
  return False


class PositionFieldsTest(parameterized.TestCase):
  def test_what_is_read_is_what_was_saved(self):
    text = json.dumps(_POSITION)
    self.assertEqual(Position.parse(json.loads(text), "start").saved(), _POSITION)
    least = copy.deepcopy(_POSITION)
    for name in ("borrowed", "skipped"):
      del least[name]
    for name in ("mix", "transforms"):
      del least["run"][name]
    self.assertEqual(Position.parse(least, "start").saved(), least)

  def test_every_hostile_value_is_refused_by_its_fields_name(self):
    refused = 0
    for way in _fields(_POSITION):
      for text in _HOSTILE:
        value = json.loads(text)
        with self.subTest(way=way, value=text[:40]):
          if way[0] == "cuts" and len(way) == 3 and _is_number(value, 1, 5):
            continue
          changed = _changed(way, value)
          if _is_right(way, value):
            Position.parse(changed, "start")
            continue
          with self.assertRaises(ValueError) as caught:
            Position.parse(changed, "start")
          message = str(caught.exception)
          self.assertStartsWith(message, f'start["{way[0]}"]')
          if way[0] == "run" and len(way) > 1:
            self.assertStartsWith(message, f'start["run"]["{way[1]}"]')
          self.assertLess(len(message), 500)
          refused += 1
    self.assertGreater(refused, 500)

  def test_missing_and_unknown_fields(self):
    for way in _fields(_POSITION):
      if not isinstance(way[-1], str) or way[-1] in ("png", "raw"):
        continue
      changed = _changed(way, None)
      inner = changed if len(way) == 1 else changed["run"]
      del inner[way[-1]]
      if way[-1] in _MAY_LACK:
        Position.parse(changed, "start")
      elif way != ("version",):
        with self.assertRaisesRegex(ValueError, f'must have "{re.escape(way[-1])}"'):
          Position.parse(changed, "start")
    for way in (("more",), ("run", "more"), ("run", "x" * 100000)):
      with self.assertRaisesRegex(
        ValueError, r'\) has no field "(more|x{100})": leave'
      ):
        Position.parse(_changed(way, 1), "start")

  @parameterized.parameters(2, 0, -1, True, 1.0, "1", None, [[1]], 1 << 80)
  def test_another_version_is_named(self, version):
    with self.assertRaisesRegex(
      ValueError,
      r'^the place\["version"\] \(.*\) must be 1, the version that this release of',
    ):
      Position.parse(_POSITION | {"version": version}, "the place")

  def test_a_missing_version_is_named(self):
    given = {k: v for k, v in _POSITION.items() if k != "version"}
    with self.assertRaisesRegex(ValueError, r'^start\["version"\] \(none\) must be 1'):
      Position.parse(given, "start")
    # Whatever else it has: a later version may have other fields.
    with self.assertRaisesRegex(ValueError, r'^start\["version"\] \(3\) must be 1'):
      Position.parse({"version": 3, "more": 1}, "start")

  def test_the_page_has_every_field(self):
    example = json.loads(_PAGE.partition("```json\n")[2].partition("```")[0])
    self.assertEqual(Position.parse(example, "start").saved(), example)
    rows = re.findall(r"^\| (`.*?`) \|", _PAGE, re.MULTILINE)
    self.assertCountEqual(
      re.findall("`(.*?)`", " ".join(rows)), [*_POSITION, *_POSITION["run"]]
    )

  def test_fields_fit_each_other(self):
    with self.assertRaisesRegex(
      ValueError, r'^start\["step"\] \(3\) must be at least 4, the steps of its cuts'
    ):
      Position.parse(_POSITION | {"step": 3}, "start")
    with self.assertRaisesRegex(
      ValueError, r'^start\["run"\]\["worker"\] \(\[1, 1\]\) must be \[index, count\]'
    ):
      Position.parse(_changed(("run", "worker"), [1, 1]), "start")


if __name__ == "__main__":
  absltest.main()
