"""How a memory budget is read and divided, and that a run stays inside it."""

import pathlib
import re
import shutil
import tempfile
from unittest import mock

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._cost import budget
from liquid_tf._native import free_memory

_MIB = 1 << 20


class ReadingTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (0, 0), (17, 17), ("17", 17), ("1 KB", 1000), ("1.5KiB", 1536), ("2gib", 2 << 30)
  )
  def test_bytes(self, value, wanted):
    self.assertEqual(budget.parse_bytes(value, "memory"), wanted)

  @parameterized.parameters("-1", "GiB", "1 stone", "1e9", -1, 1.5, True, None)
  def test_what_is_none(self, value):
    with self.assertRaisesRegex(ValueError, r"memory \(.*\) must be bytes"):
      budget.parse_bytes(value, "memory")

  def test_auto_takes_a_part_of_what_is_free(self):
    with mock.patch.object(free_memory, "free_memory", return_value=1000):
      self.assertEqual(budget.resolve_memory("auto", 200), 600)
      self.assertEqual(budget.resolve_memory("auto", 10**9), 75)
    free = free_memory.free_memory()
    self.assertBetween(budget.resolve_memory("auto"), 0.5 * free, 0.9 * free)

  @parameterized.parameters(
    ("0%", [0, 0]), ("30%", [30, 3]), ("100%", [100, 10]), (0, [0, 0]),
    (1500, [50, 5]), ("0", [0, 0]), ("1GiB", [100, 10]), ("auto", [25, 2]),
  )  # fmt: skip
  def test_cached_samples(self, cache, wanted):
    found = budget.cached_samples(cache, [100, 10], [1000, 2000], room=750)
    self.assertEqual(found, wanted)

  def test_a_cache_without_a_unit(self):
    with self.assertRaisesRegex(ValueError, r'"30"\) must have a unit: "30%"'):
      budget.cached_samples("30", [100], [1000], room=750)


class FreeMemoryTest(parameterized.TestCase, tf.test.TestCase):
  """Of a machine made of files, with 1,000 MiB available and cgroups of a version."""

  _FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
  }
  _NO_LIMIT = {1: str((1 << 63) - 4096), 2: "max"}

  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir().full_path)
    self._write("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:  1024000 kB\n")

  def _write(self, name, text):
    path = self._root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

  def _enter(self, version, path):
    line = {1: f"4:cpu,memory:{path}", 2: f"0::{path}"}[version]
    self._write("proc/self/cgroup", f"7:blkio:/\n{line}\n")

  def _group(self, version, path, limit, usage, unused=None):
    """A cgroup; numbers are MiB, and a `limit` of None is none."""
    mount = {1: "sys/fs/cgroup/memory", 2: "sys/fs/cgroup"}[version] + path
    limits, used, name = self._FILES[version]
    limit = self._NO_LIMIT[version] if limit is None else limit * _MIB
    self._write(f"{mount}/{limits}", f"{limit}\n")
    self._write(f"{mount}/{used}", f"{usage * _MIB}\n")
    if unused is not None:
      stat = f"{name}_dirty 1\n{name} {unused * _MIB}\ntotal 1\n"
      self._write(f"{mount}/memory.stat", stat)

  def _free(self):
    return free_memory.free_memory(str(self._root)) / _MIB

  def test_no_cgroup_limits_it(self):
    self.assertEqual(self._free(), 1000)

  @parameterized.parameters(1, 2)
  def test_groups_without_a_limit_do_not_limit_it(self, version):
    self._enter(version, "/a")
    self._group(version, "", None, 5000)
    self._group(version, "/a", None, 4000)
    self.assertEqual(self._free(), 1000)

  @parameterized.parameters(1, 2)
  def test_unused_pages_of_files_are_free(self, version):
    self._enter(version, "/a")
    self._group(version, "/a", 400, 390, unused=300)
    self.assertEqual(self._free(), 310)
    self._group(version, "/a", 400, 390, unused=395)
    self.assertEqual(self._free(), 400)

  @parameterized.product(version=(1, 2), limited=("", "/a", "/a/b", "/a/b/c"))
  def test_every_group_above_limits_it(self, version, limited):
    self._enter(version, "/a/b/c")
    for path in ("/a", "/a/b", "/a/b/c"):
      self._group(version, path, None, 100)
    self._group(version, limited, 400, 150)
    self.assertEqual(self._free(), 250)

  @parameterized.parameters(1, 2)
  def test_other_groups_do_not_limit_it(self, version):
    self._enter(version, "/a/b")
    self._group(version, "/a/b/c", 10, 0)
    self._group(version, "/a/c", 10, 0)
    self.assertEqual(self._free(), 1000)

  @parameterized.parameters(1, 2)
  def test_in_a_container_the_topmost_group_is_its_own(self, version):
    self._enter(version, "/pod/of/the/host")
    self._group(version, "", 400, 150, unused=50)
    self.assertEqual(self._free(), 300)

  def test_a_group_above_its_limit_has_none(self):
    self._group(2, "", 400, 401)
    self.assertEqual(self._free(), 0)


