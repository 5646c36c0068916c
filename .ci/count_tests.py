"""Sums the test cases of Bazel runs, with the skipped and the slowest.

usage: count_tests.py REPORT:EXIT_CODE...

REPORT is what --build_event_json_file wrote. A target that ends badly without a
failed case (a crash, a timeout, a build that broke) counts as one failure, and
so does a run that failed otherwise (the style check), or left no report. The
ten slowest targets are listed, each shard by itself, with their seconds. The
last line is "N passed, N failed, N skipped". Exits with 1 after any failure.
"""

import collections
import dataclasses
import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

# absl prints it, and leaves the reason out of the XML.
_SKIPPED = "[  SKIPPED ] {} - "


@dataclasses.dataclass
class Count:
  """What became of test cases.

  Attributes:
    passed: how many.
    failed: how many.
    skipped: (label of the target, reason) of each.
    seconds: (wall-clock seconds, label of the target) of each process.
  """

  passed: int = 0
  failed: int = 0
  skipped: list[tuple[str, str]] = dataclasses.field(default_factory=list)
  seconds: list[tuple[float, str]] = dataclasses.field(default_factory=list)

  def __iadd__(self, other: "Count") -> "Count":
    self.passed += other.passed
    self.failed += other.failed
    self.skipped += other.skipped
    self.seconds += other.seconds
    return self


def _reason(case: ElementTree.Element, log: list[str]) -> str:
  element = case.find("skipped")
  if element is not None:
    # GoogleTest's begins with a line of its own that names the source.
    lines = (element.get("message") or element.text or "").strip().splitlines()
    return " ".join(lines[1:] or lines) or "no reason given"
  name, classname = case.get("name"), case.get("classname")
  short = classname.rpartition(".")[2]
  # Among several modules in one process a class has its module's name. A class that
  # skips itself in setUpClass comes in parentheses.
  for title in (f"{short}.{name}", f"{classname}.{name}", f"{name} ({classname})"):
    begin = _SKIPPED.format(title)
    for line in log:
      if line.startswith(begin):
        return line[len(begin) :]
  return "no reason given"


def count_cases(path: pathlib.Path, log: list[str], label: str) -> Count:
  """Counts the cases of one test.xml; the lines of its test.log have reasons."""
  count = Count()
  for case in ElementTree.parse(path).iter("testcase"):
    # Every tf.test.TestCase has a method of this name, which is no test.
    if case.get("name") == "test_session":
      continue
    if case.find("failure") is not None or case.find("error") is not None:
      count.failed += 1
    elif case.find("skipped") is not None or case.get("status") == "notrun":
      count.skipped.append((label, _reason(case, log)))
    else:
      count.passed += 1
  return count


def _outputs(result: dict) -> dict[str, pathlib.Path]:
  found = {}
  for output in result.get("testActionOutput", []):
    uri = urllib.parse.urlparse(output["uri"])
    found[output["name"]] = pathlib.Path(urllib.parse.unquote(uri.path))
  return found


def count_report(path: pathlib.Path) -> Count:
  """Counts the cases of one Bazel run."""
  count = Count()
  if not path.is_file():
    print(f"{path} is not there: no test ran")
    return Count(failed=1)
  for line in path.read_text().splitlines():
    event = json.loads(line)
    label = event["id"].get("targetCompleted", {}).get("label")
    if label and not event.get("completed", {}).get("success"):
      print(f"not built: {label}")
      count.failed += 1
    result = event.get("testResult")
    if result is None:
      continue
    label = event["id"]["testResult"]["label"]
    outputs = _outputs(result)
    cases = Count()
    if "test.xml" in outputs:
      log = outputs["test.log"].read_text(errors="replace").splitlines()
      cases = count_cases(outputs["test.xml"], log, label)
    if result.get("status") not in ("PASSED", "FLAKY") and not cases.failed:
      print(f"{result.get('status')}: {label}")
      cases.failed = 1
    if "testAttemptDurationMillis" in result:
      cases.seconds.append((int(result["testAttemptDurationMillis"]) / 1e3, label))
    count += cases
  return count


def print_skipped(skipped: list[tuple[str, str]]) -> None:
  """One line for each reason: how many cases, and of which targets."""
  by_reason = collections.defaultdict(list)
  for label, reason in skipped:
    by_reason[reason].append(label)
  for reason, labels in sorted(by_reason.items()):
    print(f"skipped {len(labels)}: {reason} ({', '.join(sorted(set(labels)))})")


def print_slowest(seconds: list[tuple[float, str]]) -> None:
  for taken, label in sorted(seconds, reverse=True)[:10]:
    print(f"{taken:7.1f} s  {label}")


def main(arguments: list[str]) -> int:
  total = Count()
  for argument in arguments:
    report, _, exit_code = argument.rpartition(":")
    count = count_report(pathlib.Path(report))
    if int(exit_code) and not count.failed:
      print(f"{report}: exit code {exit_code} without a failed test")
      count.failed = 1
    total += count
  print_skipped(total.skipped)
  print_slowest(total.seconds)
  print(
    f"{total.passed} passed, {total.failed} failed, {len(total.skipped)} skipped",
    flush=True,
  )
  return int(total.failed > 0)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
