#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""count.py TESTLOG.JSON: counts the checks in Meson's test log; fails if one failed or none ran.

A program of libcheck or unittest counts as the checks that it reports, inthist-check as one for
each check of each strategy, any other as one. A crash, a timeout or a bad exit without a failed
check is one failure. A line that starts with SKIP: is a check that did not take place. Each reason
is printed once, with the number of checks and their tests. The last lines of what failed are
printed once more.
"""
import collections
import json
import re
import sys


def number(pattern, text):
    return sum(int(n) for n in re.findall(pattern, text, re.MULTILINE))


def count(test):
    """(passed, failed, skip reasons) of one test program"""
    text = (test.get('stdout') or '') + '\n' + (test.get('stderr') or '')
    reasons = re.findall(r'^SKIP:\s*(.*)$', text, re.MULTILINE)

    if re.search(r'^\d+%: Checks: ', text, re.MULTILINE):  # libcheck
        checks = number(r'^\d+%: Checks: (\d+)', text)
        failed = number(r'^\d+%: Checks: .*Failures: (\d+)', text)
        failed += number(r'^\d+%: Checks: .*Errors: (\d+)', text)
    elif re.search(r'^inthist-check: \d+ runs, ', text, re.MULTILINE):
        failed = len(re.findall(r'^\[FAIL\] ', text, re.MULTILINE))
        checks = failed + len(re.findall(r'^\[OK\] ', text, re.MULTILINE)) + len(reasons)
    elif re.search(r'^Ran \d+ tests? in ', text, re.MULTILINE):  # unittest
        checks = number(r'^Ran (\d+) tests? in ', text)
        ending = '\n'.join(re.findall(r'^(?:OK|FAILED) \(.*\)$', text, re.MULTILINE))
        failed = number(r'\b(?<!expected )failures=(\d+)', ending)
        failed += number(r'\berrors=(\d+)', ending)
        failed += number(r'\bunexpected successes=(\d+)', ending)
        reasons += re.findall(r"^.* \.\.\. skipped ['\"](.*)['\"]$", text, re.MULTILINE)
        reasons += ['(no reason given)'] * (number(r'\bskipped=(\d+)', ending) - len(reasons))
    else:
        checks = 1 if test['result'] in ('OK', 'EXPECTEDFAIL') else 0
        failed = 0
        if test['result'] == 'SKIP' and not reasons:
            reasons = ['(no reason given)']

    passed = max(checks - failed - len(reasons), 0)
    if failed == 0 and test['result'] not in ('OK', 'EXPECTEDFAIL', 'SKIP'):
        failed = 1
    return passed, failed, reasons


passed = failed = skipped = 0
skips = collections.defaultdict(list)  # the tests of each reason
endings = []  # of what failed
with open(sys.argv[1], encoding='utf-8', errors='replace') as log:
    for line in log:
        test = json.loads(line)
        p, f, reasons = count(test)
        passed, failed, skipped = passed + p, failed + f, skipped + len(reasons)
        # the name is 'project:suite / test', and with later releases of Meson 'suite -
        # project:test'
        name = re.sub(r'^.*( / |:)', '', test['name'])
        for reason in reasons:
            # most programs put their name before it
            skips[reason.removeprefix(f'{name}: ')].append(name)
        if f:
            said = (test.get('stdout') or '') + (test.get('stderr') or '')
            endings.append((f"FAIL: {name}: {f} failed ({test['result']})", said))
for reason, names in sorted(skips.items(), key=lambda skip: -len(skip[1])):
    print(f'SKIP: {len(names)} of {", ".join(sorted(set(names)))}: {reason}')
for what, text in endings:
    print(what, *('    ' + line for line in text.splitlines()[-15:]), sep='\n')
if passed + failed + skipped == 0:
    print('no test ran')
print(f'{passed} passed, {failed} failed, {skipped} skipped')
sys.exit(failed > 0 or passed == 0)
