#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""archive_items.py [--items 10000] [--check]: what the driver of integralhist-archive takes

Runs so many jobs of one frame each, by the local engine, and takes the processor time of the driver
and of the jobs, and the driver's memory on the way. --check fails if the driver takes more than
5 % of the jobs' time, or its memory grows by more than 8 MB behind the first tenth.

Python is one with pyarrow and tqdm, in the environment of meson devenv.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import virtual_environment  # noqa: E402

virtual_environment.enter()
TICKS = os.sysconf('SC_CLK_TCK')


def times(pid):
    """(seconds of the process, seconds of its children that have ended)"""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    user, system, of_children_user, of_children_system = map(int, fields[11:15])
    return (user + system) / TICKS, (of_children_user + of_children_system) / TICKS


def resident(pid):
    """Megabytes"""
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith('VmRSS'))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--items', type=int, default=10000)
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = f'{folder}/{0:06d}.avi'
        subprocess.run(['gst-launch-1.0', '-q', *(
            'videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=32,height=24 ! jpegenc ! '
            f'avimux ! filesink location={first}').split()], check=True)
        for number in range(1, options.items):
            os.link(first, f'{folder}/{number:06d}.avi')
        with open(f'{folder}/settings.toml', 'w', encoding='utf-8') as file:
            file.write('[regions]\ngrid = [1, 1]\n')
        out = f'{folder}/out'
        driver = subprocess.Popen(
            [sys.executable, '-m', 'integralhist.archive', 'run', f'{folder}/settings.toml',
             f'{folder}/*.avi', '--out', out], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        print('   done  seconds  jobs, s  driver, s  of the jobs  driver, MB')
        started, step, memory = time.monotonic(), max(1, options.items // 10), []
        share = done = 0
        while driver.poll() is None:
            time.sleep(0.05)
            done = len(os.listdir(f'{out}/_done')) if os.path.isdir(f'{out}/_done') else 0
            if done >= step * (len(memory) + 1):
                own, jobs = times(driver.pid)
                memory.append(resident(driver.pid))
                share = own / jobs
                print(f'{done:7d}  {time.monotonic() - started:7.1f}  {jobs:7.1f}  {own:9.2f}  '
                      f'{share:11.1%}  {memory[-1]:10.1f}', flush=True)
        if driver.returncode or not memory:
            print(f'the driver ended with {driver.returncode}, with {done} of {options.items} done')
            return 1
    growth = memory[-1] - memory[0]
    good = share < 0.05 and growth < 8
    print(f'the driver takes {share:.1%} of the jobs\' time, and grew by {growth:.1f} MB: '
          + ('as promised' if good else 'more than promised'))
    return 1 if options.check and not good else 0


if __name__ == '__main__':
    sys.exit(main())
