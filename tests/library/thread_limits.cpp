// SPDX-License-Identifier: LGPL-2.1-or-later
//
// If the system refuses threads, the result is one error that names the limit, and nothing hangs.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tbb/global_control.h>

#include <gst/integralhist/base/check_threads.hpp>
#include <gst/integralhist/memory/host_memory.hpp>

#include "alone.hpp"
#include "must.hpp"
#include "test.hpp"

using namespace integralhist;

/// Threads of this program and of its libraries, which the pthread_create () below counts.
static std::atomic<int> threads_alive = 0, most_threads = G_MAXINT, threads_refused = 0;

extern "C" int pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
                               void *(*run) (void *), void *argument)
{
  static const auto real =
      reinterpret_cast<decltype (&pthread_create)> (dlsym (RTLD_NEXT, "pthread_create"));
  struct Counted {
    void *(*run) (void *);
    void *argument;
  };
  if (threads_alive++ >= most_threads) {
    threads_alive--;
    threads_refused++;
    return EAGAIN;
  }
  const auto run_counted = [] (void *data) -> void * {
    const Counted counted = *static_cast<Counted *> (data);
    delete static_cast<Counted *> (data);
    void *const result = counted.run (counted.argument);
    threads_alive--;
    return result;
  };
  return real (thread, attributes, run_counted, new Counted{ run, argument });
}

namespace {

constexpr const char *kThreaded[] = {
  "backend=cpu tuning-time=0",
  "backend=cpu tuning-time=0 sync=true regions=1,1,9,9",
  "backend=cpu tuning-time=50",
  "backend=cpu strategy=serial regions=1,1,9,9",
  "backend=cpu strategy=wavefront",
  "backend=cpu cuda-device-ids=0,1,2,3 task-bins=2",
  "backend=cpu max-device-memory=300000 regions=1,1,9,9",
};

/// An element in a harness that may have so many more threads, and the outcome.
class Starved {
public:
  Starved (const std::string &line, int threads) : line_ (line), threads_ (threads)
  {
    element_ = gst_parse_launch (line.c_str (), nullptr);
    harness_ = gst_harness_new_with_element (element_, "sink", "src");
    bus_ = gst_bus_new ();
    gst_element_set_state (element_, GST_STATE_NULL);
    gst_element_set_bus (element_, bus_);
    most_threads = threads_alive + threads;
    threads_refused = 0;
  }

  /// Pushes frames until one fails.
  void play (const std::string &caps)
  {
    plays_ = gst_element_set_state (element_, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
    if (plays_) {
      const GstVideoInfo info = info_of (caps);
      gst_harness_set_src_caps_str (harness_, caps.c_str ());
      for (unsigned frame = 0; frame < 8 && flow_ == GST_FLOW_OK; frame++)
        flow_ = pass (noise (info, frame));
      if (flow_ != GST_FLOW_OK)
        gst_harness_push (harness_, noise (info, 9));
      gst_harness_push_event (harness_, gst_event_new_eos ());
    }
    gst_element_set_state (element_, GST_STATE_NULL);
    most_threads = G_MAXINT;
  }

  /// Returns 0 if it worked, 1 if it failed with the one error that it should have, and more if
  /// something is wrong.
  int verdict ()
  {
    const bool works = plays_ && flow_ == GST_FLOW_OK;
    int errors = 0, status = works ? 0 : 1;
    while (GstMessage *const message = gst_bus_pop_filtered (bus_, GST_MESSAGE_ERROR)) {
      errors++;
      if (!names_the_limit (message))
        status = 2;
      gst_message_unref (message);
    }
    if (errors > 1 || (!works && errors == 0) || (works && errors > 0 && status != 2)) {
      printf ("%s, %d threads: %d errors, %s\n", line_.c_str (), threads_, errors,
              gst_flow_get_name (flow_));
      status = 3;
    }
    if (!works && threads_refused == 0)
      status = 4;
    return status;
  }

private:
  GstFlowReturn pass (GstBuffer *frame)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, frame);
    if (flow != GST_FLOW_OK)
      return flow;
    g_autoptr (GstBuffer) out = gst_harness_try_pull (harness_);
    GstIntegralHistogramMeta *const meta =
        out ? gst_buffer_get_integral_histogram_meta (out) : nullptr;
    const bool computed =
        !meta || gst_integral_histogram_wait (meta->histogram, GST_CLOCK_TIME_NONE, nullptr);
    return computed ? GST_FLOW_OK : GST_FLOW_ERROR;  // which the next frame says
  }

