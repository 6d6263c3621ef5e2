// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strategy=auto keeps what it measures in a file of the user's cache, and takes it from there. What
// a file says is not believed. What the device has a part in runs on CUDA too.
#include <chrono>
#include <functional>

#include "tuning.hpp"

/// The names of the file's groups, in its order.
static std::vector<std::string> groups_of (const std::string &text)
{
  std::vector<std::string> groups;
  for (std::size_t at = 0; at < text.size (); at = text.find ('\n', at) + 1)
    if (text[at] == '[')
      groups.push_back (text.substr (at + 1, text.find ("]\n", at) - at - 1));
  return groups;
}

TEST_ENVIRONMENT (OwnCache);
TEST_FIXTURE (setup, nullptr);

/// The loop's index is the element's and the backend's.
TEST_EACH (measures_once, 4)
{
  const int element = __i__ % 2;
  const char *backend = kBackends[__i__ / 2];
  if (!have (backend))
    return;
  Outcome outcome = run (element, "", backend);
  fail_unless (outcome.tuning == "measured", "%s", outcome.tuning.c_str ());
  const std::string kept = content ();
  fail_unless (kept.starts_with (std::string ("[") + group (backend) + "]\n"), "%s", kept.c_str ());
  const std::string line = key (element) + "=" + outcome.strategy + ";"
                           + std::to_string (outcome.tile) + ";" + std::to_string (outcome.threads)
                           + ";";
  const auto at = kept.find (line);
  fail_unless (at != std::string::npos, "no %s in %s", line.c_str (), kept.c_str ());
  double microseconds;
  unsigned unfinished;
  int length = 0;
  fail_unless (sscanf (&kept[at + line.size ()], "%lf;%u;%n", &microseconds, &unfinished, &length)
                       == 2
                   && length > 0 && kept[at + line.size () + length] == '\n',
               "%s", kept.c_str ());
  fail_unless (microseconds > 0 && microseconds < 1e6 && unfinished == 0, "%s", kept.c_str ());
  outcome.tuning = "cached";
  fail_unless (run (element, "", backend) == outcome);
  fail_unless (content () == kept);
}

/// Every candidate is taken from the file, whether it is fast or not.
TEST_EACH (cache_decides, 4)
{
  const int element = __i__ % 2;
  const char *backend = kBackends[__i__ / 2];
  if (!have (backend))
    return;
  for (const auto &choice : inthist::candidates (device_of (backend), shape (element))) {
    write (ini (group (backend), key (element), entry (choice)));
    fail_unless (run (element, "", backend)
                     == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile,
                                  choice.tuning.threads }),
                 "%s", entry (choice).c_str ());
  }
}

/// What is missing, stale, broken or forged is measured, and the file is good afterwards. The
/// loop's index is the element's, here and below.
static void expect_measured (int element, const std::string &what, const std::string &text)
{
  write (text);
  for (const char *expected : { "measured", "cached" }) {
    const std::string tuning = run (element).tuning;
    fail_unless (tuning == expected, "%s: %s, not %s", what.c_str (), tuning.c_str (), expected);
  }
}

TEST_EACH (no_file_is_believed, 2)
{
  const std::string good = entry (another (__i__)), name = key (__i__),
                    version = device () + " / " PACKAGE_VERSION;
  const auto with = [&] (const std::string &value) { return ini (group (), name, value); };
  write (with (good));
  fail_unless (run (__i__).tuning == "cached");
  const std::pair<const char *, std::string> cases[] = {
    { "empty file", "" },
    { "garbage", "\x7f\x45LF no key file, \xff\xfe" },
    { "zeros", std::string (5000, '\0') },
    { "a key without a group", name + "=" + good },
    { "other shape", ini (group (), "65x48x32-bins-u8-u32", good) },
    { "other device",
      ini ("A processor of long ago, 1 threads / " PACKAGE_VERSION " " + build (), name, good) },
    { "other driver", ini (device () + " and more / " PACKAGE_VERSION " " + build (), name, good) },
    { "other version", ini (device () + " / 0.0.1 " + build (), name, good) },
    { "another build of other size", ini (version + " " + build (1, 0), name, good) },
    { "an older build", ini (version + " " + build (0, -1), name, good) },
    { "a newer build", ini (version + " " + build (0, 1), name, good) },
    { "no build", ini (version, name, good) },
    { "no version", ini (device (), name, good) },
    { "no value", with ("") },
    { "no last field", with (good.substr (0, good.size () - 2)) },
    { "one more field", with (good + "0;") },
    { "long value", with (std::string (1 << 20, 'x') + good) },
    { "many fields", with (good + std::string (1 << 20, ';')) },
  };
  for (const auto &[what, text] : cases)
    expect_measured (__i__, what, text);
}

