#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tools/check-style.sh: prints what is wrong, and fails if anything is:
#
#   - .clang-format holds for every C, C++ and CUDA file; clang-format -i FILE repairs it;
#   - no line of code or prose is longer than 100 characters, except tables and links in Markdown;
#   - kernels/ knows no GStreamer and no GLib;
#   - a folder knows only the layers below it (tools/check-layers);
#   - the pages are plain English (tools/check-prose);
#   - an algorithm has the name of its file.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
if ! command -v clang-format >/dev/null; then
  echo "clang-format is missing; install the package clang-format" >&2
  exit 1
fi

# Files that git knows or would add; outside of a repository, all files
if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
  list=(git -c safe.directory='*' ls-files -z --cached --others --exclude-standard)
else
  list=(find . -path './build*' -prune -o -type f -print0)
fi
files=() texts=()
while IFS= read -r -d '' file; do
  [ -f "$file" ] || continue
  case $file in
    *.c | *.h | *.cpp | *.hpp | *.cu | *.cuh) files+=("$file") ;;
    *.md | *.py | *.sh | *.build | *.txt | *.map | *.in | .ci/run | tools/*) texts+=("$file") ;;
  esac
done < <("${list[@]}")
[ ${#files[@]} -gt 0 ] || { echo "no source files found" >&2; exit 1; }

clang-format --style=file --dry-run --Werror "${files[@]}" ||
  { clang-format --version >&2; failed=1; }
# a table's row, and a line with a link, may be longer in Markdown
long=$(LC_ALL=C.UTF-8 grep -HnE '^.{101}' "${files[@]}" "${texts[@]}" |
  grep -vE '^[^:]*\.md:[0-9]+:( *\||.*(https?://|\]\())' || true)
if [ -n "$long" ]; then
  printf '%s\nno line may be longer than 100 characters\n' "$long" >&2
  failed=1
fi
if grep -rniE 'gst|glib' kernels/; then
  echo "kernels/ must not know GStreamer or GLib; see above" >&2
  failed=1
fi
tools/check-layers || failed=1
tools/check-prose || { echo "the pages must be plain English; see above" >&2; failed=1; }
# An algorithm has the name of its file
for file in $(grep -lE '^extern constinit const Strategy k' -r kernels/); do
  stem=$(basename "${file%.*}" | tr _ -)
  name=$(sed -nE 's/.*\.name = "([^"]*)".*/\1/p' "$file")
  if [ "$name" != "$stem" ]; then
    echo "$file: its strategy is called \"$name\", and must be \"$stem\"" >&2
    failed=1
  fi
done
[ $failed -ne 0 ] || echo "style: $((${#files[@]} + ${#texts[@]})) files are as they should be"
exit $failed
