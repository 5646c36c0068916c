"""The random numbers of a draw, as the steps of a recipe take them."""

MOST = 1 << 32


def words(
  purpose: int, seed: int, epoch: int, draw: int, part: int = 0, view: int = 0
) -> list[int]:
  """Four words of Philox4x32-10, by the counter of ops/image/draws.h.

  Args:
    purpose: a value of ops/core/rng.h.
    seed: of the dataset, below 2^32.
    epoch: below 2^32.
    draw: its number in the epoch, below 2^40.
    part: of the purpose.
    view: of the image.
  """
  low = part << 56 | purpose << 48 | view << 40 | draw
  counter, key = [low % MOST, low // MOST, epoch, 0], [seed, 0]
  for _ in range(10):
    a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
    counter = [
      *(b // MOST ^ counter[1] ^ key[0], b % MOST),
      *(a // MOST ^ counter[3] ^ key[1], a % MOST),
    ]
    key = [(key[0] + 0x9E3779B9) % MOST, (key[1] + 0xBB67AE85) % MOST]
  return counter


def happens(word: int, p: float) -> bool:
  """Whether a step of that chance takes place."""
  return MOST - 1 - word < p * MOST
