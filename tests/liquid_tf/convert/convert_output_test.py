"""The output folder: what is replaced, resumed or left alone, and what errors say."""

import errno
import fcntl
import os
import pathlib
import resource
import shutil
import subprocess
from unittest import mock

import photos
import stored
import tensorflow as tf

import liquid_tf
from liquid_tf._convert import finish, write
from liquid_tf._convert import output as outputs
from liquid_tf._convert.convert import convert
from liquid_tf._store import manifest
from liquid_tf._store.progress import Progress
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError, ManifestError


class OutputTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = photos.class_folders(f"{self.root}/source", per_class=20)
    self.output = f"{self.root}/dataset"

  def _convert(self, **options):
    options = {"shard_size": 50_000, "progress": False} | options
    return convert(
      self.source, self.output, options.pop("mix", "png:6,raw:4"), **options
    )

  def test_places_must_be_apart(self):
    for source, output, message in (
      (self.source, f"{self.source}/out", "output .* must not be inside source"),
      (self.source, self.root, "source .* must not be inside output"),
      (self.source, self.source, "must not be inside"),
      (f"{self.root}/absent", self.output, "must be an existing folder, .*/absent"),
    ):
      with self.assertRaisesRegex(ConvertError, message):
        convert(source, output, "raw:1", progress=False)
    self.assertFalse(os.path.exists(self.output))

  def test_empty_paths_are_refused(self):
    for name in ("source", "output"):
      paths = {"source": self.source, "output": self.output} | {name: ""}
      with self.assertRaisesRegex(ValueError, f'{name} \\(""\\) must not be empty'):
        convert(mix="raw:1", progress=False, **paths)
    for name in ("masks", "tfds_dir"):
      with self.assertRaisesRegex(ValueError, f'{name} \\(""\\) must not be empty'):
        liquid_tf.Source(self.source, **{name: ""})
    for paths in (("", self.output), (self.source, "")):
      with self.assertRaisesRegex(ValueError, "must not be empty"):
        liquid_tf.export(*paths, "rec", progress=False)
      with self.assertRaisesRegex(ValueError, "must not be empty"):
        liquid_tf.copy(*paths, progress=False)

  def test_names_that_are_no_utf8(self):
    folder = os.fsencode(f"{self.source}/coffee")
    os.rename(folder + b"/0000.png", folder + b"/\xff.png")
    pathlib.Path(os.fsdecode(folder + b"/\xfe.png")).write_text("no image")
    os.rename(folder, folder + b"\xff")
    report = stored.sound(self._convert(on_error="skip:100%"))
    self.assertEqual(
      [one["path"] for one in report.skipped], ["coffee\udcff/\udcfe.png"]
    )
    self.assertIn("coffee\udcff", manifest.load(self.output).classes)

  def test_a_dataset_is_replaced_only_on_request(self):
    self._convert()
    before = photos.files(self.output)
    with self.assertRaisesRegex(ConvertError, "already holds a dataset: existing"):
      self._convert(mix="raw:1")
    self.assertEqual(photos.files(self.output), before)
    self._convert(mix="raw:1", existing="replace")
    after = photos.files(self.output)
    self.assertNotIn("png-00000-of-00001.rec", after)
    fresh = f"{self.root}/fresh"
    convert(self.source, fresh, "raw:1", shard_size=50_000, progress=False)
    self.assertEqual(after, photos.files(fresh))

  def test_an_error_leaves_what_was_to_be_replaced(self):
    self._convert()
    before = photos.files(self.output)
    gray = pathlib.Path(self.source, "coffee", "gray.png")
    photos.save(gray, photos.photo("camera")[:20, :20])
    with self.assertRaisesRegex(ConvertError, "samples are of 2 kinds"):
      self._convert(mix="raw:1", existing="replace")
    self.assertEqual(photos.files(self.output), before)
    with self.assertRaisesRegex(ConvertError, "unfinished replacement.*replace"):
      self._convert(mix="raw:1")
    gray.unlink()
    with self.assertRaisesRegex(ConvertError, "removed: coffee/gray.png"):
      self._convert(mix="raw:1", existing="resume")
    self._convert(mix="raw:1", existing="replace")
    self.assertEqual(manifest.load(self.output)["mix"], {"raw": 1})
    self.assertFalse(os.path.exists(outputs.beside(self.output)))

  def test_resume_goes_on_with_a_replacement(self):
    self._convert()
    before = photos.files(self.output)
    self._interrupt(mix="raw:1", existing="replace")
    self.assertEqual(photos.files(self.output), before)
    self._convert(mix="raw:1", existing="resume")
    self.assertEqual(manifest.load(self.output)["mix"], {"raw": 1})
    self.assertFalse(os.path.exists(outputs.beside(self.output)))

  def test_what_is_beside_the_output_is_not_taken_for_ours(self):
    self._convert()
    work = outputs.beside(self.output)
    shutil.copytree(self.output, work)
    for options in ({}, {"existing": "resume"}, {"existing": "replace"}):
      with self.assertRaisesRegex(ConvertError, f"{work} is in the way"):
        self._convert(**options)
    with self.assertRaisesRegex(ConvertError, "must not be inside source"):
      convert(work, self.output, "raw:1", existing="replace", progress=False)
    self.assertEqual(photos.files(work), photos.files(self.output))

  def test_a_link_to_the_output_stays_one(self):
    self._convert()
    link = f"{self.root}/link"
    os.symlink(self.output, link)
    self.output, real = link, self.output
    self._convert(mix="raw:1", existing="replace")
    self.assertTrue(os.path.islink(link))
    self.assertEqual(manifest.load(real)["mix"], {"raw": 1})

  def test_a_file_system_that_cannot_exchange_is_refused_at_once(self):
    self._convert()
    before = photos.files(self.output)
    error = OSError(errno.EINVAL, "Invalid argument")
    with mock.patch.object(outputs, "exchange", side_effect=error):
      with self.assertRaisesRegex(
        ConvertError, "cannot exchange .* remove .* yourself"
      ):
        self._convert(mix="raw:1", existing="replace")
    self.assertEqual(photos.files(self.output), before)
    self.assertCountEqual(os.listdir(self.root), ["source", "dataset"])

  def test_a_folder_that_cannot_be_renamed_is_refused_at_once(self):
    self._convert()
    for number, reason in (
      (errno.EBUSY, "something is mounted there"),
      (errno.EXDEV, "container's image"),
    ):
      error = OSError(number, os.strerror(number))
      with mock.patch.object(outputs.os, "rename", side_effect=error):
        self._check_kept(reason)

  def test_no_trial_of_a_rename_moves_anything(self):
    self._convert()
    before = photos.files(self.output)
    work = outputs.beside(self.output)
    os.mkdir(work)
    outputs.check_exchange(self.output, work)
    self.assertEqual(photos.files(self.output), before)
    self.assertEqual(os.listdir(work), [])

  def test_a_dataset_of_a_lower_layer(self):
    self._mount("overlay")
    self._check_kept("container's image")
    # What does not rename the folder is done.
    liquid_tf.append(self.output, self.source, duplicates="add", progress=False)
    liquid_tf.remove(liquid_tf.open(self.output).take([1]))
    self.assertEqual(liquid_tf.compact(self.output, progress=False).samples, 119)
    self.assertEqual(liquid_tf.verify(self.output)["problems"], [])
    shutil.rmtree(self.output)
    self.assertEqual(self._convert(existing="replace").samples, 60)

  def test_an_output_where_something_is_mounted(self):
    self._mount("bind")
    self._check_kept("something is mounted there")

  def _check_kept(self, reason):
    """Nothing replaces the output, and nothing is left beside it."""
    before = photos.files(self.output)
    beside = set(os.listdir(os.path.dirname(self.output)))
    refused = self.assertRaisesRegex(
      ConvertError, f"{self.output}.* cannot be replaced: .*{reason}.* remove it"
    )
    with refused, mock.patch("liquid_tf._convert.run.run") as run:
      self._convert(existing="replace")
    run.assert_not_called()
    with refused:
      liquid_tf.copy(self.output + "/.", self.output, existing="replace")
    self.assertEqual(photos.files(self.output), before)
    self.assertEqual(set(os.listdir(os.path.dirname(self.output))), beside)

  def _mount(self, kind):
    """Puts a dataset below a mount, as the output."""
    places = {name: f"{self.root}/{name}" for name in ("lower", "upper", "work", "at")}
    for path in places.values():
      os.mkdir(path)
    self.output = f"{places['lower']}/dataset"
    self._convert()
    at = f"{places['at']}/dataset"
    if kind == "bind":
      os.mkdir(at)
      command = ["--bind", self.output, at]
    else:
      layers = "lowerdir={lower},upperdir={upper},workdir={work}".format(**places)
      command = ["-t", "overlay", "overlay", "-o", layers, places["at"]]
    done = subprocess.run(["mount", *command], capture_output=True, text=True)
    if done.returncode:
      self.skipTest(f"nothing can be mounted here: {done.stderr.strip()}")
    self.addCleanup(subprocess.run, ["umount", command[-1]], check=True)
    self.output = at

  def test_a_copy_replaces_in_one_step_too(self):
    self._convert()
    copy = f"{self.root}/copy"
    liquid_tf.copy(self.output, copy, progress=False)
    self.assertEqual(photos.files(copy), photos.files(self.output))
    new = f"{self.root}/new"
    convert(self.source, new, "raw:1", progress=False)
    shard = pathlib.Path(new, manifest.load(new).shards[0].path)
    good = shard.read_bytes()
    shard.write_bytes(good[:-1] + b"?")
    with self.assertRaisesRegex(ManifestError, "is damaged"):
      liquid_tf.copy(new, copy, existing="replace", progress=False)
    self.assertEqual(photos.files(copy), photos.files(self.output))
    shard.write_bytes(good)
    liquid_tf.copy(new, copy, existing="resume", progress=False)
    self.assertEqual(photos.files(copy), photos.files(new))
    self.assertFalse(os.path.exists(outputs.beside(copy)))

  def test_nothing_foreign_is_ever_removed(self):
    os.makedirs(self.output)
    for name in ("notes.txt", "mine.rec"):
      path = pathlib.Path(self.output, name)
      path.write_text("precious")
      for options in ({}, {"existing": "resume"}, {"existing": "replace"}):
        with self.assertRaisesRegex(ConvertError, f"holds {name}"):
          self._convert(**options)
      self.assertEqual(path.read_text(), "precious")
      path.unlink()
    self._convert()
    path = pathlib.Path(self.output, "notes.txt")
    path.write_text("precious")
    with self.assertRaisesRegex(ConvertError, "holds notes.txt"):
      self._convert(existing="replace")
    self.assertEqual(path.read_text(), "precious")
    manifest.load(self.output)

  def test_time_left_of_what_is_resumed(self):
    """Images of an earlier run are done, and tell nothing of this run's rate."""
    source = photos.class_folders(
      f"{self.root}/few", per_class=4, classes=1, sides=(40, 40)
    )
    write_some, passes, bars = write.write_some, [], []

    def interrupted(*arguments):
      yield next(write_some(*arguments))
      raise KeyboardInterrupt

    made = (source, self.output, "raw")
    options = {"shard_size": 4096, "workers": 1}
    with mock.patch.object(write, "write_some", interrupted):
      with self.assertRaises(KeyboardInterrupt):
        convert(*made, progress=False, **options)
    start = Progress.start

    def spy(progress, name, total, done=0, unit="img"):
      passes.append((name, total, done))
      start(progress, name, total, done, unit)
      if name == "write":
        progress._bar.start_t -= 30
        progress.step(1)
        bars.append(str(progress._bar))
        progress._bar.n -= 1

    with mock.patch.object(Progress, "start", spy):
      convert(*made, existing="resume", **options)
    self.assertContainsSubset([("scan", 4, 4), ("write", 4, 1)], passes)
    # One image took 30 seconds, and two are left.
    self.assertRegex(bars[0], r"2/4 \[00:30<01:00, 30\.")

  def test_resume_of_a_finished_dataset_changes_nothing(self):
    self._convert()
    before = photos.files(self.output)
    report = self._convert(existing="resume")
    self.assertEqual(report.samples, 60)
    self.assertEqual(photos.files(self.output), before)
    with self.assertRaisesRegex(ConvertError, "with seed 0, not 1: existing"):
      self._convert(existing="resume", seed=1)

  def test_a_second_conversion_waits_outside(self):
    os.makedirs(self.output)
    descriptor = os.open(self.output, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with self.assertRaisesRegex(ConvertError, "written by another process"):
      self._convert()
    os.close(descriptor)
    self._convert()

  def test_an_output_that_cannot_be_made_is_one_clear_error(self):
    pathlib.Path(self.output).touch()
    with self.assertRaisesRegex(ConvertError, "must .*but is a file: choose another"):
      self._convert()
    self.output = os.path.join(self.output, "dataset")
    with self.assertRaisesRegex(ConvertError, f"cannot write {self.output}"):
      self._convert()

  def _interrupt(self, **options):
    """Leaves a conversion that stopped when the disk was full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (45_000, hard))
    try:
      with self.assertRaisesRegex(ConvertError, 'cannot .*existing="resume"') as caught:
        self._convert(workers=1, **options)
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return str(caught.exception)

  def test_a_full_disk_is_one_clear_error_and_can_be_resumed(self):
    message = self._interrupt()
    self.assertRegex(message, rf"cannot write {self.output}.*: File too large")
    left = photos.files(self.output)
    self.assertNotIn("dataset.json", left)
    self.assertFalse([name for name in left if name.endswith(".tmp")])
    for read in (manifest.load, lambda path: self._convert()):
      with self.assertRaisesRegex(Exception, "unfinished conversion.*resume"):
        read(self.output)
    self.assertIn("unfinished", inspection.inspect(self.output)["problems"][0])
    self._convert(existing="resume")
    fresh = f"{self.root}/fresh"
    self.output, resumed = fresh, self.output
    self._convert()
    self.assertEqual(photos.files(resumed), photos.files(fresh))

  def test_resume_writes_shards_again_that_are_no_longer_right(self):
    self._convert()
    wanted = photos.files(self.output)
    shutil.rmtree(self.output)
    full = OSError(errno.ENOSPC, "No space left on device")

    def stop_at_the_end(**options):
      with mock.patch.object(finish, "finish", side_effect=full):
        with self.assertRaisesRegex(ConvertError, "No space left"):
          self._convert(**options)

    stop_at_the_end()
    shard = next(pathlib.Path(self.output).glob("*.rec"))
    right = shard.read_bytes()
    for wrong in (right[:100] + b"four" + right[104:], right[:-4], None):
      if wrong is None:
        shard.unlink()
      else:
        shard.write_bytes(wrong)
      stop_at_the_end(existing="resume")
      self.assertEqual(shard.read_bytes(), right)
    shard.write_bytes(right[:-8] + right[-4:] + right[-8:-4])
    self._convert(existing="resume")
    self.assertEqual(photos.files(self.output), wanted)

  def test_resume_must_have_the_same_arguments_and_source(self):
    stop = mock.patch("liquid_tf._convert.finish.finish", side_effect=ConvertError)
    with stop, self.assertRaises(ConvertError):
      self._convert()
    with self.assertRaisesRegex(
      ConvertError, r"cannot resume .*: seed \(1\) was 0 .*existing=.replace"
    ):
      self._convert(existing="resume", seed=1)
    with self.assertRaisesRegex(ConvertError, 'mix .* was {"raw": 4, "png": 6}'):
      self._convert(existing="resume", mix="png:1,raw:1")

    added = pathlib.Path(self.source, "coffee", "new.png")
    shutil.copy(f"{self.source}/coffee/0000.png", added)
    with self.assertRaisesRegex(ConvertError, r"not the same.*added: coffee/new.png"):
      self._convert(existing="resume")
    added.unlink()

    victim = pathlib.Path(self.source, "coffee", "0003.png")
    good = victim.read_bytes()
    victim.write_bytes(good + b"\0")
    with self.assertRaisesRegex(ConvertError, r"changed: coffee/0003.png"):
      self._convert(existing="resume")
    # Of the same size, and so seen by its content only.
    victim.write_bytes(bytes([*good[:-1], good[-1] ^ 1]))
    with self.assertRaisesRegex(ConvertError, r"coffee/0003.png"):
      self._convert(existing="resume")
    victim.unlink()
    with self.assertRaisesRegex(ConvertError, r"removed: coffee/0003.png"):
      self._convert(existing="resume")
    # Rewritten with the same content: only its time is new.
    victim.write_bytes(good)
    self.assertEqual(self._convert(existing="resume").samples, 60)


if __name__ == "__main__":
  tf.test.main()
