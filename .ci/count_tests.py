"""Sums the test cases of several Bazel runs into one line.

usage: count_tests.py REPORT:EXIT_CODE...

REPORT is what --build_event_json_file wrote. A target that ends badly without a
failed case (a crash, a timeout, a build that broke) counts as one failure, and
so does a run that failed otherwise (the style check). Exits with 1 after any.
"""

import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def count_cases(path: pathlib.Path) -> tuple[int, int]:
  """Counts (passed, failed) cases of one test.xml; skipped ones are neither."""
  passed = failed = 0
  for case in ElementTree.parse(path).iter("testcase"):
    if case.find("failure") is not None or case.find("error") is not None:
      failed += 1
    elif case.find("skipped") is None and case.get("status") != "notrun":
      passed += 1
  return passed, failed


def count_report(path: pathlib.Path) -> tuple[int, int]:
  """Counts (passed, failed) cases of one Bazel run."""
  passed = failed = 0
  if not path.is_file():
    return 0, 0
  for line in path.read_text().splitlines():
    event = json.loads(line)
    label = event["id"].get("targetCompleted", {}).get("label")
    if label and not event.get("completed", {}).get("success"):
      print(f"not built: {label}")
      failed += 1
    result = event.get("testResult")
    if result is None:
      continue
    good = bad = 0
    for output in result.get("testActionOutput", []):
      if output["name"] == "test.xml":
        uri = urllib.parse.urlparse(output["uri"])
        good, bad = count_cases(pathlib.Path(urllib.parse.unquote(uri.path)))
    if result.get("status") not in ("PASSED", "FLAKY") and not bad:
      print(f"{result.get('status')}: {event['id']['testResult']['label']}")
      bad = 1
    passed += good
    failed += bad
  return passed, failed


def main(arguments: list[str]) -> int:
  passed = failed = 0
  for argument in arguments:
    report, _, exit_code = argument.rpartition(":")
    good, bad = count_report(pathlib.Path(report))
    if int(exit_code) and not bad:
      print(f"{report}: exit code {exit_code} without a failed test")
      bad = 1
    passed += good
    failed += bad
  print(f"{passed} passed, {failed} failed")
  return int(failed > 0)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
