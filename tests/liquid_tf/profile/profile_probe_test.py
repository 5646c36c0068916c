"""Probes begin in a steady state, and leave nothing behind them."""

import itertools
import pathlib
import statistics
import time
from unittest import mock

import runs
import tensorflow as tf
from absl.testing import absltest

import liquid_tf
from liquid_tf._cost import model, planner
from liquid_tf._measure import process, repeated
from liquid_tf._profile import disk, probe, sample, stock, verify
from liquid_tf._store import manifest as manifests


class ProbeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = runs.make(
      self.create_tempdir().full_path, "png:1,raw:1", per_class=8, replicate=True
    )

  def _setting(self, memory, seconds=0.05):
    return probe.Setting(self.path, self.path, 4, 1, memory, seconds, ())

  def test_one_format_competes_with_none(self):
    self.assertEqual(probe._settled(self._setting(1 << 30), {"raw": 1.0}), 0)

  def test_several_begin_behind_what_each_reads_ahead(self):
    formats = manifests.load(self.path)["formats"]
    size = {name: e["bytes"] / e["samples"] for name, e in formats.items()}
    for memory, ahead in ((64 << 20, 4 << 20), (1 << 40, 64 << 20)):
      for raw in (0.25, 0.5):
        mix = {"png": 1 - raw, "raw": raw}
        found = probe._settled(self._setting(memory), mix)
        # In so many images of the mix, each format has half more than its memory holds.
        for name, share in mix.items():
          self.assertGreaterEqual(found * share * size[name], 1.5 * ahead)
        last = max(ahead / share / size[name] for name, share in mix.items())
        self.assertAlmostEqual(found, 1.5 * last, delta=1)

  def _drawn(self, mix, seconds_each, stage="load"):
    """Images that come before a run of a second counts, on a clock that is made up."""
    pipeline = probe.Pipeline(self._setting(64 << 20, 1.0), mix, stage)
    now, drawn = 0.0, 0

    def batches():
      nonlocal now, drawn
      while True:
        now += 4 * seconds_each
        drawn += 4
        yield {"image": tf.zeros([4])}

    pipeline._iterator = batches()
    clock = mock.Mock(perf_counter=lambda: now)
    with mock.patch.object(probe, "time", clock):
      pipeline._settle()
    return drawn

  def test_so_many_images_are_not_counted(self):
    mix = {"png": 0.5, "raw": 0.5}
    settled = probe._settled(self._setting(64 << 20), mix)
    least = 4 * probe._WARM_UP
    self.assertGreater(settled, least)
    self.assertAlmostEqual(self._drawn(mix, 2 / settled), settled - least, delta=4)
    # Not for more than four times the seconds of a run.
    self.assertAlmostEqual(self._drawn(mix, 8 / settled), settled / 2, delta=4)

  def test_memory_has_its_share_in_every_run(self):
    setting = self._setting(256 << 20)
    for hits in (0.5, 1.0):
      pipeline = probe.Pipeline(setting, {"png": 0.5, "raw": 0.5}, "both", hits)
      for _ in range(2):
        pipeline.run()
      # The first epoch fills it, and counts for none of the runs.
      first, *others = pipeline._stats.epochs
      self.assertEqual(sum(first["memory_hits"].values()), 0)
      # But for those at which a run ended.
      found = [sum(epoch["memory_hits"].values()) for epoch in others]
      self.assertEqual(statistics.median(found), 32 * hits)
      # As many in every batch, or a run would depend on where it begins.
      for batch in pipeline._stats.batches:
        self.assertEqual(sum(batch["hits"].values()), 4 * hits)

  def test_with_a_cache_a_run_takes_whole_epochs(self):
    pipeline = probe.Pipeline(self._setting(64 << 20, 1.0), {"raw": 1.0}, "both", 0.5)
    now = 0.0

    class Batches:
      def __iter__(self):
        nonlocal now
        for number in itertools.count():
          # Reads of the first half of an epoch of 8 batches take all of its time.
          now += 0.01 if number % 8 < 4 else 0.0
          yield {"image": tf.zeros([4])}

    pipeline._dataset = Batches()
    clock = mock.Mock(perf_counter=lambda: now)
    with mock.patch.object(probe, "time", clock):
      clock.process_time = time.process_time
      found = pipeline.run()
    self.assertAlmostEqual(found.images_per_s, 32 / 0.04)

  def test_a_disk_that_makes_up_for_an_idle_time_does_not_count(self):
    self.assertAlmostEqual(self._drawn({"raw": 1.0}, 1e-3), 300, delta=4)
    self.assertAlmostEqual(self._drawn({"raw": 1.0}, 1e-3, "both"), 300, delta=4)
    self.assertEqual(self._drawn({"raw": 1.0}, 1e-3, "decode"), 0)

  def test_no_more_than_a_gigabyte_is_written_stock_files_included(self):
    for name, copies in (("bmp", 3), ("webp", 2)):
      stored = {name: [27_000_000] * 16, "raw": [27_000_000] * 16}
      seconds = dict.fromkeys(stored, 0.01)
      encoded = sample.Encoded(16, [27_000_000] * 16, stored, seconds)
      written = copies * 27_000_000 * sample.images_to_write(encoded, 1000)
      self.assertBetween(written, 0.8 * 10**9, 10**9)

  def test_the_disk_is_read_in_few_steps_of_python_where_images_are_small(self):
    blocks = tf.data.Dataset.range(100)
    for record_bytes, wanted in ((2048.0, [31, 63, 95]), (65536.0, list(range(100)))):
      found = disk._steps(blocks, record_bytes).as_numpy_iterator()
      self.assertEqual(list(found), wanted)

  def test_the_disk_has_a_speed_at_every_size_or_none(self):
    rates = disk.sweep(self.path, "raw", 0.05)
    if rates is None:
      self.skipTest("the kernel counts no reads of this file system")
    self.assertEqual(list(rates), list(disk.BLOCKS))
    self.assertGreater(min(rates.values()), 0)

  def _stock(self, manifest, batch_size, held=False):
    folder = self.create_tempdir().full_path
    return stock.Stock(manifest, "png", folder, batch_size, 1, (), held)

  def test_stock_reads_its_files_again_unless_memory_holds_them(self):
    manifest = manifests.load(self.path)
    for held in (False, True):
      with mock.patch.object(process, "drop_from_page_cache") as drop:
        peer = self._stock(manifest, 4, held)
        drop.reset_mock()
        peer.run(0.1)
      self.assertEqual(drop.called, not held)

  def test_stock_leaves_the_processors_to_the_next_run(self):
    manifest = manifests.load(self.path)
    peer = self._stock(manifest, 4)
    self.assertGreater(peer.run(0.1), 0)
    cpu = time.process_time()
    time.sleep(0.5)
    self.assertLess(time.process_time() - cpu, 0.25)

  def test_stock_takes_no_more_ahead_after_many_runs(self):
    read = []

    def count(path):
      read.append(path)
      return pathlib.Path(path.decode()).read_bytes()

    manifest = manifests.load(self.path)
    with mock.patch.object(
      tf.io, "read_file", lambda file: tf.numpy_function(count, [file], tf.string)
    ):
      peer = self._stock(manifest, 1)
    drawn = len(read)
    for _ in range(20):
      peer._draw(0, 20)
    stock._rest()
    self.assertBetween(len(read) - drawn - 20 * 20, -8, 8)

  @mock.patch.object(stock, "_LONGEST_REST", 0.3)
  @mock.patch.object(time, "process_time", time.perf_counter)
  def test_a_process_that_does_not_rest_says_so(self):
    with self.assertLogs(level="WARNING") as logs:
      stock._rest()
    self.assertRegex(logs.output[0], "at work .* a process of its own")


