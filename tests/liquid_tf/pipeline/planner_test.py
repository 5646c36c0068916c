"""The planner keeps its promises for whatever dataset, cache and batch size.

A model of the regions in plain Python goes through every draw of an epoch, as
the op reports it, and knows nothing of how the planner works.
"""

import collections
import dataclasses

import hypothesis
import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from hypothesis import strategies as st

from liquid_tf._native import messages, ops

_OPEN_FILES = 4


@dataclasses.dataclass(frozen=True)
class Spec:
  """What is planned: per format, samples in each file, cached samples, fill."""

  files: tuple[tuple[int, ...], ...]
  cached: tuple[int, ...]
  fill: tuple[int, ...]
  seed: int
  batch_size: int
  shuffle: bool = True

  @property
  def samples(self) -> list[int]:
    return [sum(files) for files in self.files]

  @property
  def total(self) -> int:
    return sum(self.samples)


def message(spec: Spec) -> bytes:
  """The plan as the op takes it."""
  return messages.plan(
    seed=spec.seed,
    batch_size=spec.batch_size,
    shuffle=spec.shuffle,
    policy="liquid",
    formats=[
      messages.format_plan(
        files=files, record_samples=[], cached=cached, fill=fill, scan_groups=0
      )
      for files, cached, fill in zip(spec.files, spec.cached, spec.fill)
    ],
    sections=[],
  )


def plan(spec: Spec, epoch: int, first_epoch: int = 0) -> list[tuple]:
  """Returns the draws of an epoch: (format, sample, load, keep, loads_before)."""
  columns = ops.lib().liquid_plan_epoch(message(spec), first_epoch, epoch)
  return list(zip(*(column.numpy().tolist() for column in columns)))


@st.composite
def specs(draw, most_samples: int = 60, shuffle: bool | None = True) -> Spec:
  """Every shape that has a special case; hypothesis likes the extremes."""
  files, cached, fill = [], [], []
  for _ in range(draw(st.integers(1, 5), label="formats")):
    samples = draw(st.sampled_from([0, 1, 2]) | st.integers(0, most_samples))
    cuts = sorted(draw(st.lists(st.integers(0, samples), max_size=8)))
    files.append(tuple(int(n) for n in np.diff([0, *cuts, samples])))
    cached.append(draw(st.sampled_from([0, samples]) | st.integers(0, samples)))
    fill.append(draw(st.just(0) | st.integers(0, 2 * samples)))
  total = sum(map(sum, files))
  return Spec(
    files=tuple(files),
    cached=tuple(cached),
    fill=tuple(fill),
    seed=draw(st.integers(-(2**63), 2**63 - 1), label="seed"),
    batch_size=draw(st.integers(1, 12) | st.integers(1, 2 * total + 1)),
    shuffle=draw(st.booleans()) if shuffle is None else shuffle,
  )


def file_of(files: tuple[int, ...], sample: int) -> int:
  return int(np.searchsorted(np.cumsum(files), sample, side="right"))


