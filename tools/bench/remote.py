"""Measures what late answers of a server cost, beside curl, by nginx on loopback.

python -m tools.bench remote --delay_ms=50
"""

import functools
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

from liquid_tf._measure import pipeline
from liquid_tf._store import contents, manifest
from tools.bench import page, photographs, remote_server, turns

# Of the rate without the delay, what is to be left; of curl's, what is to be reached;
# of the rate with the delay, what is to be left where one answer in ten fails.
PROMISED = {"large": 0.95, "small": 0.80, "curl": 0.90, "failing": 0.85}
# Sides of images: 1.05 MB and 51 KB of pixels.
SIDES = {"large": 592, "small": 130}
_SCHEMES = ("http", "s3")
# How answers come: added to a scheme, the name of a side.
_WAYS = ("", " delayed")
# As many as the reader has under way.
_PARALLEL = 128
_DATASET = "photos.liquid"
_HEAD = (
  *("images", "by", "images/s", "images/s, late answers"),
  *("left", "promised", "of curl's", "late, of curl's", "left where one in ten fails"),
)


class Size(NamedTuple):
  """Images of one size.

  Attributes:
    name: of what is measured.
    images: how many.
    side: of each, in pixels.
  """

  name: str
  images: int
  side: int

  @property
  def bucket(self) -> str:
    """Another one for other images: what a folder has of an earlier run stays."""
    return f"{self.images}x{self.side}"


def bench(
  folder: str | os.PathLike,
  *,
  images: int,
  small_images: int,
  delay_ms: int,
  link_gbit: float,
  batch_size: int,
  rounds: int,
  threads: int,
  data: str | None,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Reads raw images over http:// and s3:// with and without a delay, and by curl.

  Ours also where one of ten late answers fails. All in turn, ours in fresh processes
  with memory for 512 MiB of look-ahead and no cache, of which the first epoch does not
  count. curl --parallel gets the same shards, 128 at a time, to nowhere.

  Args:
    folder: gets the images and datasets; those that are there are used.
    images: of 1 MB.
    small_images: of 50 KB.
    delay_ms: milliseconds before each late answer.
    link_gbit: Gbit/s of a network of its own; 0 for this machine's as it is.
    batch_size: images in a batch.
    rounds: processes of each side.
    threads: of tf.data.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: is told of progress.

  Returns:
    `sizes` {large, small: {images, image_bytes, rates {side: {median, min, max, cpu} in
    images/s}, kept {scheme: rate with the delay to that without}, of_curl {scheme, and
    scheme delayed: rate to curl's}, failing {scheme: rate where answers fail to that
    with the delay}}}, `promised`, `delay`, `link_gbit`, and `skipped`: what is missing,
    or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  if link_gbit:
    remote_server.enter_link(link_gbit)
  missing, delay = remote_server.why_not(), delay_ms / 1e3
  if shutil.which("curl") is None:
    missing = missing or "curl is not installed"
  result = {"delay": delay, "link_gbit": link_gbit, "promised": PROMISED}
  result |= {"sizes": {}, "skipped": missing}
  if missing:
    say(f"nothing to measure with: {missing}")
    return result
  folder, root = pathlib.Path(folder), pathlib.Path(folder, "root")
  counts = {"large": images, "small": small_images}
  sizes = [Size(name, count, SIDES[name]) for name, count in counts.items()]
  for size in sizes:
    _make(folder, root, size, threads, data)
  with remote_server.Nginx(root, folder / "nginx", delay) as server:
    for size in sizes:
      found = _measure(root, server, size, rounds, threads, batch_size, say)
      result["sizes"][size.name] = found
      for scheme in _SCHEMES:
        at_once, late = (found["of_curl"][f"{scheme}{how}"] for how in _WAYS)
        kept, failing = (found[key][scheme] for key in ("kept", "failing"))
        say(
          f"{size.name} images by {scheme}: {kept:.2f} of the rate is left with the "
          f"delay; of curl's {at_once:.2f}, and with the delay {late:.2f}; of the late "
          f"rate {failing:.2f} where one answer in ten fails"
        )
  return result


def _make(
  folder: pathlib.Path, root: pathlib.Path, size: Size, threads: int, data: str | None
) -> None:
  """Makes the dataset of a size, as the only one in its bucket."""
  source = folder / f"photographs_{size.bucket}"
  photographs.make(source, size.images, size.side, data, threads, ["png"])
  # Small objects, so that curl has as many under way as we.
  path = root / size.bucket / _DATASET
  photographs.converted(
    source / "png", path, "raw", workers=threads, shard_size=8 << 20
  )


def _measure(
  root: pathlib.Path,
  server: remote_server.Nginx,
  size: Size,
  rounds: int,
  threads: int,
  batch_size: int,
  say: Callable[[str], None],
) -> dict[str, Any]:
  path = f"{size.bucket}/{_DATASET}"
  data = manifest.load(str(root / path))
  shards = [file.name for file in contents.shards(data.data)]

  def ours(scheme: str, url: str) -> turns.Measurement:
    return functools.partial(
      turns.apart,
      pipeline.measure,
      # Nobody looks at the signatures, but they are made.
      {
        "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
      },
      path=f"s3://{path}" if scheme == "s3" else f"{url}/{path}",
      epochs=2,
      threads=threads,
      batch_size=batch_size,
      cache=0,
      memory="4GiB",
    )

  sides = {}
  for how, url in zip(_WAYS, (server.url, server.delayed_url)):
    for scheme in _SCHEMES:
      sides[f"{scheme}{how}"] = ours(scheme, url)
    urls = [f"{url}/{path}/{name}" for name in shards]
    sides[f"curl{how}"] = functools.partial(_curl, urls, size.images)
  for scheme in _SCHEMES:
    sides[f"{scheme} failing"] = ours(scheme, server.failing_url)
  rates, _ = turns.alternate(sides, rounds, f"{size.name}, ", say)
  medians = {name: entry["median"] for name, entry in rates.items()}
  return {
    "images": size.images,
    "image_bytes": sum(shard.bytes for shard in data.shards) / size.images,
    "rates": rates,
    "kept": {name: medians[f"{name} delayed"] / medians[name] for name in _SCHEMES},
    "of_curl": {
      f"{name}{how}": medians[f"{name}{how}"] / medians[f"curl{how}"]
      for name in _SCHEMES
      for how in _WAYS
    },
    "failing": {
      name: medians[f"{name} failing"] / medians[f"{name} delayed"] for name in _SCHEMES
    },
  }


def _curl(urls: list[str], images: int) -> dict[str, Any]:
  """Gets objects by curl, twice, as `turns.alternate` takes it.

  Raises:
    ChildProcessError: curl failed.
  """
  config = "".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in urls)
  command = ["curl", "--parallel", "--parallel-max", str(_PARALLEL), "--fail"]
  command += ["--no-progress-meter", "--config", "-"]
  epochs = []
  for _ in range(2):
    before = os.times()
    done = subprocess.run(command, input=config, text=True, capture_output=True)
    spent = [end - begin for begin, end in zip(before, os.times())]
    if done.returncode != 0:
      raise ChildProcessError(f"curl ended with code {done.returncode}: {done.stderr}")
    # Of the children: user and system time.
    cpu = max(spent[2] + spent[3], 0.01)
    epochs.append({"images": images, "seconds": spent[4], "cpu_seconds": cpu})
  return {"epochs": epochs}


