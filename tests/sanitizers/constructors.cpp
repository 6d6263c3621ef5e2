// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory that constructors of libraries allocate, such as GLib's table of strings, lives as long as
// the process and is not a leak. So LeakSanitizer is off until all constructors have run.
// Suppressing leaks by name takes whole stacks, with which every test runs for three times as long.
// Linked to test programs only in builds with -Db_sanitize=address.
extern "C" void __lsan_disable ();
extern "C" void __lsan_enable ();

namespace {

/// Runs before the constructors of all libraries.
void disable (int, char **, char **)
{
  __lsan_disable ();
}
__attribute__ ((section (".preinit_array"), used)) void (*const before_all) (int, char **,
                                                                             char **) = disable;

/// Runs behind them, among the constructors of the program.
__attribute__ ((constructor)) void enable ()
{
  __lsan_enable ();
}

}  // namespace
