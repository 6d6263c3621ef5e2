// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The system refuses memory, by any of its limits, or a device does. Each is one error that names
// the limit, and nothing hangs.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gst/integralhist/memory/host_memory.hpp>

#include "wrapped_engine.hpp"

#include "alone.hpp"
#include "test.hpp"

using namespace integralhist;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1 << 20, kGiB = 1 << 30;

/// A root folder with files that say how much memory there is.
class Root {
public:
  Root ()
  {
    g_autofree char *made = g_dir_make_tmp ("inthist-XXXXXX", nullptr);
    fail_unless (made != nullptr);
    folder_ = made;
    write ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 "
                           "kB\nMemAvailable:    8388608 kB\nBuffers: 1 kB\n");
  }
  ~Root () { fs::remove_all (folder_); }

  void write (const std::string &file, const std::string &text) const
  {
    fs::create_directories ((folder_ / file).parent_path ());
    std::ofstream (folder_ / file) << text;
  }
  void remove (const std::string &file) const { fs::remove_all (folder_ / file); }

  void expect (std::size_t bytes, const char *of) const
  {
    const Available available = available_memory (folder_.string ());
    fail_unless (available.bytes == bytes && strstr (available.of, of),
                 "%zu MiB of %s instead of %zu MiB of %s", available.bytes / kMiB, available.of,
                 bytes / kMiB, of);
  }

private:
  fs::path folder_;
};

constexpr const char *kSystem = "host memory", *kGroup = "control group";

}  // namespace

