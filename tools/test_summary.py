#!/usr/bin/env python3
"""Counts test cases in Bazel's build events: test_summary.py FILE of --build_event_json_file.

The last line is "N passed, N failed"; before it, what failed and how many were skipped. The exit code is 0 if at least
one test passed and none failed. A test that did not run to its end (not built, timed out, crashed) is one failure.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree

_GOOD = ("PASSED", "FLAKY")


class Summary:
    """passed, failed, skipped: numbers of cases. failures: the names of what failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures = []

    def add_case(self, label, case):
        """`case`: a <testcase> of a test.xml."""
        if case.find("failure") is not None or case.find("error") is not None:
            self.add_failure(f"{label} {case.get('classname', '')}.{case.get('name', '')}")
        elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed"):
            self.skipped += 1
        else:
            self.passed += 1

    def add_failure(self, name):
        self.failed += 1
        self.failures.append(name)


def read_events(lines):
    """Build events -> ({label: overall status or None}, {label: [path of a test.xml of its last attempt]})."""
    status = {}
    reports = {}
    for line in lines:
        event = json.loads(line)
        kind, identity = next(iter(event.get("id", {}).items()), ("", {}))
        if kind == "targetConfigured" and "testSize" in event.get("configured", {}):
            status.setdefault(identity["label"], None)
        elif kind == "testSummary" and "testSummary" in event:
            status[identity["label"]] = event["testSummary"]["overallStatus"]
        elif kind == "testResult" and "testResult" in event:
            shard = (identity.get("run"), identity.get("shard"))
            for output in event["testResult"].get("testActionOutput", []):
                if output["name"] == "test.xml":
                    path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
                    reports.setdefault(identity["label"], {})[shard] = path
    return status, {label: list(of.values()) for label, of in reports.items()}


def summarize(status, reports, parse=xml.etree.ElementTree.parse):
    """The Summary of what read_events returned. `parse` reads a test.xml."""
    summary = Summary()
    for label in sorted(status):
        failed_before = summary.failed
        for path in reports.get(label, []):
            try:
                cases = list(parse(path).getroot().iter("testcase"))
            except (OSError, xml.etree.ElementTree.ParseError):
                cases = []  # the status decides
            for case in cases:
                summary.add_case(label, case)
        if status[label] not in _GOOD and summary.failed == failed_before:
            summary.add_failure(f"{label} {status[label] or 'NOT_RUN'}")
    return summary


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        summary = summarize(*read_events(file))
    for name in summary.failures:
        print("FAILED", name)
    if summary.skipped:
        print(summary.skipped, "skipped")
    if summary.passed + summary.failed == 0:
        summary.add_failure("no test ran")
        print("FAILED no test ran")
    print(f"{summary.passed} passed, {summary.failed} failed")
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
