"""What .ci/count_tests.py makes of reports: passed, failed, skipped, and why."""

import json
import os
import pathlib
import subprocess
import sys

from absl.testing import absltest, parameterized

_TOOL = pathlib.Path(__file__).resolve().parents[1] / ".ci" / "count_tests.py"
_ROOM = pathlib.Path(__file__).resolve().parent / "liquid_tf" / "room_main.py"

_PYTHON = """
import unittest
from absl.testing import absltest, parameterized

class Each(parameterized.TestCase):
  @parameterized.parameters("a - b", "c")
  def test_one(self, text):
    if text != "c":
      self.skipTest("no <disk> & no 'peer' - here")

  def test_parts(self):
    for part in range(3):
      with self.subTest(part=part):
        if part == 1:
          self.skipTest("part 1 is elsewhere")

  # TensorFlow's TestCase has a method of this name.
  def test_session(self):
    self.skipTest("Not a test.")

class All(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    raise unittest.SkipTest("needs root")

  def test_never(self):
    self.fail()

if __name__ == "__main__":
  absltest.main()
"""

_GOOGLE_TEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" name="AllTests">
  <testsuite name="Ways" tests="3" failures="1" skipped="1">
    <testcase name="Reads/0" status="run" result="completed" classname="Ways" />
    <testcase name="Reads/1" status="run" result="skipped" classname="Ways">
      <skipped message="tests/ways_test.cc:49&#x0A;no io_uring&#x0A;"/>
    </testcase>
    <testcase name="Writes" status="run" result="completed" classname="Ways">
      <failure message="tests/ways_test.cc:60&#x0A;3 is not 4" type=""/>
    </testcase>
  </testsuite>
</testsuites>
"""


class CountTestsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.events = []

  def _add(
    self, label: str, status: str, xml: pathlib.Path | None = None, **more
  ) -> None:
    """Adds what Bazel reports of a test that ran."""
    log = self.folder / "test.log"
    log.touch()
    files = {"test.log": log} | ({"test.xml": xml} if xml else {})
    self.events.append(
      {
        "id": {"testResult": {"label": label}},
        "testResult": {
          "status": status,
          "testActionOutput": [
            {"name": name, "uri": path.as_uri()} for name, path in files.items()
          ],
          **more,
        },
      }
    )

  def _count(self, exit_code: int = 0, name: str = "report.json") -> tuple[int, list]:
    """(exit code, lines) of the tool."""
    report = self.folder / name
    if self.events:
      report.write_text("".join(json.dumps(event) + "\n" for event in self.events))
    done = subprocess.run(
      [sys.executable, _TOOL, f"{report}:{exit_code}"], capture_output=True, text=True
    )
    self.assertEqual(done.stderr, "")
    return done.returncode, done.stdout.splitlines()

  @parameterized.parameters(False, True)
  def test_skipped_python_tests_are_counted_with_their_reasons(self, in_a_room):
    script, xml = self.folder / "each_test.py", self.folder / "test.xml"
    script.write_text(_PYTHON)
    with open(self.folder / "test.log", "w") as log:
      subprocess.run(
        [sys.executable, _ROOM, f"--modules={script}"]
        if in_a_room
        else [sys.executable, script],
        env={**os.environ, "XML_OUTPUT_FILE": os.fspath(xml)},
        stdout=log,
        stderr=log,
        check=True,
      )
    self._add("//tests:each_test", "PASSED", xml)
    self.assertEqual(
      self._count(),
      (
        0,
        [
          "skipped 1: needs root (//tests:each_test)",
          "skipped 1: no <disk> & no 'peer' - here (//tests:each_test)",
          "skipped 1: part 1 is elsewhere (//tests:each_test)",
          # Parts that pass count as cases of their own.
          "3 passed, 0 failed, 3 skipped",
        ],
      ),
    )

  def test_those_of_google_test_too(self):
    xml = self.folder / "test.xml"
    xml.write_text(_GOOGLE_TEST)
    self._add("//tests:ways_test", "FAILED", xml)
    self._add("//tests:more_ways_test", "FAILED", xml)
    self.assertEqual(
      self._count(exit_code=3),
      (
        1,
        [
          "skipped 2: no io_uring (//tests:more_ways_test, //tests:ways_test)",
          "2 passed, 2 failed, 2 skipped",
        ],
      ),
    )

  def test_the_ten_slowest_are_listed(self):
    xml = self.folder / "test.xml"
    xml.write_text('<testsuites><testcase name="a" classname="b"/></testsuites>')
    for i in range(12):
      duration = str(1000 * i + 400)  # as Bazel writes a number of 64 bits
      self._add(f"//tests:t{i}", "PASSED", xml, testAttemptDurationMillis=duration)
    _, lines = self._count()
    self.assertEqual(lines[:-1], [f"{i:5}.4 s  //tests:t{i}" for i in range(11, 1, -1)])

  def test_what_ends_badly_without_a_case_is_a_failure(self):
    self._add("//tests:crash_test", "FAILED")
    self._add("//tests:slow_test", "TIMEOUT")
    self.events.append(
      {"id": {"targetCompleted": {"label": "//ops:broken"}}, "completed": {}}
    )
    status, lines = self._count(exit_code=1)
    self.assertEqual(status, 1)
    self.assertEqual(
      lines,
      [
        "FAILED: //tests:crash_test",
        "TIMEOUT: //tests:slow_test",
        "not built: //ops:broken",
        "0 passed, 3 failed, 0 skipped",
      ],
    )

  def test_a_run_that_failed_otherwise_or_left_no_report_is_a_failure(self):
    status, lines = self._count()
    self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))
    self.assertIn("report.json is not there: no test ran", lines[0])
    xml = self.folder / "test.xml"
    xml.write_text('<testsuites><testcase name="a" classname="b"/></testsuites>')
    self._add("//tests:a_test", "PASSED", xml)
    self.assertEqual(self._count(), (0, ["1 passed, 0 failed, 0 skipped"]))
    status, lines = self._count(exit_code=2)
    self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
    self.assertIn("exit code 2 without a failed test", lines[0])


if __name__ == "__main__":
  absltest.main()