class DivisionTest(tf.test.TestCase):
  def _divide(self, memory, cache="50%", pixels=1, gpu=0):
    """Divides among samples of 1000 and 4000 bytes; decoded, `pixels` times that."""
    lookahead = 2 * budget.lookahead_bytes(memory, 2)
    size = [1000 * 1000, 500 * 4000]
    kept_size = [pixels * s for s in size]
    division = budget.divide(
      memory, lookahead, cache, [1000, 500], size, kept_size, [100, 50], gpu
    )
    spent = lookahead + division.spare_bytes
    for kept, resident, mean in zip(division.kept, division.resident, (1000, 4000)):
      spent += kept * pixels * mean + (resident - kept) * mean
    return division, spent

  def test_the_plan_never_depends_on_the_budget(self):
    for memory in (0, 10_000, 1_000_000, 10_000_000, 1 << 33):
      self.assertEqual(self._divide(memory)[0].cached, [500, 250])

  def test_all_fits(self):
    division, _ = self._divide(1 << 33)
    self.assertEqual(division.kept, [500, 250])
    self.assertEqual(division.resident, [600, 300])

  def test_never_more_than_the_budget(self):
    for memory in (0, 10_000, 300_000, 1_000_000, 1_900_000, 5_000_000, 9_000_000):
      for pixels in (1, 10):
        division, spent = self._divide(memory, pixels=pixels)
        self.assertLessEqual(spent, memory)
      for kept, resident in zip(division.kept, division.resident):
        self.assertLessEqual(kept, resident)
    self.assertEqual(self._divide(0)[0].resident, [0, 0])

  def test_a_gpu_has_its_part_beside_the_budget(self):
    # Of which the plan knows nothing, unless the cache is "auto".
    for gpu in (0, 100_000, 1_000_000, 1 << 30):
      for memory in (0, 1_000_000, 1 << 33):
        division, _ = self._divide(memory, gpu=gpu)
        self.assertEqual(division.cached, [500, 250])
        self.assertLessEqual(division.gpu_bytes, gpu)
        self.assertBetween(division.gpu_share, 0, 1)
    few = self._divide(1_500_000)[0]
    more = self._divide(1_500_000, gpu=1_000_000)[0]
    self.assertGreater(sum(more.kept), sum(few.kept))
    self.assertEqual((few.gpu_bytes, few.gpu_share), (0, 0))
    everything = self._divide(1 << 33, gpu=1 << 30)[0]
    self.assertEqual(everything.gpu_share, 1)
    # What is kept takes 1.5 MB, and some more there.
    self.assertBetween(everything.gpu_bytes, 1_500_000, 2_500_000)
    self.assertGreater(
      sum(self._divide(1_500_000, "auto", gpu=1_000_000)[0].cached),
      sum(self._divide(1_500_000, "auto")[0].cached),
    )

  def test_a_gpu_is_filled_first(self):
    # 100,000 records of 100 KB each, in two formats; a GPU holds 40 % of them.
    samples, size = [50_000, 50_000], [5_000_000_000] * 2
    for memory in (300_000_000, 1_000_000_000, 4_000_000_000):
      for cache in ("100%", "auto"):
        division = budget.divide(
          memory, 0, cache, samples, size, size, [0, 0], 4_300_000_000
        )
        there = division.gpu_share * sum(division.kept)
        self.assertGreater(division.gpu_bytes, 3_900_000_000)
        self.assertGreater(there, 0.37 * sum(samples))
        here = sum(division.kept) - there
        self.assertLess(here * 100_000 + there * (100_000 / 64 + 640), memory)
        self.assertGreater(division.spared_bytes, 0.97 * 100_000 * there)
        if cache == "auto":  # What is planned is kept.
          self.assertGreater(sum(division.kept), 0.999 * sum(division.cached))
    nothing = budget.divide(1 << 30, 0, 0, samples, size, size, [9, 9], 1 << 30)
    self.assertEqual((nothing.gpu_bytes, nothing.gpu_share), (0, 0))

  def test_of_pixels_fewer_are_kept(self):
    self.assertEqual(self._divide(1 << 33, pixels=10)[0].kept, [500, 250])
    encoded = self._divide(3_000_000, "auto")[0].cached
    decoded = self._divide(3_000_000, "auto", pixels=10)[0].cached
    for few, many in zip(decoded, encoded):
      self.assertBetween(few, many // 10 - 1, many // 10 + 1)
    self.assertGreater(decoded[0], 0)

  def test_batches_on_their_way(self):
    self.assertEqual(budget.decoded_bytes(0, 1000), 1000)
    self.assertEqual(budget.decoded_bytes(80_000, 1000), 10_000)
    self.assertEqual(budget.decoded_bytes(1 << 30, 1000), 16_000)
    for memory in (1000, 80_000, 1 << 30):
      for bytes_ in (100, 1000):
        spent = bytes_ * budget.decoded_batches(memory, bytes_, 8)
        self.assertLessEqual(spent, budget.decoded_bytes(memory, 1000))


class RunTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, "raw:1,bmp:1", per_class=25, sides=(64, 64))

  def _dataset(self, **options):
    return liquid_tf.dataset(
      self.path, 8, seed=2, features=["id", "image"], cache="60%", **options
    )

  def test_a_small_budget_costs_reads_and_not_the_order(self):
    ample = self._dataset(memory="1GiB")
    wanted = [runs.digests(ample) for _ in range(3)]
    whole = liquid_tf.stats(ample).epochs
    self.assertEqual(sum(whole[1]["memory_hits"].values()), 60)
    for memory in (200_000, 300_000, 800_000):
      tight = self._dataset(memory=memory)
      self.assertEqual([runs.digests(tight) for _ in range(3)], wanted)
      stats = liquid_tf.stats(tight)
      self.assertLessEqual(stats.summary()["cached"]["bytes"], memory)
      epochs = stats.epochs
      self.assertLess(sum(epochs[1]["memory_hits"].values()), 60)
      self.assertGreater(epochs[1]["disk_bytes"], whole[1]["disk_bytes"])
    # Some of it is still worth having.
    self.assertGreater(sum(epochs[1]["memory_hits"].values()), 0)

  def test_memory_for_less_than_a_batch_is_refused(self):
    # Of raw images as large as their pixels, beside which each record has some bytes.
    pixels = 64 * 64 * 3
    for memory in (0, pixels - 1, 8 * pixels):
      with self.assertRaisesRegex(
        ValueError, rf"memory \({memory} bytes\) must be at least 1\d{{5}} bytes"
      ) as caught:
        self._dataset(memory=memory)
    least = int(re.search(r"at least (\d+) bytes", str(caught.exception)).group(1))
    self.assertBetween(least, 16 * pixels, 16 * pixels + 8 * 200)
    self.assertLen(runs.ids(self._dataset(memory=least)), 13)
    with self.assertRaisesRegex(ValueError, f"at least {least} bytes"):
      self._dataset(memory=least - 1)

  @parameterized.parameters(
    ({"batch_size": None}, 32 * 2 * 64 * 64 * 3),
    (
      {"transforms": [transforms.RandomCrop(16)]},
      8 * (64 * 64 * 3 + 16 * 16 * 3),
    ),
    ({"features": ["bytes"]}, 8 * 64 * 64 * 3),
    ({"transforms": [transforms.Ragged()]}, 8 * 2 * 64 * 64 * 3),
  )
  def test_what_a_batch_takes(self, options, least):
    with self.assertRaisesRegex(ValueError, "memory .0 bytes. must be") as caught:
      liquid_tf.dataset(self.path, **{"batch_size": 8, "memory": 0, **options})
    told = int(re.search(r"at least (\d+) bytes", str(caught.exception)).group(1))
    self.assertBetween(told, least, least + 32 * 200)

  def test_the_budget_is_told(self):
    dataset = self._dataset(memory="123MiB")
    next(iter(dataset))
    self.assertEqual(liquid_tf.stats(dataset).summary()["memory"], 123 * _MIB)


if __name__ == "__main__":
  tf.test.main()