/// Every case differs from an entry that is taken in one field.
TEST_EACH (no_field_is_believed, 2)
{
  static const std::vector<std::string> kWrong[] = {
    { "", "quicksort", "wf-tis", "serial", "rows", "WAVEFRONT", "wavefront ", "\xff\xfe" },
    { "", "-1", "1", "12345", "0x40", "64x", "64.0", "+64", " 64", "sixty-four",
      "99999999999999999999" },
    { "", "-1", "64", "1024", "12345", "0x0", "0x", "0.0", " 0", "none", "99999999999999999999" },
    { "", "0", "0.0", "-0", "-1.5", "nan", "-nan", "inf", "-inf", "infinity", "1e999", "1.5x",
      "0x1p3", " 1.5", "+1.5", "1,5", "soon" },
    { "", "-1", "1.5", "0x", " 0", "+0", "nan", "inf", "soon", "99999999999999999999" },
  };
  const inthist::Choice choices[] = { another (__i__), inthist::default_choice (
                                                           inthist::Device::cpu, shape (__i__)) };
  for (const inthist::Choice &choice : choices) {
    const Fields good = fields_of (choice);
    write (ini (group (), key (__i__), joined (good)));
    fail_unless (
        run (__i__)
        == (Outcome{ "cached", choice.strategy->name, choice.tuning.tile, choice.tuning.threads }));
    for (std::size_t i = 0; i < good.size (); i++)
      for (const std::string &wrong : kWrong[i]) {
        Fields fields = good;
        fields[i] = wrong;
        if (fields != good)
          expect_measured (__i__, joined (fields), ini (group (), key (__i__), joined (fields)));
      }
  }
  // all of a candidate of the other device, and of one that is never chosen by itself
  for (const char *other : { "wf-tis;64;1024;1.5;0;", "strip;0;0;1.5;0;", "serial;0;0;1.5;0;" })
    expect_measured (__i__, other, ini (group (), key (__i__), other));
}

/// Writing keeps what others wrote: of other devices, and of this one with another driver, version
/// or build. What was stored last is the last.
TEST_EACH (merges, 2)
{
  const std::string name = device ().substr (0, device ().find (','));
  const std::string others[] = { "Some GPU, 99 SMs, driver 1 / 0.0.1", device () + " / 0.0.1",
                                 name + ", another driver / " PACKAGE_VERSION };
  write (ini (group (), "1x1x1-bins-u8-u32", "rows;0;0;7;0;") + ini (others[0], "a", "b")
         + ini (others[1], "c", "d") + ini (others[2], "e", "f"));
  run (__i__);
  const auto groups = groups_of (content ());
  fail_unless (groups == std::vector<std::string> ({ others[0], others[1], others[2], group () }),
               "%s", content ().c_str ());
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  fail_unless (g_key_file_load_from_file (keys, file ().c_str (), G_KEY_FILE_NONE, nullptr));
  fail_unless (g_key_file_has_key (keys, group ().c_str (), "1x1x1-bins-u8-u32", nullptr));
  fail_unless (g_key_file_has_key (keys, group ().c_str (), key (__i__).c_str (), nullptr));
  for (const auto &[other, entry] :
       { std::pair (others[0], "a"), std::pair (others[1], "c"), std::pair (others[2], "e") })
    fail_unless (g_key_file_has_key (keys, other.c_str (), entry, nullptr));
}

static bool is_found (const integralhist::Expected<std::optional<inthist::Choice>> &found,
                      const inthist::Choice &wanted)
{
  return found && *found && (*found)->strategy == wanted.strategy
         && (*found)->tuning == wanted.tuning;
}

