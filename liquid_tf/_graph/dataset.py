"""`liquid_tf.dataset`: a Liquid dataset as a `tf.data.Dataset`."""

import os
from collections.abc import Mapping, Sequence

import tensorflow as tf

from liquid_tf._cost.cache import Cache
from liquid_tf._graph.build import build
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.parts import Shard
from liquid_tf._pipeline.start import Given
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._tensorflow import do_not_convert
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf.transforms import Boxes, Step, Views


@do_not_convert
def dataset(
  path: str | os.PathLike | View | Mixture,
  batch_size: int | None = 32,
  *,
  split: str | None = None,
  shuffle: bool = True,
  seed: int = 0,
  memory: int | str = "auto",
  cache: int | str | Cache = "auto",
  fidelity: Fidelity = None,
  mix: str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | None = None,
  transforms: Sequence[Step] | Views = (),
  features: Sequence[str | Boxes] | None = None,
  decode: str = "cpu",
  shard: Shard = (0, 1),
  shard_policy: str = "pad",
  on_error: str = "raise",
  start: Given = (0, 0),
  last_batch: str = "short",
  tuning: Tuning = Tuning(),
  limits: Limits = Limits(),
) -> tf.data.Dataset:
  """Batches of a Liquid dataset, each sample once per epoch, or by weight.

  Every batch has the same mix of formats and, from the second epoch on, keeps and
  loads the same number of samples, so the disk and the processors are loaded evenly
  (Liquid, APSys '23, section 4.2). The order is a pure function of the dataset, the
  batch size, the seed, the part, the cache and the epoch's number: threads, disks
  and prefetching never change it (docs/determinism.md).

  An iterator runs one epoch: the one after the last epoch of this dataset object whose
  batches were all delivered. So looking at a few batches first uses up no epoch.

  Args:
    path: a dataset directory, local or of a registered file system; or a view, that is
      samples which were chosen from one (`liquid_tf.open`); or a mixture of views.
    batch_size: samples in a batch; None gives one sample at a time, each image and
      mask as a dense tensor of its own size.
    split: a split, or slices of some: "train[:10%]", "train+val"; see `View.split`. By
      default "train", or the first one, and all of a view.
    shuffle: False gives the stored order, the same in every epoch. It is not that of
      the sample numbers: `keras.order` says which sample is where, as for a `predict`.
    seed: of the order, of random windows and of mirroring; any 64-bit number. Two
      datasets of one seed draw the same windows of the same images;
      `transforms.Seed` seeds the steps apart from the order.
    memory: whole budget of the pipeline: bytes ("8GiB"), at least those of a batch
      with its stored records; or "auto" for three quarters of what the machine or its
      cgroup has free, and the process's other datasets will not take.
    cache: the part of the memory that lasts between epochs: a share of the dataset
      ("30%"), bytes, 0, or "auto" for what fits; or a `Cache`, to keep decoded pixels,
      or records on a local disk as well.
      Samples that do not fit into `memory` are read again. Of the cache, only the
      number of samples that it holds changes the order.
    fidelity: the scan groups of the format pcr to read, from 1; a number above those of
      the records, and None, mean all. Or a function of (epoch, batch), called for every
      batch when an epoch begins; it must be pure, since a restored checkpoint calls it
      for later epochs only. Or an integer tf.Variable, read when an epoch begins. A
      higher fidelity reads again what is in memory. The order does not depend on it.
      Or scan groups with their shares, as {2: .25, 10: .75}: every batch then has a
      quarter of its samples at group 2, and which these are moves on with each epoch
      (docs/determinism.md). Shares are those of whole records, and each group needs
      one at least; they need `shuffle`, one mix, and samples read in pcr alone.
    mix: of a dataset that was converted with `replicate`, the format to read each
      sample in: weights, as {"png": .6, "raw": .4} or "png:6,raw:4". The first part of
      the stored order is read in the dataset's first format, and so on. By default the
      mix of the conversion. A list has the mixes of epochs 0, 1, …, and its last one
      goes on. "auto" begins with the mix of the conversion, and moves it between epochs
      to where disk and processors are both busy, by what was measured;
      `stats(ds).mixes` is then the list that gives the same order again. Both need
      `shuffle`; an epoch reads whole records as pcr, and with "auto" `fidelity` is a
      number or None. See docs/profile.md.
    transforms: what happens to images while they are decoded: steps of
      `liquid_tf.transforms`, such as [RandomCrop(224), Mirror()]; or `Views`.
    features: None gives the supervised tuple, (image, label) or (image, mask); a list
      of names gives a dict. `decode_and_batch` lists names, shapes and dtypes; without
      "image" and "mask" nothing is decoded. `Boxes` among them gives boxes and
      keypoints that follow their images.
    decode: "cpu", or "gpu" for batches in the memory of TensorFlow's first GPU, images
      of l3, l3-compact, raw and jpeg decoded there, see docs/gpu.md; "gpu:1" for its
      second one.
    shard: (index, count) for data-parallel training, or a
      `tf.distribute.InputContext`. Switches tf.data's own sharding off.
    shard_policy: how all parts get the same number of batches: "pad" repeats a sample
      (counted in `stats`), "drop" leaves one out; "uneven" does neither.
    on_error: "raise", or "skip" for records that cannot be read or decoded. If the
      dataset was converted with `replicate`, they are first read in another format,
      without loss if there is one; `stats` counts them as `fallbacks`.
    start: what `position` gave, to go on exactly there, with a dataset of the same
      arguments, but for `memory`, `cache`, `tuning` and the like. Or (epoch, step) of
      the first batch, as if all batches before had been run with these arguments; the
      step of all batches is the beginning of the next epoch. A step above 0 needs a
      cache that is not "auto" and a mix that is not, since both depend on the machine;
      with mix="auto" an epoch begins in its first mix. Or (epoch, [(workers, steps),
      …]): that epoch was run by other numbers of workers, one after another, each of
      which made so many batches, and goes on with the samples that they left; later
      epochs are those of `shard`. It needs a cache that is not "auto", one mix, and no
      weights and no shares of scan groups (docs/scaling.md). For `fit` see `Resume`.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is, "drop" leaves it out, "repeat" fills it by repeating its samples in turn. An
      epoch that has no other batch must not drop it.
    tuning: how the pipeline is run; by default it tunes itself.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Returns:
    A `tf.data.Dataset` that can be saved and restored by `tf.train.Checkpoint`. Its
    `cardinality()`, and `len()`, is that of a whole epoch, also where `start` leaves
    fewer batches of the first one.

  Raises:
    ManifestError: the directory is no sound dataset, or no longer that of the view.
    ValueError: an argument is wrong; the message names it, its value and what it
      must be.
  """
  return build(
    Arguments(
      path,
      batch_size,
      split=split,
      shuffle=shuffle,
      seed=seed,
      memory=memory,
      cache=cache,
      fidelity=fidelity,
      mix=mix,
      transforms=transforms,
      features=features,
      decode=decode,
      shard=shard,
      shard_policy=shard_policy,
      on_error=on_error,
      start=start,
      last_batch=last_batch,
      tuning=tuning,
      limits=limits,
    )
  )
