#!/usr/bin/env python3
"""Tests of test_summary.py."""

import io
import json
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import test_summary  # pylint: disable=wrong-import-position

_GREEN = '<testsuites><testsuite><testcase name="A"/><testcase name="B"/></testsuite></testsuites>'
_RED = '<testsuites><testsuite><testcase name="A"/><testcase name="B"><failure/></testcase></testsuite></testsuites>'
_SKIPPED = '<testsuites><testsuite><testcase name="A" result="skipped"><skipped/></testcase></testsuite></testsuites>'


def _configured(label):
    return json.dumps({"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}})


def _finished(label, overall):
    return json.dumps({"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": overall}})


def _result(label, path, attempt=1):
    output = {"name": "test.xml", "uri": "file://" + path}
    return json.dumps({"id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": attempt}},
                       "testResult": {"status": "x", "testActionOutput": [output]}})


def _summarize(events, files):
    return test_summary.summarize(*test_summary.read_events(events),
                                  parse=lambda path: xml.etree.ElementTree.parse(io.StringIO(files[path])))


class TestSummaryTest(unittest.TestCase):
    def test_counts_the_cases_of_a_passed_test(self):
        summary = _summarize([_configured("//a"), _result("//a", "/x"), _finished("//a", "PASSED")], {"/x": _GREEN})
        self.assertEqual((summary.passed, summary.failed), (2, 0))

    def test_names_a_failed_case(self):
        summary = _summarize([_configured("//a"), _result("//a", "/x"), _finished("//a", "FAILED")], {"/x": _RED})
        self.assertEqual((summary.passed, summary.failed, summary.failures), (1, 1, ["//a .B"]))

    def test_a_crash_after_passed_cases_is_a_failure(self):
        summary = _summarize([_configured("//a"), _result("//a", "/x"), _finished("//a", "FAILED")], {"/x": _GREEN})
        self.assertEqual(summary.failures, ["//a FAILED"])

    def test_a_test_that_was_not_built_is_a_failure(self):
        summary = _summarize([_configured("//a")], {})
        self.assertEqual(summary.failures, ["//a NOT_RUN"])

    def test_a_skipped_case_is_neither_passed_nor_failed(self):
        summary = _summarize([_configured("//a"), _result("//a", "/x"), _finished("//a", "PASSED")], {"/x": _SKIPPED})
        self.assertEqual((summary.passed, summary.failed, summary.skipped), (0, 0, 1))

    def test_only_the_last_attempt_of_a_flaky_test_counts(self):
        events = [_configured("//a"), _result("//a", "/x", 1), _result("//a", "/y", 2), _finished("//a", "FLAKY")]
        summary = _summarize(events, {"/x": _RED, "/y": _GREEN})
        self.assertEqual((summary.passed, summary.failed), (2, 0))

    def test_a_damaged_report_of_a_failed_test_is_a_failure(self):
        summary = _summarize([_configured("//a"), _result("//a", "/x"), _finished("//a", "TIMEOUT")], {"/x": "<testsuites>"})
        self.assertEqual(summary.failures, ["//a TIMEOUT"])

    def test_targets_that_are_no_tests_do_not_count(self):
        event = json.dumps({"id": {"targetConfigured": {"label": "//lib"}}, "configured": {"targetKind": "cc_library rule"}})
        self.assertEqual(test_summary.read_events([event]), ({}, {}))


if __name__ == "__main__":
    unittest.main()