/// Two builds side by side measure once each, in whatever order they start.
TEST_EACH (two_builds, 2)
{
  const std::string other = device () + " / " PACKAGE_VERSION " " + build (0, 1);
  const auto choice = another (__i__);
  write (ini (other, key (__i__), entry (choice)));
  fail_unless (run (__i__).tuning == "measured");
  fail_unless (is_found (integralhist::choice_in (content (), other, inthist::Device::cpu,
                                                  shape (__i__), 200),
                         choice),
               "%s", content ().c_str ());
  // the other stores something; this one is cached still
  write (integralhist::text_with (content (), other, { 65, 48, 1 }, choice, 200));
  fail_unless (groups_of (content ()) == std::vector<std::string> ({ group (), other }), "%s",
               content ().c_str ());
  fail_unless (run (__i__).tuning == "cached");
}

/// Of a device the eight groups that were stored last are kept; those of others are left alone.
TEST_EACH (many_builds, 2)
{
  std::string text;
  std::vector<std::string> wanted;
  for (int i = 0; i < 12; i++) {
    const std::string own = device () + " / " PACKAGE_VERSION " 1 " + std::to_string (i),
                      others = "Some GPU, 99 SMs / " + std::to_string (i);
    text += ini (own, key (__i__), "rows;0;0;7;0;") + ini (others, key (__i__), "strip;0;0;7;0;");
    if (i >= 5)
      wanted.push_back (own);
    wanted.push_back (others);
  }
  wanted.push_back (group ());
  write (text);
  run (__i__);
  fail_unless (groups_of (content ()) == wanted, "%s", content ().c_str ());
}

/// A text says what is chosen, without a file.
TEST_EACH (choice_in_text, 2)
{
  const auto choice = another (__i__);
  const auto look = [&] (const std::string &text) {
    return integralhist::choice_in (text, group (), inthist::Device::cpu, shape (__i__), 200);
  };
  fail_unless (is_found (look (ini (group (), key (__i__), entry (choice))), choice));
  for (const std::string &text :
       { std::string (), ini ("other", key (__i__), entry (choice)), ini (group (), "a", "b") }) {
    const auto none = look (text);
    fail_unless (none && !*none, "%s", text.c_str ());
  }
  for (const std::string &text : { std::string ("garbage"), ini (group (), key (__i__), "a") }) {
    const auto wrong = look (text);
    fail_unless (!wrong && !wrong.error ().message.empty (), "%s", text.c_str ());
  }
  // what would be too much to be read again is left out
  const std::string large = ini ("other", "a", std::string ((1 << 20) - 20, 'b'));
  const std::string text = integralhist::text_with (large, group (), shape (__i__), choice, 200);
  fail_unless (groups_of (text) == std::vector<std::string> ({ group () }));
}

/// What is no file is not waited for, and something sensible takes its place.
TEST_EACH (no_regular_file, 2)
{
  const auto place = file ();
  const auto large = [&] {
    std::ofstream stream (place);
    stream << ini (group (), key (__i__), entry (another (__i__)));
    stream.close ();
    fs::resize_file (place, 100 << 20);
  };
  const std::function<void ()> kinds[] = {
    [&] { fail_unless (mkfifo (place.c_str (), 0600) == 0); },
    [&] { fs::create_symlink ("/dev/full", place); },
    [&] { fs::create_symlink ("/dev/zero", place); },
    [&] { fs::create_symlink ("/nonexistent/x", place); },
    [&] { fs::create_symlink (place, place); },
    large,
  };
  for (const auto &make : kinds) {
    setup ();
    fs::create_directories (place.parent_path ());
    make ();
    const auto start = std::chrono::steady_clock::now ();
    fail_unless (run (__i__).tuning == "measured");
    const double took =
        std::chrono::duration<double> (std::chrono::steady_clock::now () - start).count ();
    fail_unless (took < 5, "%g s", took);
    fail_unless (fs::is_regular_file (fs::symlink_status (place)));
    fail_unless (run (__i__).tuning == "cached");
    // and nothing else is left in the folder
    fail_unless (std::distance (fs::directory_iterator (place.parent_path ()), {}) == 1);
  }
}

/// A folder that cannot be made, and a file that cannot be replaced: measured each time, and
/// nothing else.
TEST_EACH (unwritable, 2)
{
  std::ofstream (file ().parent_path ()) << "in the way";
  for (int i = 0; i < 2; i++)
    fail_unless (run (__i__).tuning == "measured");
  fs::remove (file ().parent_path ());
  fs::create_directories (file () / "in the way");
  for (int i = 0; i < 2; i++)
    fail_unless (run (__i__).tuning == "measured");
}