class PlannerTest(tf.test.TestCase, parameterized.TestCase):
  def _loaded(self, spec: Spec, f: int, draws: list[tuple]) -> list[int]:
    """The samples of a format in the order in which the plan loads them."""
    by_load = {load: sample for g, sample, load, *_ in draws if g == f and load >= 0}
    self.assertEqual(sorted(by_load), list(range(len(by_load))))
    return [by_load[load] for load in range(len(by_load))]

  def _check_disk_order(self, files: tuple[int, ...], loaded: list[int]) -> None:
    """Every file is read forward, and only a few are open at a time."""
    unread = collections.Counter(file_of(files, sample) for sample in loaded)
    last: dict[int, int] = {}
    for sample in loaded:
      file = file_of(files, sample)
      self.assertGreater(sample, last.get(file, -1))
      last[file] = sample
      unread[file] -= 1
      self.assertLessEqual(sum(unread[file] > 0 for file in last), _OPEN_FILES)

  def _check_format(
    self, spec: Spec, f: int, draws: list[tuple], held: set[int]
  ) -> set[int]:
    """Goes through one format's draws; returns the samples kept."""
    samples, cached = spec.samples[f], spec.cached[f]
    mine = [draw for draw in draws if draw[0] == f]
    self.assertCountEqual([draw[1] for draw in mine], range(samples))

    loaded = self._loaded(spec, f, draws)
    self.assertCountEqual(loaded, set(range(samples)) - held)
    if spec.shuffle:
      self._check_disk_order(spec.files[f], loaded)
    else:
      self.assertEqual(loaded, sorted(loaded))
      self.assertEqual([draw[1] for draw in mine], list(range(samples)))

    # The room: the cached samples, and a batch's part or what `fill` asks.
    batch = min(spec.batch_size, spec.total)
    share = -(-batch * samples // max(spec.total, 1))
    room = cached + max(share, min(spec.fill[f], samples) - cached)
    region, kept, loads = set(held), set(), 0
    for j, (_, sample, load, keep, loads_before) in enumerate(mine):
      self.assertGreaterEqual(loads_before, loads)
      if j > 0:
        self.assertLessEqual(loads_before, loads + 2)
        if len(held) == cached and loads < len(loaded):
          self.assertEqual(loads_before, loads + (not mine[j - 1][3]))
      region.update(loaded[loads:loads_before])
      loads = loads_before
      self.assertLessEqual(len(region) + len(kept), room)
      self.assertIn(sample, region)
      self.assertEqual(load == -1, sample in held)
      region.remove(sample)
      if keep:
        kept.add(sample)
    self.assertLen(kept, cached)
    return kept

  def _check_batches(self, spec: Spec, draws: list[tuple]) -> None:
    """Full batches draw, keep and evict as many of each format, to one."""
    size = spec.batch_size
    for f in range(len(spec.files)):
      for fates in [{True, False}, {True}, {False}]:
        counts = [
          sum(draw[0] == f and draw[3] in fates for draw in draws[at : at + size])
          for at in range(0, len(draws) - size + 1, size)
        ]
        if counts:
          self.assertLessEqual(max(counts) - min(counts), 1, (f, fates))

  def _check_epochs(self, spec: Spec, epochs: int) -> None:
    held: list[set[int]] = [set() for _ in spec.files]
    for epoch in range(epochs):
      draws = plan(spec, epoch)
      self.assertLen(draws, spec.total)
      held = [
        self._check_format(spec, f, draws, held[f]) for f in range(len(spec.files))
      ]
      if spec.shuffle:
        self._check_batches(spec, draws)

  @hypothesis.settings(max_examples=2000, deadline=None, derandomize=True)
  @hypothesis.given(specs(shuffle=None))
  def test_every_draw_of_three_epochs_is_legal(self, spec):
    self._check_epochs(spec, 3)

  @parameterized.named_parameters(
    ("one_sample", Spec(((1,),), (0,), (0,), 0, 1)),
    ("one_cached_sample", Spec(((1,),), (1,), (0,), 0, 4)),
    ("all_formats_empty", Spec(((0, 0), ()), (0, 0), (5, 0), 0, 3)),
    ("no_formats", Spec((), (), (), 0, 3)),
    ("batch_larger_than_dataset", Spec(((5, 2), (3,)), (2, 3), (0, 0), 7, 1000)),
    ("everything_cached", Spec(((40,), (30, 30)), (40, 60), (0, 0), 7, 16)),
    ("nothing_cached", Spec(((40,), (30, 30)), (0, 0), (0, 20), 7, 16)),
    ("many_files", Spec((tuple([3] * 50),), (40,), (0,), 7, 9)),
    ("stored_order", Spec(((9, 8), (30,)), (5, 30), (6, 0), 7, 9, shuffle=False)),
  )
  def test_special_case(self, spec):
    self._check_epochs(spec, 3)

  @hypothesis.settings(max_examples=50, deadline=None, derandomize=True)
  @hypothesis.given(specs(most_samples=30))
  def test_a_plan_is_a_function_of_its_arguments(self, spec):
    self.assertEqual(plan(spec, 2), plan(spec, 2))

  def test_replay_starts_with_nothing_held(self):
    spec = Spec(((50,),), (20,), (0,), 3, 8)
    self.assertNotIn(-1, [draw[2] for draw in plan(spec, 4, first_epoch=4)])
    self.assertEqual([draw[2] for draw in plan(spec, 4)].count(-1), 20)

  def test_golden(self):
    # The first draws of two epochs; the C++ golden test pins all of them.
    spec = Spec(((9, 7, 8), (5, 11)), (7, 16), (10, 0), 42, 8)
    self.assertEqual(
      [draw[:4] for draw in plan(spec, 0)[:4]],
      [(1, 3, 3, True), (1, 1, 1, True), (0, 10, 1, False), (1, 2, 2, True)],
    )
    self.assertEqual(
      [draw[:4] for draw in plan(spec, 1)[:4]],
      [(0, 4, -1, False), (0, 9, 0, True), (0, 14, -1, True), (0, 2, -1, False)],
    )

  @parameterized.named_parameters(
    ("batch_size", {"batch_size": 0}, r"batch_size \(0\) must be at least 1"),
    ("cached", {"cached": 4}, r"formats\[0\].cached \(4\) must be at most .* 3"),
    ("epoch", {"epoch": -1}, r"epoch \(-1\) must be at least first_epoch, 0"),
    ("negative", {"fill": -2}, r"formats\[0\].fill \(-2\) must be at least 0"),
    ("file", {"files": [4, -1]}, r"formats\[0\].files\[1\] \(-1\) must be at least 0"),
    ("policy", {"policy": "lru"}, r'policy \("lru"\) must be one of liquid, minio'),
    (
      "few_sections",
      {"sections": [1, 2]},
      r"sections \(2 numbers\) must be none, or one .* 1",
    ),
    ("small_section", {"sections": [2]}, r"sections \(2 samples\) must be all .* 3"),
    (
      "scan_groups",
      {"scan_groups": 1},
      r"formats\[0\].scan_groups \(1\) must be 0 where formats have no sections",
    ),
    (
      "sizes",
      {"record_samples": [2]},
      r"record_samples \(1\) must have a value for each of the 3 records",
    ),
    (
      "size",
      {"record_samples": [2, 2**32, 1]},
      r"formats\[0\].record_samples\[1\] \(4294967296\) must be in 0..4294967295",
    ),
    ("huge", {"files": [2**32]}, r"formats\[0\].files must sum to at most"),
  )
  def test_wrong_argument(self, change, error):
    of_format = {
      name: change[name] for name in messages.format_plan.fields.keys() & change
    }
    of_plan = {name: change[name] for name in messages.plan.fields.keys() & change}
    nothing = dict(record_samples=[], cached=0, fill=0, scan_groups=0)
    one = messages.format_plan(**{"files": [3], **nothing, **of_format})
    plain = dict(seed=0, batch_size=1, shuffle=True, policy="liquid", sections=[])
    given = messages.plan(**{**plain, "formats": [one], **of_plan})
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, error):
      ops.lib().liquid_plan_epoch(given, 0, change.get("epoch", 0))

  def test_one_format_alone_read_in_part(self):
    formats = [
      messages.format_plan(
        files=[3], record_samples=[], cached=0, fill=0, scan_groups=groups
      )
      for groups in (2, 0)
    ]
    given = messages.plan(
      seed=0,
      batch_size=1,
      shuffle=True,
      policy="liquid",
      formats=formats,
      sections=[2, 1],
    )
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError,
      r"formats\[1\].scan_groups \(0\) must be at least 1, as those of other formats",
    ):
      ops.lib().liquid_plan_epoch(given, 0, 0)

  def test_in_a_graph(self):
    spec = Spec(((30,),), (9,), (0,), 5, 4)

    @tf.function
    def samples(epoch):
      return ops.lib().liquid_plan_epoch(message(spec), 0, epoch).sample

    self.assertAllEqual(
      samples(tf.constant(2, tf.int64)), [d[1] for d in plan(spec, 2)]
    )


