"""Epochs on the clock; uses the standard library only, so that peers can do so too."""

import json
import sys
import time


def serve(main):
  """Answers a request on stdin by what `main` makes of it; both are one JSON object."""
  # What libraries print goes elsewhere: the answer is the last line of stdout.
  answer, sys.stdout = sys.stdout, sys.stderr
  print(json.dumps(main(json.loads(sys.stdin.read()))), file=answer, flush=True)


def run(epochs, batches, as_array, cpu_seconds=time.process_time):
  """Runs epochs; the first one, which does not count, is looked at too.

  Args:
    epochs: how many.
    batches: gives the batches of the next epoch.
    as_array: turns a batch into a NumPy array [n, ..].
    cpu_seconds: gives the processor time so far.

  Returns:
    `epochs` [{images, seconds, cpu_seconds}]; and what the first one has given: `shape`
    of its first batch, `dtype`, and `mean` of all values.
  """
  entries, seen = [], {}
  total = values = 0
  for number in range(epochs):
    images = 0
    start, cpu_start = time.perf_counter(), cpu_seconds()
    # Named, so that its end is not on the clock.
    iterator = iter(batches())
    for batch in iterator:
      images += len(batch)
      if number == 0:
        array = as_array(batch)
        seen = seen or {"shape": list(array.shape), "dtype": array.dtype.name}
        total += float(array.astype("float32").sum(dtype="float64"))
        values += array.size
    seconds = time.perf_counter() - start
    used = cpu_seconds() - cpu_start
    entries.append({"images": images, "seconds": seconds, "cpu_seconds": used})
  return {"epochs": entries, **seen, "mean": total / values}