  bool names_the_limit (GstMessage *message) const
  {
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    if (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED)
        && strstr (error->message, "ulimit -u"))
      return true;
    printf ("%s, %d threads: %s\n", line_.c_str (), threads_, error->message);
    return false;
  }

  const std::string line_;
  const int threads_;
  GstElement *element_;
  GstHarness *harness_;
  GstBus *bus_;
  bool plays_ = false;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

/// Runs an element that may have so many threads more, and returns its verdict. It has a process of
/// its own, as TBB keeps its threads.
int verdict_in_child (const std::string &line, int threads)
{
  fflush (stdout);
  const pid_t child = fork ();
  if (child == 0) {
    alarm (30);  // a hang
    Starved starved (line, threads);
    starved.play (caps_of ("GRAY8", 320, 240));
    const int verdict = starved.verdict ();
    fflush (stdout);
    _exit (verdict);
  }
  int status = -1;
  fail_unless (child > 0 && waitpid (child, &status, 0) == child);
  fail_unless (WIFEXITED (status), "%s with %d threads: signal %d", line.c_str (), threads,
               WTERMSIG (status));
  return WEXITSTATUS (status);
}

}  // namespace

/// The system allows n threads more at once: none, some, and as many as there can be.
TEST_EACH (threads, std::size (kThreaded))
{
  const std::string line = std::string ("cudaintegralhist bins=16 ") + kThreaded[__i__];
  int failed = 0, passed = 0;
  const int enough = 40 + int (g_get_num_processors ());
  for (int i = 0; i <= 20; i++) {
    const int n = i < 20 ? i * enough / 20 : 1000;
    const int verdict = verdict_in_child (line, n);
    fail_unless (verdict <= 1, "%s with %d threads: %d", line.c_str (), n, verdict);
    (verdict ? failed : passed)++;
  }
  printf ("%s: %d fail, %d pass\n", line.c_str (), failed, passed);
  fail_unless (failed > 0 && passed > 0);
}

/// TBB has all of its threads before an element computes. Otherwise they would start one another
/// later, and if one could not, the process would end.
TEST (workers)
{
  const int before = threads_alive;
  must (check_threads ());
  const int workers = threads_alive - before;
  cpu_set_t processors;  // those that this process may use
  fail_unless (sched_getaffinity (0, sizeof processors, &processors) == 0);
  fail_unless (workers == CPU_COUNT (&processors) - 1, "%d workers of %d processors", workers,
               CPU_COUNT (&processors));
  must (check_threads ());
  fail_unless (threads_alive == before + workers, "%d more", threads_alive - before - workers);
}

/// The element does not wait for threads that an application does not let TBB have, and a stop does
/// not either.
TEST (workers_refused)
{
  const gint64 start = g_get_monotonic_time ();
  {
    const tbb::global_control one (tbb::global_control::max_allowed_parallelism, 1);
    must (check_threads ());
  }
  const std::atomic<bool> cancelled = true;
  const auto outcome = check_host (inthist::cpu::start_workers (&cancelled));
  fail_unless (!outcome && outcome.error ().kind == Error::Kind::flushing);
  const double seconds = double (g_get_monotonic_time () - start) / 1e6;
  fail_unless (seconds < 0.5, "%.2f s", seconds);
}
