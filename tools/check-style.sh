#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tools/check-style.sh: .clang-format holds for every C, C++ and CUDA file, kernels/ knows no GStreamer and no GLib, and an algorithm is called as its file.
# Prints what is wrong, and fails if anything is. To repair the format of a file: clang-format -i FILE
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
command -v clang-format >/dev/null || { echo "clang-format is missing; install the package clang-format" >&2; exit 1; }

# Files that git knows or would add; all of them outside of a repository
if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
  list=(git -c safe.directory='*' ls-files -z --cached --others --exclude-standard)
else
  list=(find . -path './build*' -prune -o -type f -print0)
fi
files=()
while IFS= read -r -d '' file; do
  case $file in
    *.c | *.h | *.cpp | *.hpp | *.cu | *.cuh) [ ! -f "$file" ] || files+=("$file") ;;
  esac
done < <("${list[@]}")
[ ${#files[@]} -gt 0 ] || { echo "no source files found" >&2; exit 1; }

for file in "${files[@]}"; do
  clang-format --style=file "$file" | diff -u --label "$file" --label "$file, formatted" "$file" - || failed=1
done
[ $failed -eq 0 ] || echo "$(clang-format --version) would change what is shown above" >&2
if grep -rniE 'gst|glib' kernels/; then
  echo "kernels/ must not know GStreamer or GLib; see above" >&2
  failed=1
fi
# An algorithm is called as its file is
for file in $(grep -lE '^const Strategy k' -r kernels/); do
  stem=$(basename "${file%.*}" | tr _ -)
  name=$(sed -nE 's/.*\.name = "([^"]*)".*/\1/p' "$file")
  if [ "$name" != "$stem" ]; then
    echo "$file: its strategy is called \"$name\", and must be \"$stem\"" >&2
    failed=1
  fi
done
[ $failed -ne 0 ] || echo "style: ${#files[@]} files are as they should be"
exit $failed
