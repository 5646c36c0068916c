"""Counts of what a dataset has delivered."""

import json
from typing import Any

from liquid_tf._cost import amounts, budget
from liquid_tf._pipeline import mixes, verdict
from liquid_tf._pipeline.draws import Draws
from liquid_tf._store import storage


class Stats:
  """A look at the counters of a dataset; made by `stats`. Always current."""

  def __init__(self, blocks: Draws, between: verdict.Between):
    self._blocks = blocks
    self._between = between

  def __repr__(self) -> str:
    now = self.summary()
    counts = ", ".join(f"{key} {now[key]}" for key in ("epochs", "batches", "samples"))
    text = f"<Stats: {counts}, {amounts.size(now['disk_bytes'])} read from the disk"
    text += f"; {now['skipped']['count']} left out as damaged"
    for first in now["skipped"]["first"][:1]:
      text += f", the first: {first['reason']}"
    if now["fallbacks"]["count"]:
      text += f"; {now['fallbacks']['count']} damaged ones read in another format"
    return text + ">"

  def _read(self, batches: bool = False) -> dict[str, Any]:
    return json.loads(self._blocks.snapshot.stats_json(batches))

  @property
  def epochs(self) -> list[dict[str, Any]]:
    """The last 1,024 epochs in order, each a dict.

    Of an epoch: `epoch`; `batches`; `disk_bytes` that were read for its samples; `tier`
    {records, bytes}, which were read from the disk of the cache instead; `seconds` as
    in `batches`; `fill` {bytes, seconds}, what was read before the first batch; and
    `decoding` {parallelism, lookahead}, as tf.data has tuned them by now.

    By format:

    - `samples`, and their stored `bytes`;
    - `hits`, kept for the next epoch, and `loads`, read in the place of evicted ones;
      with another policy than "liquid", `hits` were in memory and `loads` were not;
    - `memory_hits`, in memory when the epoch began; and `gpu_hits`, whose images lay in
      the GPU's memory, by `Cache(gpu=…)`;
    - `skipped`;
    - `fallbacks`, damaged in that format and read in another one;
    - `retries`, reads that a device refused and that were made again;
    - `decodes`, whose pixels were not in memory, and their `decode_seconds`, summed
      over threads; with decode="gpu", the JPEG files that the GPU leaves to the
      processors;
    - `libjpeg_decodes`, those of them that libjpeg-turbo decoded: all of pcr, and the
      JPEG files that our own decoder leaves to it, such as progressive ones.

    Of the format pcr, `hits` and `loads` are records; where a batch has several scan
    groups, these count as formats: "pcr@2", "pcr@10". An epoch that read scan groups
    has `fidelity`, [batch, groups], from which batch on how many were asked for (none:
    all), and `bytes_by_group`, the bytes of reads that ended with that group."""
    return self._read()["epochs"]

  @property
  def batches(self) -> list[dict[str, Any]]:
    """The last 16,384 delivered batches in order, each a dict.

    Of a batch: `epoch`, `first_draw`, `full`, `disk_bytes`, `seconds`, and by format
    `samples`, `hits`, `loads`, `memory_hits`.

    `disk_bytes` were read on account of the batch: the n-th read of a format in an
    epoch is charged to its n-th load. Some reads come after the batch's delivery, so
    the last numbers of a running epoch may grow. What fills memory in the first epoch
    is charged to no batch.

    `seconds` has `read`, in which the interleave waited for records; `decode`, summed
    over threads; `wait`, in which the consumer waited for the batch; `step`, since the
    delivery before it, or since an iterator was first asked; and `disk`, in which a
    read was under way."""
    return self._read(batches=True)["batches"]

  @property
  def next_epoch(self) -> int:
    """The epoch that a new iterator will run."""
    return self._read()["next_epoch"]

  @property
  def mixes(self) -> list[dict[str, int]]:
    """Where `mix` is "auto" or a list: of each epoch that was begun, from 0 on, the
    samples of each format. As `mix=` they give the same order again, with the same
    cache. Else there are none."""
    if self._blocks.sources[0].scan_groups is not None:
      return []
    stats = self._read()
    return [
      dict(zip(stats["formats"], samples.tolist()))
      for samples in mixes.decided_samples(stats)
    ]

  def verdict(self, step_ms: float | None = None) -> verdict.Verdict:
    """Verdict on the training's limit: disk, decoding, or the batches' consumer.

    It compares who waited for whom, over the epochs that `epochs` lists. It leaves out
    the earliest of them, which also fills memory, unless the others have less than four
    batches. The result is

    - "unknown" of less than four batches in all: most of their time is the start's;
    - else "consumer-bound" if the training, or what else takes the batches, waited for
      less than a tenth of the time;
    - else "disk-bound" if reads were under way for more of the time than the pipeline
      had records;
    - else "decode-bound".

    Args:
      step_ms: milliseconds that the model takes for a batch by itself. With it,
        "consumer-bound" becomes "model-bound", or "map-bound" if the steps that stand
        between the dataset and the model, such as a `map`, take longer than that.

    Returns:
      A `Verdict`: `bound`, the shares `consumer_waited`, `records_waited` and
      `disk_busy`, `decoders_busy` in threads, `disk_bytes_per_second`, `batches`,
      `seconds`, `first_epoch`, `fallbacks` as in `summary`, and `between`, the steps
      after the dataset; `sentence` and `advice`, and as a string both.

    Raises:
      ValueError: no batch was delivered yet, or `step_ms` is no time.
    """
    data = self._read()
    return verdict.judge(
      data["epochs"],
      _subject(self._blocks),
      fallbacks=data["fallbacks"]["count"],
      between=self._between,
      step_ms=step_ms,
    )

  def summary(self) -> dict[str, Any]:
    """Everything so far, as plain values.

    Returns:
      `epochs` begun, `batches`, `samples`, `hits`, `loads`, `memory_hits`, `gpu_hits`,
      `retries`, `decodes`, `libjpeg_decodes`, `disk_bytes`, `by_format` {name:
      {samples, bytes, hits, loads, memory_hits, gpu_hits, skipped, fallbacks, retries,
      decodes, libjpeg_decodes}}, `seconds` {read, decode, wait, step, disk} as in
      `batches`, `skipped` {count, first: [{sample, reason}]}, `fallbacks` {count,
      other_pixels, first: [{sample, read_as, reason}]}: samples that were read in
      another format, since the encoding that they were to be read in is damaged; how
      many of them have other pixels there, which is lossy; and which format that is,
      `cached` {records, bytes}: what memory holds between epochs,
      `pool` {used, kept}: bytes of records and batches in the whole process, and free
      ones kept for more of them, `memory`: the budget in bytes, `shard` {repeated,
      dropped} samples, `reading` {name: what the format is read with, such as
      "io_uring+direct"; none before its first read}, and `tier`, None without a disk of
      the cache: `bytes` of its file; {records, bytes} that are `there`, and that were
      `read` and `written` so far; records that were `left_out`, for want of room or
      time to write them; that `failed`, whose bytes were wrong there and came from the
      dataset; and `off`, why the tier has ended, or "". What was read there is not part
      of `disk_bytes`. Last, `gpu`, None without a GPU in the cache: `bytes` of its
      memory, how many of them are `used`, and {records, bytes} of images that are
      `there` between epochs.
    """
    data = self._read()
    counts = (
      *("samples", "hits", "loads", "memory_hits", "gpu_hits", "retries", "decodes"),
      "libjpeg_decodes",
    )
    names = (*counts, "bytes", "skipped", "fallbacks")
    epochs = [data["earlier"], *data["epochs"]]
    by_format = {
      name: {key: sum(e[key][name] for e in epochs) for key in names}
      for name in data["formats"]
    }
    part = self._blocks.part
    return {
      "epochs": data["earlier"]["count"] + len(data["epochs"]),
      "batches": sum(e["batches"] for e in epochs),
      **{key: sum(entry[key] for entry in by_format.values()) for key in counts},
      "disk_bytes": sum(e["disk_bytes"] for e in epochs),
      "by_format": by_format,
      "seconds": {
        key: sum(e["seconds"][key] for e in epochs)
        for key in ("read", "decode", "wait", "step", "disk")
      },
      "skipped": data["skipped"],
      "fallbacks": data["fallbacks"],
      "cached": data["cached"],
      "pool": data["pool"],
      "memory": self._blocks.snapshot.memory,
      "shard": {"repeated": part.repeated, "dropped": part.dropped},
      "reading": data["reading"],
      "tier": data.get("tier"),
      "gpu": data.get("gpu"),
    }


def _subject(blocks: Draws) -> verdict.Subject:
  """Properties of a dataset that advice depends on."""
  division, cache = blocks.division, blocks.snapshot.cache
  has_pcr = any(source.format == "pcr" for source in blocks.sources)
  manifest = blocks.sources[0].manifest
  own = all(source.manifest is manifest for source in blocks.sources)
  pixel_bytes = None
  if not has_pcr:
    rows = sum(len(source.rows) for source in blocks.sources)
    each = sum(source.pixel_bytes() for source in blocks.sources) / max(1, rows)
    count = sum(division.samples)
    pixel_bytes = budget.resident_bytes(each * count, count)
  return verdict.Subject(
    held=division.held,
    form=cache.form,
    whole_bytes=division.whole_bytes,
    pixel_bytes=pixel_bytes,
    room=division.cache_bytes,
    remote=any(storage.is_remote(source.view.path) for source in blocks.sources),
    may_add_disk=cache.disk is None and blocks.weighing is None and not has_pcr,
    replicas=tuple(manifest["formats"]) if own and manifest["replicated"] else (),
    moves=blocks.moves,
  )
