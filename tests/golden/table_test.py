#!/usr/bin/env python3
"""Tests of table.py."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import table  # pylint: disable=wrong-import-position

_RESULTS = '''<testsuites><testsuite>
<testcase name="A"><properties>
<property name="golden" value="gpt2"/><property name="precision" value="f32"/>
<property name="output_error" value="1e-06"/><property name="output_bound" value="1e-05"/>
<property name="tokens" value="96"/><property name="tokens_matched" value="95"/>
</properties></testcase>
<testcase name="B"><properties>
<property name="golden" value="gpt2"/><property name="precision" value="f32"/>
<property name="output_error" value="3e-06"/><property name="output_bound" value="2e-05"/>
<property name="tokens" value="4"/><property name="tokens_matched" value="4"/>
</properties></testcase>
<testcase name="C"><skipped message="no bf16"/><properties>
<property name="precision" value="bf16"/></properties></testcase>
</testsuite></testsuites>'''

_PAGE = '''## Models
| target | tokens |
| --- | --- |
| `gpt2` | 1/1 |
| `gpt2_hub` | 1/1 |

## Tokenizers
| target | cases |
| --- | --- |
| `tok512` | 1/1 |
'''


def _cases():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'test.xml')
        pathlib.Path(path).write_text(_RESULTS, encoding='utf-8')
        return table.read_results(path)


class TableTest(unittest.TestCase):
    def test_row_has_the_error_nearest_to_its_bound_and_all_tokens(self):
        self.assertEqual(table.model_row('gpt2', _cases(), 'gelu'),
                         ['`gpt2`', 'gelu', '3.0e-06 of 2.0e-05 (15 %)', '–', 'not run', '–', '–', '99/100'])

    def test_row_of_a_tokenizer_without_data_is_not_run(self):
        self.assertEqual(table.tokenizer_row('llama2', [({}, True)]), ['`llama2`'] + ['not run'] * 4)

    def test_row_of_a_tokenizer_without_chats_has_none(self):
        self.assertEqual(table.tokenizer_row('gpt2', [({'encoded': '7', 'encoded_matched': '6'}, False)]),
                         ['`gpt2`', '6/7', '–', '–', '–'])

    def test_page_that_lists_exactly_the_targets_has_no_errors(self):
        self.assertEqual(table.check(_PAGE, 'Models', ['gpt2_hub_test', 'gpt2_test']), [])

    def test_missing_row_and_superfluous_row_are_named(self):
        self.assertEqual(table.check(_PAGE, 'Models', ['gpt2_test', 'qwen3_test']),
                         ['qwen3_test has no row', 'gpt2_hub_test is no target'])

    def test_double_row_is_named(self):
        self.assertEqual(table.check(_PAGE + '| `tok512` | 1/1 |\n', 'Tokenizers', ['tok512_test']),
                         ['tok512_test has several rows'])

    def test_page_it_writes_passes_its_own_check(self):
        page = table.page_of([table.model_row('gpt2', _cases(), 'gelu')], [table.tokenizer_row('llama2', [({}, True)])],
                             'avx2')
        self.assertEqual(table.check(page, 'Models', ['gpt2_test']), [])
        self.assertEqual(table.check(page, 'Tokenizers', ['llama2_test']), [])


if __name__ == '__main__':
    unittest.main()
