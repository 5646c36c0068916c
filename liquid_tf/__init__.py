"""Image datasets that keep each sample in the format that suits the machine.

One dataset holds its samples in several formats at once, in a mix that balances
disk and processors; a native tf.data pipeline draws every batch with the same
composition and the same number of cache hits (Liquid, APSys '23).
"""

from liquid_tf import codecs, errors, fidelity, gpu, pcr, recordio
from liquid_tf._convert.convert import ConvertReport, convert
from liquid_tf._convert.copy import copy
from liquid_tf._export.export import ExportReport, export
from liquid_tf._keras.resume import Resume
from liquid_tf._keras.tensorboard import TensorBoardStats
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.dataset import dataset
from liquid_tf._pipeline.decode import decode_and_batch
from liquid_tf._pipeline.epochs import epochs
from liquid_tf._pipeline.image_options import RandomResizedCrop
from liquid_tf._pipeline.interleave import interleave
from liquid_tf._pipeline.snapshot import Snapshot
from liquid_tf._pipeline.sources import format_dataset
from liquid_tf._pipeline.stats import Stats, stats
from liquid_tf._profile.profile import Profile, profile
from liquid_tf._store.inspection import inspect, verify
from liquid_tf._version import __version__
from liquid_tf.fidelity import FidelityScheduler

__all__ = [
  "ConvertReport",
  "ExportReport",
  "FidelityScheduler",
  "Limits",
  "Profile",
  "RandomResizedCrop",
  "Resume",
  "Snapshot",
  "Stats",
  "TensorBoardStats",
  "__version__",
  "codecs",
  "convert",
  "copy",
  "dataset",
  "decode_and_batch",
  "epochs",
  "errors",
  "export",
  "fidelity",
  "format_dataset",
  "gpu",
  "inspect",
  "interleave",
  "pcr",
  "profile",
  "recordio",
  "stats",
  "verify",
]
