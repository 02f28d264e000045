#!/usr/bin/env python3
"""Tests of pins.py, of the committed lock and of the files kept in distdir/."""

import hashlib
import pathlib
import sys
import unittest

_HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(_HERE))

import pins  # pylint: disable=wrong-import-position

_SHOW = """Package: libssl-dev
Version: 3.0.22-1~deb12u2
Filename: pool/updates/main/o/openssl/libssl-dev_3.0.22-1~deb12u2_amd64.deb
SHA256: 0123
"""

_SOURCE = """'http://m/debian/pool/main/o/onednn/onednn_3.7.2%2bds-1.dsc' onednn_3.7.2+ds-1.dsc 2364 SHA256:aa
'http://m/debian/pool/main/o/onednn/onednn_3.7.2%2bds.orig.tar.xz' onednn_3.7.2+ds.orig.tar.xz 9864236 SHA256:bb
'http://m/debian/pool/main/o/onednn/onednn_3.7.2%2bds-1.debian.tar.xz' onednn_3.7.2+ds-1.debian.tar.xz 30 SHA256:cc
"""


def _pin(**changes):
    return pins.Pin("1.0", "bookworm", "debian", "pool/main/a/a_1.0_amd64.deb", "00", "20260101T000000Z")._replace(**changes)


class PackagesTest(unittest.TestCase):
    def test_ignores_comments_and_blank_lines(self):
        self.assertEqual(pins.parse_packages("# all\n\nbookworm zlib1g # why\n"), [("bookworm", "zlib1g")])

    def test_names_a_line_with_a_missing_field(self):
        with self.assertRaisesRegex(ValueError, "packages.txt:2"):
            pins.parse_packages("bookworm a\nzlib1g\n")

    def test_refuses_a_package_listed_twice(self):
        with self.assertRaisesRegex(ValueError, "a is listed twice"):
            pins.parse_packages("bookworm a\nsid a\n")


class RootsTest(unittest.TestCase):
    def test_come_from_apt(self):
        out = "'http://m/debian/dists/bookworm/InRelease' x 0 \n'http://s/debian-security/dists/b/InRelease' y 0 \n"
        self.assertEqual(pins.archive_roots(out), ("http://m/debian", "http://s/debian-security"))

    def test_prefer_the_callers_mirror(self):
        out = "'http://m/debian/dists/bookworm/InRelease' x 0 \n"
        self.assertEqual(pins.archive_roots(out, "http://near/debian/")[0], "http://near/debian")

    def test_security_is_beside_main_if_not_named(self):
        self.assertEqual(pins.archive_roots("", "http://m/debian"), ("http://m/debian", "http://m/debian-security"))

    def test_without_a_mirror_say_what_to_set(self):
        with self.assertRaisesRegex(ValueError, "DEBIAN_MIRROR"):
            pins.archive_roots("")


class PinTest(unittest.TestCase):
    def test_of_a_security_update_is_in_the_security_archive(self):
        pin = pins.pin_of_binary(_SHOW, "bookworm+security", "t")
        self.assertEqual((pin.archive, pin.version, pin.sha256), ("debian-security", "3.0.22-1~deb12u2", "0123"))

    def test_of_a_source_package_is_its_upstream_archive(self):
        pin = pins.pin_of_source(_SOURCE, "trixie", "t")
        self.assertEqual(pin, pins.Pin("3.7.2+ds", "trixie", "debian", "pool/main/o/onednn/onednn_3.7.2+ds.orig.tar.xz", "bb", "t"))

    def test_of_a_source_package_without_upstream_archive_fails(self):
        with self.assertRaisesRegex(ValueError, "orig.tar"):
            pins.pin_of_source("", "trixie", "t")


class MergeTest(unittest.TestCase):
    def test_keeps_the_time_of_an_unchanged_pin(self):
        self.assertEqual(pins.merge({"a": _pin()}, {"a": _pin(timestamp="20270101T000000Z")}), {"a": _pin()})

    def test_takes_a_changed_pin_with_its_time(self):
        new = _pin(version="1.1", timestamp="20270101T000000Z")
        self.assertEqual(pins.merge({"a": _pin()}, {"a": new}), {"a": new})

    def test_forgets_what_is_no_longer_wanted(self):
        self.assertEqual(pins.merge({"a": _pin()}, {}), {})


class LockTest(unittest.TestCase):
    def test_reads_back_what_it_writes(self):
        lock = {"a": _pin(), "src:b": _pin(version="1:2+ds~x")}
        self.assertEqual(pins.parse_lock(pins.render_lock(lock)), lock)

    def test_refuses_an_edited_file(self):
        with self.assertRaisesRegex(ValueError, "by hand"):
            pins.parse_lock(pins.render_lock({"a": _pin()}) + "# mine\n")


class CommittedFilesTest(unittest.TestCase):
    def setUp(self):
        self.lock = pins.parse_lock((_HERE / "lock.bzl").read_text())

    def test_lock_has_exactly_the_wanted_packages(self):
        wanted = pins.parse_packages((_HERE / "packages.txt").read_text())
        self.assertEqual({name: pin.suite for name, pin in self.lock.items()}, {name: suite for suite, name in wanted})

    def test_distdir_holds_exactly_the_files_that_mirrors_will_drop(self):
        files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                 for file in (_HERE / "distdir").iterdir() if file.name != "README.md"}
        self.assertEqual(files, pins.kept_files(self.lock))


if __name__ == "__main__":
    unittest.main()
