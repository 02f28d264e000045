#!/usr/bin/env python3
"""Writes docs/goldens.md from a run of the golden tests, or checks that it lists what is tested.

  tests/golden/table.py [--golden_dir=FOLDER]      runs //tests/golden/... and writes the page
  tests/golden/table.py --keep_results             writes it from what the last run left
  tests/golden/table.py --check=FILE --section=Models TARGET...
                                                   exit code 1 unless that section lists these targets

The tests record what they measured as properties of their test cases (testing::Test::RecordProperty),
which Bazel keeps in bazel-testlogs. FOLDER holds the vocabularies that are not in the project, in
FOLDER/tokenizers, as for PHYLLO_GOLDEN_DIR.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

PAGE = 'docs/goldens.md'
NOT_RUN = 'not run'
NONE = '–'


def rows_of_page(text):
    """Returns the first column of the tables by section."""
    rows, section = {}, None
    for line in text.splitlines():
        if line.startswith('## '):
            section = line[3:]
        match = re.match(r'\| `([^`]+)` \|', line)
        if match:
            rows.setdefault(section, []).append(match.group(1))
    return rows


def check(page, section, targets):
    """The errors of a page whose section should have a row for each of `targets`, and no other."""
    have = rows_of_page(page).get(section, [])
    want = [target[:-len('_test')] for target in targets]
    errors = [f'{name}_test has no row' for name in sorted(set(want) - set(have))]
    errors += [f'{name}_test is no target' for name in sorted(set(have) - set(want))]
    return errors + [f'{name}_test has several rows' for name in sorted(set(have)) if have.count(name) > 1]


def read_results(path):
    """(properties, whether it was skipped) of every test case of a test.xml."""
    return [({p.get('name'): p.get('value') for p in case.iter('property')},
             case.find('skipped') is not None)
            for case in ElementTree.parse(path).getroot().iter('testcase')]


def total(cases, matched, all_of_them):
    """'12/12' over all cases that recorded both, '' if none did."""
    pairs = [(int(p[matched]), int(p[all_of_them])) for p, _ in cases if matched in p]
    return f'{sum(m for m, _ in pairs)}/{sum(a for _, a in pairs)}' if pairs else ''


def worst(cases, precision, error, bound):
    """The recorded error that is the largest part of its bound, as text."""
    found = [(float(p[error]), float(p[bound])) for p, _ in cases
             if p.get('precision') == precision and error in p]
    if not found:
        return NONE
    e, b = max(found, key=lambda pair: pair[0] / pair[1])
    return f'{e:.1e} of {b:.1e} ({100 * e / b:.0f} %)'


def model_row(name, cases, exercises):
    f32 = [case for case in cases if case[0].get('precision') == 'f32']
    bf16 = worst(cases, 'bf16', 'output_error', 'output_bound')
    if bf16 == NONE and any(p.get('precision') == 'bf16' for p, skipped in cases if skipped):
        bf16 = NOT_RUN
    return [f'`{name}`', exercises,
            worst(cases, 'f32', 'output_error', 'output_bound'),
            worst(cases, 'f32', 'hidden_error', 'hidden_bound'),
            bf16, worst(cases, 'int8', 'output_error', 'output_bound'),
            worst(cases, 'int4', 'output_error', 'output_bound'),
            total(f32, 'tokens_matched', 'tokens') or NONE]


def tokenizer_row(name, cases):
    columns = ('encoded', 'decoded', 'prefixes', 'chats')
    if cases and all(skipped for _, skipped in cases):
        return [f'`{name}`'] + [NOT_RUN] * len(columns)
    return [f'`{name}`'] + [total(cases, what + '_matched', what) or NONE for what in columns]


def table(head, rows):
    lines = [head, ['---'] * len(head)] + sorted(rows)
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines) + '\n'


def page_of(models, tokenizers, instruction_set):
    page = f'''# Golden tests

Written by `tests/golden/table.py` from a run of `bazel test //tests/golden/...` on a CPU of class {instruction_set}; not edited by hand.

## Models
Against transformers or MiniMind's own code in f32 (`tests/golden/data/models/README.md`), one target a model (`//tests/golden:TARGET_test`). Errors are
those that come nearest to their bound, in standard deviations of what is compared, beside the bound. Output: logits and log-probabilities of three
prompts and of 32 tokens after each. Hidden states: of every layer. Tokens: those of the greedy continuations in f32 that are the reference's, over
all config files of the model. int8 and int4: the root mean square. bf16 of models with experts: of the median position (`model_golden_test.cc` says why). "{NOT_RUN}": this CPU has no
kernels for it. "{NONE}": the golden data or the test has none; models with a label head or none are compared in their labels or embeddings.

{table(['target', 'what it exercises', 'f32: output', 'f32: hidden states', 'bf16: output', 'int8: output', 'int4: output', 'tokens'], models)}
'''
    if not tokenizers:
        return page
    return page + f'''## Tokenizers
Against tokenizers, tiktoken and transformers, one target a tokenizer (`//tests/golden/tokenizers:TARGET_test`): texts encoded and decoded, with
special tokens and without, every prefix of streams decoded, chats rendered to text and ids or refused as the template does. "{NOT_RUN}": the vocabulary comes
under its makers' own terms and was not there. "{NONE}": the golden data has none.

{table(['target', 'texts encoded', 'texts decoded', 'prefixes decoded', 'chats rendered'], tokenizers)}'''


def run_tests(golden_dir):
    command = ['./bazelw', 'test', '//tests/golden/...', '--keep_going']
    if golden_dir:
        command.append('--test_env=PHYLLO_GOLDEN_DIR=' + os.path.abspath(golden_dir))
    return subprocess.run(command, check=False).returncode


def generate(golden_dir, keep_results):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    os.chdir(root)
    code = 0 if keep_results else run_tests(golden_dir)
    targets = subprocess.run(['./bazelw', 'query', 'tests(//tests/golden/...)'], check=True,
                             capture_output=True, text=True).stdout.split()
    models, tokenizers, instruction_sets = [], [], set()
    for target in targets:
        path = 'bazel-testlogs/' + target[2:].replace(':', '/') + '/test.xml'
        if not os.path.exists(path):
            continue
        cases = read_results(path)
        name = target.split(':')[1][:-len('_test')]
        golden = {p['golden'] for p, _ in cases if 'golden' in p}
        instruction_sets |= {p['instruction_set'] for p, _ in cases if 'instruction_set' in p}
        if '/tokenizers:' in target:
            row = tokenizer_row(name, cases)
            tokenizers += [row] if set(row[1:]) != {NONE} else []  # tests of something else
        elif golden:
            folder = golden.pop()
            with open(folder + '/golden.json', encoding='utf-8') as file:
                models.append(model_row(name, cases, json.load(file).get('exercises', os.path.basename(folder))))
    os.makedirs(os.path.dirname(PAGE), exist_ok=True)
    with open(PAGE, 'w', encoding='utf-8') as file:
        file.write(page_of(models, tokenizers, ', '.join(sorted(instruction_sets)) or 'unknown'))
    print(f'{PAGE}: {len(models)} models, {len(tokenizers)} tokenizers')
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--golden_dir')
    parser.add_argument('--keep_results', action='store_true')
    parser.add_argument('--check', metavar='FILE')
    parser.add_argument('--section', choices=['Models', 'Tokenizers'])
    parser.add_argument('targets', nargs='*')
    args = parser.parse_args()
    if not args.check:
        return generate(args.golden_dir, args.keep_results)
    with open(args.check, encoding='utf-8') as file:
        errors = check(file.read(), args.section, args.targets)
    for error in errors:
        print(f'{args.check}: {error}; run tests/golden/table.py')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
