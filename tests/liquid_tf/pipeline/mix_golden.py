"""What timm's Mixup makes of batches: digests for mix_test.py.

Where timm and PyTorch are installed beside the engine, this prints them anew, and fails
where a batch of the engine is another one:

    PYTHONPATH=.:tests/liquid_tf python tests/liquid_tf/pipeline/mix_golden.py
"""

import hashlib
import math
import os
import tempfile
from collections.abc import Sequence

import numpy as np
import photos

import liquid_tf
from liquid_tf.transforms import ChannelsFirst, Mirror, Mix, Normalize, Step

# By mode: of images and labels of two epochs, timm 1.0.31.
DIGESTS = {
  "batch": "1346a4710cea812d",
  "pair": "6049b49f21e245c6",
  "elem": "f0d228540ca93d2d",
}

_SIZE, _CLASSES, _BATCH, _SEED = (12, 17), 4, 6, 11
_MIX, _SHARE = 24, 25  # purposes of random numbers

Batches = list[tuple[np.ndarray, np.ndarray]]


def batches(folder: str, mode: str) -> Batches:
  """Images [n, c, h, w] and labels of two epochs, as the engine mixes them."""
  return _run(folder, [Mix(mode=mode)])


def digest(found: Batches) -> str:
  """Of the bytes of batches."""
  data = b"".join(image.tobytes() + label.tobytes() for image, label in found)
  return hashlib.sha256(data).hexdigest()[:16]


def _run(folder: str, mix: Sequence[Step]) -> Batches:
  path = os.path.join(folder, "dataset")
  if not os.path.exists(path):
    for i in range(24):
      ramp = np.arange(math.prod(_SIZE) * 3) * (7 * i + 5) // 3 % 256
      pixels = ramp.astype(np.uint8).reshape(*_SIZE, 3)
      name = os.path.join(folder, "images", f"{i % _CLASSES}", f"{i:02}.png")
      photos.save(name, pixels)
    liquid_tf.convert(os.path.join(folder, "images"), path, "raw", progress=False)
  steps = [Mirror(), Normalize((110, 120, 130), (60, 61, 62)), *mix, ChannelsFirst()]
  with liquid_tf.loader(path, _BATCH, transforms=steps, seed=_SEED, cache=0) as loader:
    return [batch for _ in range(2) for batch in loader]


def _words(purpose: int, epoch: int, draw: int, attempt: int = 0) -> list[int]:
  """Philox4x32-10 of the counter of a draw."""
  low = attempt << 56 | purpose << 48 | draw
  counter = [low % 2**32, low >> 32, epoch, 0]
  key = [_SEED, 0]
  for _ in range(10):
    a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
    counter = [
      (b >> 32) ^ counter[1] ^ key[0],
      b % 2**32,
      (a >> 32) ^ counter[3] ^ key[1],
      a % 2**32,
    ]
    key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
  return counter


def _beta(alpha: float, epoch: int, draw: int) -> float:
  """A share, by the rule of docs/determinism.md and the library's functions."""
  for attempt in range(256):
    words = _words(_SHARE, epoch, draw, attempt)
    for pair in (words[:2], words[2:]):
      u, v = ((word + 0.5) / 2**32 for word in pair)
      if alpha < 1:
        x, y = math.log(u) / alpha, math.log(v) / alpha
        if math.exp(x) + math.exp(y) <= 1:
          return float(np.float32(1 / (1 + math.exp(y - x))))
      elif math.log(v) <= (alpha - 1) * math.log(4 * u * (1 - u)):
        return float(np.float32(u))
  raise AssertionError


class _Draws:
  """Gives timm the numbers of a batch, in the order in which it asks for them."""

  def __init__(self, mode: str, epoch: int, first: int, n: int):
    count = {"batch": 1, "pair": n // 2, "elem": n}[mode]
    draws = [first + i for i in range(count)]
    self._words = [_words(_MIX, epoch, draw) for draw in draws]
    cut = [2**32 - 1 - words[1] < 2**31 for words in self._words]
    alphas = [1.0 if one else 0.8 for one in cut]
    self._shares = [_beta(alpha, epoch, draw) for alpha, draw in zip(alphas, draws)]
    self._cut = cut
    # Of CutMix, a row and a column each; mixup asks for none.
    self._centres = [
      word
      for words, one, share in zip(self._words, cut, self._shares)
      if one and share != 1
      for word in words[2:]
    ]
    self._asked = 0

  def rand(self, *sizes: int) -> np.ndarray | float:
    # Below 1 for what happens, whose chance is 1; else on the right side of .5.
    self._asked += 1
    # First asked: whether (batch), or which of the two (others).
    whether = (self._asked == 1) == (not sizes)
    found = np.where(whether | np.array(self._cut), 0.0, 0.9)
    return found if sizes else float(found[0])

  def beta(self, a: float, b: float, size: int | None = None) -> np.ndarray | float:
    return self._shares[0] if size is None else np.array(self._shares)

  def randint(self, low: int, high: int, size: None = None) -> int:
    assert low == 0 and size is None
    return self._centres.pop(0) * high >> 32


def main() -> None:
  """Prints the digests of timm's batches, which the engine's must equal."""
  import torch
  from timm.data import mixup

  with tempfile.TemporaryDirectory() as folder:
    plain = _run(folder, [])
    for mode in DIGESTS:
      theirs = []
      for i, (image, label) in enumerate(plain):
        epoch, batch = divmod(i, len(plain) // 2)
        mix = mixup.Mixup(0.8, 1.0, mode=mode, num_classes=_CLASSES)
        # All of timm's numbers come from np.random.
        draws = _Draws(mode, epoch, batch * _BATCH, len(image))
        before = mixup.np.random
        mixup.np.random = draws
        try:
          mixed = mix(torch.from_numpy(image.copy()), torch.from_numpy(label))
        finally:
          mixup.np.random = before
        theirs.append(tuple(one.numpy() for one in mixed))
      for ours, wanted in zip(batches(folder, mode), theirs, strict=True):
        np.testing.assert_array_equal(ours[0], wanted[0])
        np.testing.assert_array_equal(ours[1], wanted[1])
      print(f'"{mode}": "{digest(theirs)}",')


if __name__ == "__main__":
  main()