class ShardRangesTest(tf.test.TestCase, parameterized.TestCase):
  @hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
  @hypothesis.given(
    samples=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    count=st.integers(1, 12),
    policy=st.sampled_from(["pad", "drop", "uneven"]),
  )
  def test_every_sample_is_in_one_shard_or_counted(self, samples, count, policy):
    shards = [
      ops.lib().liquid_shard_ranges(samples, i, count, policy=policy)
      for i in range(count)
    ]
    seen = collections.Counter()
    for shard in shards:
      for f, (start, length) in enumerate(
        zip(shard.start.numpy(), shard.length.numpy())
      ):
        seen.update((f, (start + i) % samples[f]) for i in range(length))
    repeated = sum(int(shard.repeated) for shard in shards)
    dropped = sum(int(shard.dropped) for shard in shards)
    self.assertLen(seen, sum(samples) - dropped)
    self.assertEqual(sum(seen.values()), sum(samples) - dropped + repeated)
    for shard in shards:
      self.assertEqual(int(shard.repeated_in_all), repeated)
      self.assertEqual(int(shard.dropped_in_all), dropped)
    lengths = np.stack([shard.length for shard in shards])
    self.assertLessEqual((lengths.max(0) - lengths.min(0)).max(), 1)
    totals = lengths.sum(1)
    self.assertLessEqual(totals.max() - totals.min(), 1 if policy == "uneven" else 0)
    self.assertEqual(repeated > 0, policy == "pad" and sum(samples) % count > 0)
    self.assertEqual(dropped > 0, policy == "drop" and sum(samples) % count > 0)

  @parameterized.named_parameters(
    ("index", 2, 2, r"index \(2\) must be below count, 2"),
    ("negative", -1, 2, r"index \(-1\) must be at least 0"),
    ("count", 0, 0, r"count \(0\) at least 1"),
  )
  def test_wrong_argument(self, index, count, message):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
      ops.lib().liquid_shard_ranges([5], index, count)


if __name__ == "__main__":
  tf.test.main()
