"""What Python writes of an op's constants is what the op reads."""

import os
import pathlib
import re

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._native import messages, ops

_TABLES = pathlib.Path(os.path.abspath(__file__)).parents[3] / "ops/message/messages.cc"
_KINDS = {
  "FormatPlanMessage": messages.format_plan,
  "PlanMessage": messages.plan,
  "SourceMessage": messages.source,
  "InterleaveMessage": messages.interleave,
  "FormatMessage": messages.format,
  "ViewMessage": messages.view,
  "DecodeMessage": messages.decode,
}


def _fields_of_ops() -> dict[str, list[tuple[int, str, str]]]:
  """Of each kind of message (number, name, what it holds), as ops read them."""
  parts = re.split(r"Status Read\(.*?,\s*(\w+)\* m\)", _TABLES.read_text())
  return {
    kind: [
      (int(number), name, holds.lower())
      for holds, number, name in re.findall(r'\.(\w+)\(\s*(\d+),\s*"(\w+)"', body)
    ]
    for kind, body in zip(parts[1::2], parts[2::2])
  }


def _format(**change) -> bytes:
  plain = dict(files=[2], record_samples=[], cached=0, fill=0, scan_groups=0)
  return messages.format_plan(**{**plain, **change})


def _plan(**change) -> bytes:
  plain = dict(
    seed=0,
    batch_size=1,
    shuffle=False,
    policy="liquid",
    formats=[_format()],
    sections=[],
  )
  return messages.plan(**{**plain, **change})


class MessagesTest(parameterized.TestCase, tf.test.TestCase):
  def test_ops_read_the_fields_that_are_written(self):
    written = {
      kind: [
        (number, name, write.__name__.removeprefix("_"))
        for name, (number, write) in message.fields.items()
      ]
      for kind, message in _KINDS.items()
    }
    self.assertEqual(_fields_of_ops(), written)
    for fields in written.values():
      self.assertEqual([number for number, *_ in fields], [*range(1, len(fields) + 1)])

  def test_bytes(self):
    self.assertEqual(
      _plan(seed=-1, batch_size=300, sections=[0, 127, 128, 2**63 - 1, -1]).hex(),
      # seed: ten bytes of two's complement; batch_size; shuffle; "liquid".
      "08" + "ff" * 9 + "01" + "10ac02" + "1800" + "2206" + b"liquid".hex()
      # A format of one file; sections, packed.
      + "2a0b" + "0a0102" + "1200" + "180020002800"
      + "3217" + "00" + "7f" + "8001" + "ff" * 8 + "7f" + "ff" * 9 + "01",
    )  # fmt: skip

  def test_reals_are_of_eight_bytes(self):
    number, write = messages.decode.fields["min_visible"]
    self.assertEqual(write(number, 0.5).hex(), "41" + "000000000000e03f")

  @parameterized.parameters(
    ([1, 200, 70000],),
    (np.array([1, 200, 70000], np.uint32),),
    (np.array([1, 200, 70000], np.int64),),
    (np.array([1, 200, 70000], np.uint64),),
    (np.array([0, 1, 0, 200, 0, 70000])[1::2],),
  )
  def test_a_list_has_one_encoding(self, values):
    self.assertEqual(_plan(sections=values), _plan(sections=(1, 200, 70000)))

  @parameterized.parameters(
    ({"seed": 2**63}, OverflowError),
    ({"seed": -(2**63) - 1}, OverflowError),
    ({"seed": 1.0}, TypeError),
    ({"sections": [2**63]}, OverflowError),
    ({"sections": [2**64]}, OverflowError),
    ({"sections": [1.5]}, OverflowError),
    ({"sections": [[1]]}, OverflowError),
    ({"colour": 1}, TypeError),
  )
  def test_what_is_no_value_of_a_field(self, change, error):
    with self.assertRaises(error):
      _plan(**change)

  def test_a_field_without_a_value(self):
    with self.assertRaisesRegex(TypeError, "not so: .'fill'"):
      messages.format_plan(files=[2], record_samples=[], cached=0, scan_groups=0)

  @parameterized.parameters(
    (_plan()[:-1], "message must be whole, and is damaged or cut at or behind field"),
    (_plan()[:-2], "message: field sections must be there"),
    (_plan() + b"\x3a\x00", r"message: field 7 must be one of 1\.\.6"),
    (_plan() + b"\x32\x00", "message: field sections must stand once"),
    (_plan(formats=[b""]), r"message formats\[0\]: field files must be there"),
  )
  def test_ops_refuse_what_is_no_message(self, given, error):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, error):
      ops.lib().liquid_plan_epoch(given, 0, 0)


if __name__ == "__main__":
  tf.test.main()
