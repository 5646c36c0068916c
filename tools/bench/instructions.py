"""Instructions that L3 is decoded with: the best ones, unless a measurement asks."""

from liquid_tf._native import ops


def runnable() -> list[str]:
  """The instruction sets that this machine has, as "avx2"; the best one last."""
  return _call("")


def use(name: str) -> None:
  """Decodes L3 with these instructions from now on, in this process.

  Nothing may be decoded at the same time. All give the same pixels.

  Args:
    name: one of `runnable()`.

  Raises:
    tf.errors.InvalidArgumentError: it is none of them.
  """
  _call(name)


def _call(name: str) -> list[str]:
  return [text.decode() for text in ops.lib().liquid_l3_instructions(name).numpy()]