def _table(result: dict[str, Any]) -> str:
  """Rates and ratios, as a Markdown table."""
  rows = []
  for name, entry in result["sizes"].items():
    size = f"{entry['images']} of {entry['image_bytes'] / 1e3:.0f} KB"
    rates = {side: _rate(result, entry, side) for side in entry["rates"]}
    for scheme, kept in entry["kept"].items():
      of_curl = [entry["of_curl"][f"{scheme}{how}"] for how in _WAYS]
      row = [size, f"`{scheme}://`", rates[scheme], rates[f"{scheme} delayed"]]
      row += [f"{kept:.2f}", f"{result['promised'][name]:.2f}"]
      ratios = [*of_curl, entry["failing"][scheme]]
      rows.append([*row, *(f"{ratio:.2f}" for ratio in ratios)])
    rows.append([size, "curl", rates["curl"], rates["curl delayed"], *[""] * 5])
  return page.table(_HEAD, rows, (0, 1))


def _rate(result: dict[str, Any], entry: dict[str, Any], side: str) -> str:
  """A rate, and what it is of the network's."""
  rate = entry["rates"][side]["median"]
  if not result["link_gbit"]:
    return f"{rate:.0f}"
  share = rate * entry["image_bytes"] * 8 / (result["link_gbit"] * 1e9)
  return f"{rate:.0f} ({share:.0%})"


def section(result: dict[str, Any]) -> page.Section | None:
  """What was measured, how, with what, and the table; None where nothing was."""
  if result["skipped"]:
    return None
  link = result["link_gbit"]
  over = (
    f"The network carries {link:g} Gbit/s, which `tc` sees to, and the rates' share\n"
    "of that stands beside them: what is asked, and headers, have to pass too.\n"
  )
  return page.section(
    "remote",
    result,
    on_link=f", over {link:g} Gbit/s" if link else "",
    sides=" and ".join(f"{side} x {side}" for side in SIDES.values()),
    delay_ms=result["delay"] * 1e3,
    over=over if link else "",
    table=_table(result),
  )
