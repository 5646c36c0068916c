"""Opening a dataset with very many samples: time and memory."""

import json
import os
import subprocess
import sys
import time

import tensorflow as tf

from tools.bench import empty_dataset, machine

# One million samples take the same code and 4 s more to make.
_SAMPLES = int(os.environ.get("LIQUID_TEST_SAMPLES", 250_000))
_FILES = 64


def _open(large: str, small: str) -> dict[str, float]:
  """Opens the small one to have everything loaded, then the large one."""
  import liquid_tf

  first = liquid_tf.dataset(small, batch_size=256, memory="64MiB", cache=0)
  before = machine.anonymous_bytes()
  begin = time.perf_counter()
  dataset = liquid_tf.dataset(large, batch_size=256, memory="64MiB", cache=0)
  seconds = time.perf_counter() - begin
  held = machine.anonymous_bytes() - before
  batches = int(dataset.cardinality())
  del first
  return {"seconds": seconds, "bytes": held, "batches": batches}


class LargeIndexTest(tf.test.TestCase):
  def test_opens_quickly_and_holds_little(self):
    large, small = self.create_tempdir().full_path, self.create_tempdir().full_path
    empty_dataset.write(large, _SAMPLES, _FILES)
    empty_dataset.write(small, 1024, _FILES)
    code = (
      "import json, sys, large_index_test as m\n"
      "print(json.dumps(m._open(sys.argv[1], sys.argv[2])))"
    )
    found = json.loads(
      subprocess.run(
        [sys.executable, "-c", code, large, small],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
      ).stdout.splitlines()[-1]
    )
    per_encoding = found["bytes"] / (2 * _SAMPLES)
    print(
      f"{_SAMPLES} samples in 2 formats: {found['seconds']:.3f} s, "
      f"{per_encoding:.1f} bytes per stored encoding"
    )
    self.assertEqual(found["batches"], -(-2 * _SAMPLES // 256))
    self.assertLessEqual(per_encoding, 64)
    # 1 s a million samples, and room for a busy machine.
    self.assertLess(found["seconds"], 4 * _SAMPLES / 1_000_000 + 1)


if __name__ == "__main__":
  tf.test.main()