/// The nearest limit counts, for all versions of control groups, and for all groups around one.
TEST (memory_limits)
{
  {
    const Root root;
    root.expect (8 * kGiB, kSystem);
    // version 2, in a container: the mount's root is the group
    root.write ("sys/fs/cgroup/memory.max", "max\n");
    root.write ("sys/fs/cgroup/memory.current", "104857600\n");
    root.expect (8 * kGiB, kSystem);
    root.write ("sys/fs/cgroup/memory.max", "1073741824\n");
    root.expect (kGiB - 100 * kMiB, kGroup);
    // the cache of files can be freed
    root.write ("sys/fs/cgroup/memory.stat",
                "anon 1\nfile 62914560\nactive_file 10485760\ninactive_file 52428800\nslab 5\n");
    root.expect (kGiB - 50 * kMiB, kGroup);
    // a cache larger than the used memory cannot be right
    root.write ("sys/fs/cgroup/memory.stat", "inactive_file 524288000\n");
    root.expect (kGiB - 100 * kMiB, kGroup);
    // nothing is left
    root.write ("sys/fs/cgroup/memory.current", "2147483648\n");
    root.expect (0, kGroup);
    root.write ("sys/fs/cgroup/memory.max", "9223372036854775807\n");
    root.expect (8 * kGiB, kSystem);
  }
  {
    // version 2, nested: the limit of a group around it
    const Root root;
    root.write ("proc/self/cgroup", "0::/user.slice/user-7.slice/run.scope\n");
    root.write ("sys/fs/cgroup/user.slice/user-7.slice/run.scope/memory.max", "max\n");
    root.write ("sys/fs/cgroup/user.slice/user-7.slice/run.scope/memory.current", "1048576\n");
    root.expect (8 * kGiB, kSystem);
    root.write ("sys/fs/cgroup/user.slice/memory.max", "536870912\n");
    root.write ("sys/fs/cgroup/user.slice/memory.current", "12582912\n");
    root.expect (500 * kMiB, kGroup);
    root.write ("sys/fs/cgroup/user.slice/user-7.slice/run.scope/memory.max", "4194304\n");
    root.expect (3 * kMiB, kGroup);
    // a group that this mount does not have
    root.write ("proc/self/cgroup", "0::/somewhere/else\n");
    root.expect (8 * kGiB, kSystem);
  }
  {
    // version 1, whose cache counts that of groups inside; "no limit" is a large number
    const Root root;
    root.write ("proc/self/cgroup", "12:cpu,cpuacct:/job\n4:memory:/job/7\n0::/other\n");
    root.write ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    root.write ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    root.expect (8 * kGiB, kSystem);
    root.write ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    root.write ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    root.write ("sys/fs/cgroup/memory/job/memory.stat",
                "cache 9\ninactive_file 7\ntotal_inactive_file 536870912\n");
    root.expect (kGiB + 512 * kMiB, kGroup);
    root.write ("sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "1073741824\n");
    root.write ("sys/fs/cgroup/memory/job/7/memory.usage_in_bytes", "0\n");
    root.expect (kGiB, kGroup);
  }
  {
    // where no more may be promised than there is
    const Root root;
    root.write ("proc/sys/vm/overcommit_memory", "2\n");
    root.write (
        "proc/meminfo",
        "MemAvailable:    8388608 kB\nCommitLimit:     6291456 kB\nCommitted_AS:    5242880 kB\n");
    root.expect (kGiB, "vm.overcommit_memory=2");
    root.write ("proc/sys/vm/overcommit_memory", "0\n");
    root.expect (8 * kGiB, kSystem);
  }
  {
    // files that say nothing are no limit
    const Root root;
    for (const char *text : { "", "\n", "x\n", "-\n" }) {
      root.write ("sys/fs/cgroup/memory.max", text);
      root.write ("sys/fs/cgroup/memory.current", "1\n");
      root.write ("proc/self/cgroup", std::string (text) + "::\n:\n0::\n0:\n");
      root.expect (8 * kGiB, kSystem);
    }
    root.remove ("proc/meminfo");
    fail_unless (available_memory ("/nowhere at all").bytes == SIZE_MAX);
  }
}

/// The error names the limit of the address space, and what is left of it.
TEST (address_space)
{
#if defined(__SANITIZE_ADDRESS__)
  printf ("SKIP: memory_limits: AddressSanitizer takes the whole address space\n");
#else
  mallopt (M_ARENA_MAX, 1);  // or each thread takes 64 MiB of addresses
  const auto used = [] {
    std::size_t pages = 0;
    std::ifstream ("/proc/self/statm") >> pages;
    return pages * std::size_t (sysconf (_SC_PAGESIZE));
  };
  Alone alone ("cudaintegralhist backend=cpu compute=eager tuning-time=0 bins=64",
               caps_of ("GRAY8", 1280, 720));
  const rlimit limit = { used () + 200 * kMiB, RLIM_INFINITY };
  fail_unless (setrlimit (RLIMIT_AS, &limit) == 0);
  rlimit set = {};
  fail_unless (getrlimit (RLIMIT_AS, &set) == 0);
  if (set.rlim_cur != limit.rlim_cur) {
    printf ("SKIP: address_space: this system ignores ulimit -v, as qemu does for its processes\n");
    return;
  }
  GstBuffer *const in = gst_buffer_new_allocate (nullptr, 1280 * 720, nullptr);
  const std::string text =
      alone.refusal (in, "ulimit -v", GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
  const std::size_t left = limit.rlim_cur - used ();
  const rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
  setrlimit (RLIMIT_AS, &none);
  expect_parts (text, { "ulimit -v", "225.00 MiB" });
  const std::size_t at = text.find (", and ");
  fail_unless (at != text.npos);
  const double said = g_ascii_strtod (text.c_str () + at + 6, nullptr);
  fail_unless (text.find (" MiB of the address space") != text.npos
                   && std::abs (said - double (left) / kMiB) < 40,
               "%s, of %zu MiB", text.c_str (), left / kMiB);
#endif
}

// memory of a device that another program has taken since it was counted

namespace {

constexpr inthist::Shape kShape = {
  160, 120, 32, inthist::Type::u32, inthist::Content::bins, inthist::Type::u8
};

std::atomic<int> memory_refused = 0;
std::atomic<bool> memory_is_there = true;

std::unique_ptr<Engine> tight_engine (Options options)
{
  memory_is_there = true;
  memory_refused = 0;
  options.task_bins = 8;
  std::vector<ShardDevice> devices;
  for (int id = 0; id < 2; id++)
    devices.push_back (wrapped_device (id, kShape, kGiB, [] () -> Expected<> {
      if (memory_is_there)
        return {};
      memory_refused++;
      return error (Error::Kind::no_memory, "somebody else has it");
    }));
  return must (make_sharded_engine (kShape, options, std::move (devices), DeviceFunctions (), {}));
}

}  // namespace

/// While the application holds a tensor, the engine waits for the memory of that tensor, and says
/// so to the application. A stop ends the wait.
TEST (late_memory)
{
  const std::vector<guint8> pixels (160 * 120);
  Options options;
  std::atomic<int> told = 0, failed = 0;
  options.on_long_wait = [&] (unsigned) { told++; };
  options.on_failure = [&] (const Error &) { failed++; };
  {
    const auto engine = tight_engine (options);
    auto held = must (engine->submit (frame_of (pixels, kShape))).tensor;
    fail_unless_equals_int (int (counts_of (*held, kShape)[0]), 160 * 120);
    memory_is_there = false;
    const auto second = must (engine->submit (frame_of (pixels, kShape))).tensor;
    const auto waited = second->wait (1500 * GST_MSECOND);
    fail_unless (!waited && waited.error ().kind == Error::Kind::timeout, "it does not wait");
    fail_unless (memory_refused > 2 && memory_refused < 1000, "%d times refused",
                 memory_refused.load ());
    fail_unless (told >= 1, "nobody is told");
    held = nullptr;
    memory_is_there = true;
    must (second->wait (10 * GST_SECOND));
    fail_unless_equals_int (int (counts_of (*second, kShape)[0]), 160 * 120);
    fail_unless_equals_int (failed, 0);
  }
  {
    // no tensor is held, so there is nothing to wait for
    const auto engine = tight_engine (options);
    memory_is_there = false;
    const auto tensor = must (engine->submit (frame_of (pixels, kShape))).tensor;
    const auto waited = tensor->wait (5 * GST_SECOND);
    fail_unless (!waited && waited.error ().kind == Error::Kind::no_memory);
    expect_parts (waited.error ().message, { "somebody else has it" });
    fail_unless_equals_int (failed, 1);
    fail_unless (engine->has_failed ());
  }
  {
    // nor are frames that are not done
    const auto engine = tight_engine (options);
    memory_is_there = false;
    failed = 0;
    const auto first = must (engine->submit (frame_of (pixels, kShape))).tensor,
               second =
                   engine->submit (frame_of (pixels, kShape)).value_or (SubmittedFrame ()).tensor;
    for (const auto &tensor : { first, second })
      if (tensor) {
        const auto waited = tensor->wait (5 * GST_SECOND);
        fail_unless (!waited && waited.error ().kind == Error::Kind::no_memory);
      }
    fail_unless_equals_int (failed, 1);
  }
  {
    // a stop ends the wait, though the tensor is still held
    auto engine = tight_engine (options);
    const auto held = must (engine->submit (frame_of (pixels, kShape))).tensor;
    fail_unless_equals_int (int (counts_of (*held, kShape)[0]), 160 * 120);
    memory_is_there = false;
    auto second = must (engine->submit (frame_of (pixels, kShape))).tensor;
    g_usleep (100 * 1000);
    second = nullptr;
    const gint64 start = g_get_monotonic_time ();
    engine->abandon ();
    engine = nullptr;
    const gint64 took = g_get_monotonic_time () - start;
    fail_unless (took < G_USEC_PER_SEC, "%d ms", int (took / 1000));
    fail_unless_equals_int (int (counts_of (*held, kShape)[0]), 160 * 120);
  }
}