class KeptTest(absltest.TestCase):
  def _sample(self, memory=1 << 30, **has):
    """Images of the sample that is made of 32 images, and its path."""
    short = runs.make(
      self.create_tempdir().full_path, "png:1,raw:1", per_class=8, replicate=True
    )
    costs = {
      name: model.FormatCost(10**5, 1 / load, 0, 1 / 400, 0, True)
      for name, load in (("png", 300), ("raw", 200))
    }
    machine = model.Machine(pixel_bytes=3e5, **has)
    choices = [planner.best_single({n: costs[n]}, machine) for n in costs]
    manifest, folder = manifests.load(short), self.create_tempdir().full_path
    path = verify.kept_sample(manifest, costs, machine, choices, memory, folder)
    return None if path is None else manifests.load(path)["samples"]

  def test_its_first_epoch_takes_four_seconds_of_the_slowest(self):
    found = self._sample(samples=10**6, cache_share=0.5)
    self.assertEqual(found, 4 * 200 // 32 * 32)

  def test_it_has_no_more_images_than_the_dataset(self):
    self.assertEqual(self._sample(samples=100, cache_share=1.0), 96)
    self.assertEqual(self._sample(samples=10, cache_share=1.0), 32)

  def test_half_of_the_memory_holds_what_is_kept(self):
    found = self._sample(memory=64 * 10**6, samples=10**6, cache_share=0.8)
    self.assertEqual(found, 400 // 32 * 32)

  def test_without_a_cache_there_is_none(self):
    self.assertIsNone(self._sample(samples=1000))
    self.assertIsNone(self._sample(samples=1000, cache_share=0.0))

  def test_what_memory_holds_all_of(self):
    costs = {
      name: model.FormatCost(size, 1, 0, 1, 0, True)
      for name, size in (("jpeg", 10**5), ("raw", 10**6))
    }
    machine = model.Machine(1000, 10**6, cache_bytes=5 * 10**8)
    self.assertEqual(verify.held(costs, machine), {"jpeg"})


class RepeatedTest(absltest.TestCase):
  def test_a_repeated_sample_is_read_through_each_scan_group(self):
    short = runs.make(
      self.create_tempdir().full_path,
      "jpeg:1,pcr:1",
      per_class=9,
      sides=(64, 64),
      extension="jpg",
      replicate=True,
      encoders={"pcr": {"images": 7}},
    )
    long = self.create_tempdir().full_path
    repeated.repeat(manifests.load(short), 3, long)
    one, three = manifests.load(short), manifests.load(long)
    self.assertEqual(three["samples"], 3 * 36)
    for group, tripled in zip(
      one["pcr"]["fidelity"], three["pcr"]["fidelity"], strict=True
    ):
      self.assertEqual(tripled, group | {"bytes": 3 * group["bytes"]})
    sizes = []
    for group in (1, 5, 10):
      wanted = self._images(short, group)
      self.assertCountEqual(self._images(long, group), 3 * wanted)
      sizes.append(sum(map(len, wanted)))
    self.assertEqual(sizes, sorted(set(sizes)))

  def _images(self, path, group):
    dataset = liquid_tf.dataset(path, 4, mix="pcr", fidelity=group, features=["bytes"])
    return [image for batch in dataset for image in batch["bytes"].numpy().tolist()]


if __name__ == "__main__":
  absltest.main()
