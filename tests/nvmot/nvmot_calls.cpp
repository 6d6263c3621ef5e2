// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library for nvtracker answers a query about itself, and refuses wrong files of options and
// batches that contradict themselves. It reads no byte outside of such a batch, which a sanitizer
// would notice.
#include <new>

#include <sys/wait.h>

#include "repeats.hpp"
#include "scene.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace nvtracker;

static std::function<void ()> at_start_of_gstreamer;

/// Stands for GStreamer's function, which the library calls first. It may fail, or throw as a
/// function of the standard library does if memory runs out.
extern "C" __attribute__ ((visibility ("default"))) gboolean
gst_init_check (int *argc, char ***argv, GError **problem)
{
  using Function = gboolean (*) (int *, char ***, GError **);
  static const auto real = reinterpret_cast<Function> (dlsym (RTLD_NEXT, "gst_init_check"));
  if (!at_start_of_gstreamer)
    return real (argc, argv, problem);
  at_start_of_gstreamer ();
  g_set_error_literal (problem, GST_CORE_ERROR, GST_CORE_ERROR_FAILED, "the test says so");
  return FALSE;
}

namespace {

struct Answer {
  Status status;
  Bytes query{ 64, 0 };
};

Answer ask (const std::string &path)
{
  Answer answer;
  std::string text = path;
  answer.status =
      Library::get ().query (guint16 (text.size ()), text.data (), answer.query.data ());
  return answer;
}

/// A batch of one frame, whose memory a test may spoil.
struct Batch {
  explicit Batch (Layout layout)
      : layout (layout), frame (std::size_t (layout)),
        at_surfaces (layout == Layout::r91 ? 64 : 40), at_input (layout == Layout::r91 ? 72 : 48)
  {
    const std::size_t size = layout == Layout::r91 ? 48 : 16;
    frame.put (0, guint64 (5));
    frame.put (12, guint32 (9));
    if (layout == Layout::r91) {
      frame.put (16, guint32 (9));
      frame.put (40, guint8 (0));
    }
    frame.put (size, guint32 (640));
    frame.put (size + 4, guint32 (480));
    const std::size_t flags = layout == Layout::r91 ? 56 : 33;
    if (layout == Layout::r80)
      frame.put (32, guint8 (0));
    frame.put (flags, guint8 (1));
    frame.put (flags + 1, guint8 (0));
    frame.put (flags + 2, guint8 (1));
    frame.put (at_surfaces, pointer.data ());
    pointer.put (0, surface.data ());
    frame.put (at_input, guint8 (1));
    frame.put (at_input + 8, objects.data ());
    frame.put (at_input + 16, guint32 (4));
    frame.put (at_input + 20, guint32 (1));
    objects.put (0, guint16 (2));
    for (int i = 0; i < 4; i++)
      objects.put (4 + std::size_t (i) * 4, 20.f);
    objects.put (20, 0.9f);
    objects.put (24, guint8 (1));
    for (const auto &[at, value] :
         std::initializer_list<std::pair<std::size_t, guint32>>{ { 0, 64 },
                                                                 { 4, 48 },
                                                                 { 8, 64 },
                                                                 { 12, 6 },
                                                                 { 16, 0 },
                                                                 { 32, 64 * 72 },
                                                                 { 48, 2 },
                                                                 { 84, 64 },
                                                                 { 88, 64 },
                                                                 { 100, 0 },
                                                                 { 104, 64 * 48 } })
      surface.put (at, value);
    surface.put (40, pixels.data ());
    list.put (0, guint64 (5));
    list.put (8, guint32 (9));
    list.put (16, outputs.data ());
    list.put (24, guint32 (4));
    params.put (0, guint32 (1));
    params.put (8, frame.data ());
    batch.put (0, list.data ());
    batch.put (8, guint32 (1));
    batch.put (12, guint32 (1));
  }

  Status process (void *handle)
  {
    list.put (28, guint32 (77));
    return Library::get ().process (handle, params.data (), batch.data ());
  }

  const Layout layout;
  Bytes frame;
  const std::size_t at_surfaces, at_input;
  Bytes pointer{ sizeof (void *) }, surface{ 416 }, pixels{ 64 * 72, 100 };
  Bytes objects{ 4 * 40 }, outputs{ 4 * 376 }, list{ 32 }, params{ 16 }, batch{ 24 };
};

/// Captures the lines that the library prints to the console, as long as it lives.
class Printed {
public:
  Printed ()
  {
    text ().clear ();
    g_set_printerr_handler ([] (const gchar *line) { text () += line; });
  }
  ~Printed () { g_set_printerr_handler (nullptr); }
  static std::string &text ()
  {
    static std::string all;
    return all;
  }
};

constexpr void *kNull = nullptr;

/// The ways to spoil a batch.
const std::function<void (Batch &)> kSpoil[] = {
  [] (Batch &b) { b.params.put (0, guint32 (3)); },  // more than maxStreams
  [] (Batch &b) { b.params.put (0, G_MAXUINT32); },
  [] (Batch &b) { b.params.put (8, kNull); },
  [] (Batch &b) { b.batch.put (0, kNull); },
  [] (Batch &b) { b.batch.put (8, guint32 (0)); },
  [] (Batch &b) { b.list.put (16, kNull); },
  [] (Batch &b) { b.frame.put (b.at_surfaces, kNull); },
  [] (Batch &b) { b.pointer.put (0, kNull); },
  [] (Batch &b) { b.frame.put (b.layout == Layout::r91 ? 58 : 35, guint8 (0)); },
  [] (Batch &b) { b.frame.put (b.at_input + 8, kNull); },
  [] (Batch &b) { b.frame.put (b.at_input + 20, guint32 (5)); },  // more than allocated
  [] (Batch &b) {
    b.frame.put (b.at_input + 16, G_MAXUINT32);
    b.frame.put (b.at_input + 20, G_MAXUINT32 - 1);
  },
  [] (Batch &b) { b.surface.put (0, guint32 (32)); },  // smaller than was asked
  [] (Batch &b) { b.surface.put (4, guint32 (47)); },
  [] (Batch &b) { b.surface.put (4, G_MAXUINT32); },
  [] (Batch &b) { b.surface.put (12, gint32 (19)); },  // RGBA
  [] (Batch &b) { b.surface.put (16, gint32 (1)); },   // block linear
  [] (Batch &b) { b.surface.put (32, guint32 (64 * 71)); },
  [] (Batch &b) { b.surface.put (40, kNull); },
  [] (Batch &b) { b.surface.put (48, guint32 (1)); },
  [] (Batch &b) { b.surface.put (48, guint32 (400)); },
  [] (Batch &b) { b.surface.put (84, guint32 (63)); },
  [] (Batch &b) { b.surface.put (88, G_MAXUINT32); },
  [] (Batch &b) { b.surface.put (104, guint32 (64 * 49)); },
  [] (Batch &b) { b.surface.put (100, G_MAXUINT32); },
};

ContextSetup small (Layout layout)
{
  return { .layout = layout, .max_streams = 2, .width = 64, .height = 48, .path = cpu_options () };
}

}  // namespace

TEST (query)
{
  const auto expect_answer = [] (const Answer &answer, guint32 max_targets) {
    fail_unless_equals_int (answer.status, kOk);
    fail_unless_equals_int (answer.query.get<guint8> (0), 2);   // the CPU
    fail_unless_equals_int (answer.query.get<guint8> (1), 1);   // a frame is scaled
    fail_unless_equals_int (answer.query.get<gint32> (4), 6);   // NV12
    fail_unless_equals_int (answer.query.get<gint32> (8), 1);   // pinned memory
    fail_unless_equals_int (answer.query.get<gint32> (40), 1);  // batches
    fail_unless_equals_int (answer.query.get<guint32> (12), max_targets);
    for (std::size_t at = 16; at < 64; at++)  // nothing else is promised
      fail_unless (answer.query.get<guint8> (at) == (at == 40 ? 1 : 0));
  };
  expect_answer (ask (cpu_options ()), 150);
  const OptionsFile file ("[integralhisttrack]\nbackend=cpu\nmax-targets=20\n");
  expect_answer (ask (file.path), 20);
  fail_unless_equals_int (ask ("/no/such/file").status, kInvalidPath);
  fail_unless_equals_int (ask ("/").status, kError);
  fail_unless_equals_int (ask ("").status, kOk);  // with a GPU, if there is one
  fail_unless_equals_int (Library::get ().query (0, nullptr, nullptr), kError);
  Bytes query (64, 0);
  fail_unless_equals_int (Library::get ().query (0, nullptr, query.data ()), kOk);
}

TEST (options)
{
  for (const char *const good :
       { "", "[integralhisttrack]\n", "# a comment\n[integralhisttrack]\nmax-misses=3\n",
         "[integralhisttrack]\nmax-misses=0\nmerge-classes=true\nlost-after=7\nforget-after=9\n"
         "remember=2.5\nbackend=cpu\nmax-targets=1000\n" }) {
    const OptionsFile file (good);
    ContextSetup setup = small (Layout::r91);
    setup.path = file.path;
    setup.on_gpu = !strstr (good, "backend=cpu") && Driver::get ();
    const Nvtracker library (setup);
    fail_unless (library.has_context () && library.init_status () == kOk && library.summary () == 0,
                 "%s", good);
    expect_none (library.complaint (), good);
  }
  for (const char *const bad :
       { "max-misses=3\n", "[other]\na=1\n", "[integralhisttrack]\nno-such-key=1\n",
         "[integralhisttrack]\nmax-misses=many\n", "[integralhisttrack]\nmax-misses=-1\n",
         "[integralhisttrack]\nmerge-classes=2\n", "[integralhisttrack]\nlost-after=1001\n",
         "[integralhisttrack]\nremember=-1\n", "[integralhisttrack]\nbackend=gpu\n",
         "[integralhisttrack]\nmax-targets=0\n", "[integralhisttrack]\nmax-targets=1001\n",
         "[integralhisttrack]\nmax-misses\n", "[integralhisttrack]\nmax-misses=\xff\xfe\n" }) {
    const OptionsFile file (bad);
    ContextSetup setup = small (Layout::r91);
    setup.path = file.path;
    const Nvtracker library (setup);
    fail_unless (!library.has_context () && library.init_status () == kError
                     && library.summary () != 0,
                 "%s", bad);
    expect_none (library.complaint (), bad);
    fail_unless (ask (file.path).status == kError, "%s", bad);
  }
  for (const char *const path : { "/no/such/file", "/" }) {
    ContextSetup setup = small (Layout::r91);
    setup.path = path;
    fail_unless (!Nvtracker (setup).has_context ());
  }
}

/// New options hold from the next batch on. Keys that are left out stay as they are, and a text
/// that is refused changes nothing.
TEST (update)
{
  Nvtracker library (small (Layout::r91));
  Nv12Picture picture (64, 48);
  std::ranges::fill (picture.bytes, 128);
  const Object first = { 8, 8, 16, 30, 1 }, second = { 8, 8, 16, 30, 2 };
  draw (picture, first, 5);
  guint32 f = 0;
  const auto n_ids = [&] {  // of one object whose class changes
    std::set<guint64> ids;
    for (int i = 0; i < 6; i++) {
      const FrameIn frame = { f, f, &picture, { i % 2 ? first : second } };
      for (const TrackOut &track : library.process (frame))
        ids.insert (track.id);
    }
    f++;  // another stream
    return ids.size ();
  };
  const std::size_t apart = n_ids ();
  fail_unless (apart > 1);
  fail_unless_equals_int (library.update ("[integralhisttrack]\nmerge-classes=true\nno-key=1\n"),
                          kError);
  fail_unless_equals_int (n_ids (), apart);
  fail_unless_equals_int (library.update ("[integralhisttrack]\nmerge-classes=true\n"), kOk);
  fail_unless_equals_int (n_ids (), 1);
  fail_unless_equals_int (library.update ("\xff"), kError);
  fail_unless_equals_int (library.update ("[integralhisttrack]\nmax-misses=0\n"), kOk);
  fail_unless_equals_int (n_ids (), 1);
  fail_unless_equals_int (library.update (""), kOk);
  fail_unless_equals_int (n_ids (), 1);
  fail_unless_equals_int (library.update ("[integralhisttrack]\nmerge-classes=false\n"), kOk);
  fail_unless_equals_int (n_ids (), apart);
  expect_none (library.complaint ());
}

/// The library warns of new values that hold only from the start on, and keeps the old ones.
TEST (update_too_late)
{
  const OptionsFile options ("[integralhisttrack]\nbackend=cpu\nmax-targets=20\n");
  ContextSetup setup = small (Layout::r91);
  setup.path = options.path;
  Nvtracker library (setup);
  static int n_warnings = 0;
  gst_debug_remove_log_function (gst_debug_log_default);
  const GstLogFunction count = [] (GstDebugCategory *category, GstDebugLevel level, const gchar *,
                                   const gchar *, gint, GObject *, GstDebugMessage *, gpointer) {
    n_warnings += level == GST_LEVEL_WARNING
                  && g_str_equal (gst_debug_category_get_name (category), "integralhist-nvmot");
  };
  gst_debug_add_log_function (count, nullptr, nullptr);
  gst_debug_set_active (TRUE);
  gst_debug_set_threshold_for_name ("integralhist-nvmot", GST_LEVEL_WARNING);
  int n_expected = 0;
  for (const auto &[text, warns] :
       std::initializer_list<std::pair<const char *, bool>>{ { "max-misses=2\n", false },
                                                             { "max-targets=20\n", false },
                                                             { "backend=cpu\n", false },
                                                             { "max-targets=30\n", true },
                                                             { "backend=auto\n", true } }) {
    fail_unless_equals_int (library.update (std::string ("[integralhisttrack]\n") + text), kOk);
    n_expected += warns;
    fail_unless (n_warnings == n_expected, "%s", text);
  }
  gst_debug_unset_threshold_for_name ("integralhist-nvmot");
  gst_debug_remove_log_function (count);
  gst_debug_add_log_function (gst_debug_log_default, nullptr, nullptr);
  Bytes query (64, 0);
  query.put (56, library.handle ());
  fail_unless_equals_int (Library::get ().query (0, nullptr, query.data ()), kOk);
  fail_unless_equals_int (query.get<guint32> (12), 20);
}

/// The first frame shows the layout, whatever its flags and its padding are.
TEST (layouts)
{
  const auto status_of = [] (Batch &batch) {
    Nvtracker library (small (batch.layout));
    return batch.process (library.handle ());
  };
  Batch valid (Layout::r91);
  valid.frame.put (40, guint8 (2));  // the time is valid
  valid.frame.put (24, guint64 (0));
  fail_unless_equals_int (status_of (valid), kOk);
  Batch both (Layout::r91);
  both.frame.put (20, guint32 (480));  // a height in 8.0
  both.frame.put (32, guint64 (0));    // flags in 8.0
  fail_unless_equals_int (status_of (both), kOk);
  for (const Layout layout : { Layout::r80, Layout::r91 }) {
    Batch no_buffers (layout), no_surface (layout);
    no_buffers.frame.put (layout == Layout::r91 ? 58 : 35, guint8 (0));
    no_surface.frame.put (no_surface.at_surfaces, kNull);
    for (Batch *const batch : { &no_buffers, &no_surface }) {
      const Printed printed;
      fail_unless_equals_int (status_of (*batch), kError);
      expect_parts (printed.text (), { "frame 0 has no surface" });
    }
  }
}

TEST_EACH (wrong_batches, 2)
{
  const Layout layout = __i__ ? Layout::r91 : Layout::r80;
  Nvtracker library (small (layout));
  for (const bool is_first : { true, false }) {  // batch of a context
    int number = 0;
    for (const auto &spoil : kSpoil) {
      const Nvtracker fresh (small (layout));
      Batch batch (layout);
      spoil (batch);
      fail_unless (batch.process (is_first ? fresh.handle () : library.handle ()) == kError,
                   "way %d", number);
      fail_unless (batch.list.get<guint32> (28) == 0 || batch.batch.get<void *> (0) == nullptr
                       || batch.batch.get<guint32> (8) == 0,
                   "way %d: the list is as it was", number);
      number++;
    }
    Batch batch (layout);
    fail_unless_equals_int (batch.process (library.handle ()), kOk);
    fail_unless_equals_int (batch.list.get<guint32> (28), 1);
  }
  Bytes params (16), output (24);
  params.put (0, guint32 (0));
  params.put (8, kNull);
  output.put (0, kNull);
  output.put (8, guint32 (0));
  fail_unless_equals_int (
      Library::get ().process (library.handle (), params.data (), output.data ()), kOk);
}

/// A context refuses frames that match no layout, and frames of another layout than that of the
/// first frame.
TEST_EACH (other_layouts, 2)
{
  const Layout layout = __i__ ? Layout::r91 : Layout::r80;
  const Nvtracker library (small (layout));
  const auto expect_unknown = [&library] (Batch &batch) {
    const Printed printed;
    fail_unless_equals_int (batch.process (library.handle ()), kError);
    expect_parts (printed.text (), { "not like those of DeepStream 8.0 to 9.1" });
    fail_unless_equals_int (batch.list.get<guint32> (28), 0);
  };
  Batch none (layout);
  none.frame.put (layout == Layout::r91 ? 16 : 20, G_MAXUINT32);
  expect_unknown (none);
  Batch good (layout), other (__i__ ? Layout::r80 : Layout::r91);
  fail_unless_equals_int (good.process (library.handle ()), kOk);
  expect_unknown (none);
  expect_unknown (other);
  fail_unless_equals_int (good.process (library.handle ()), kOk);
}

/// If one frame is unreadable, the others have no tracks either.
TEST_EACH (one_wrong_frame, 2)
{
  const Layout layout = __i__ ? Layout::r91 : Layout::r80;
  Nvtracker library (small (layout));
  const std::size_t size = std::size_t (layout);
  Batch one (layout), other (layout);
  other.frame.put (0, guint64 (6));
  Bytes frames (2 * size), lists (2 * 32);
  memcpy (frames.data (), one.frame.data (), size);
  memcpy (frames.data () + size, other.frame.data (), size);
  one.params.put (0, guint32 (2));
  one.params.put (8, frames.data ());
  one.batch.put (0, lists.data ());
  one.batch.put (8, guint32 (2));
  const auto process = [&] {
    memcpy (lists.data (), one.list.data (), 32);
    memcpy (lists.data () + 32, other.list.data (), 32);
    return one.process (library.handle ());
  };
  fail_unless_equals_int (process (), kOk);
  fail_unless (lists.get<guint32> (28) == 1 && lists.get<guint32> (32 + 28) == 1);
  other.surface.put (12, gint32 (19));
  fail_unless_equals_int (process (), kError);
  fail_unless (lists.get<guint32> (28) == 0 && lists.get<guint32> (32 + 28) == 0);
  // two frames of one stream, and lies about the number of lists
  frames.put (size, guint64 (5));
  fail_unless_equals_int (process (), kError);
  one.params.put (0, G_MAXUINT32);
  one.batch.put (8, G_MAXUINT32);
  fail_unless_equals_int (process (), kError);
}

TEST (null_arguments)
{
  const Library &library = Library::get ();
  Batch batch (Layout::r91);
  void *handle = &batch;
  fail_unless_equals_int (library.init (nullptr, &handle, batch.params.data ()), kError);
  fail_unless (!handle);
  fail_unless_equals_int (library.process (nullptr, batch.params.data (), batch.batch.data ()),
                          kError);
  fail_unless_equals_int (library.remove_streams (nullptr, 0), kError);
  fail_unless_equals_int (library.update_params (nullptr, ""), kError);
  library.de_init (nullptr);
  Nvtracker context (small (Layout::r91));
  fail_unless_equals_int (library.process (context.handle (), nullptr, batch.batch.data ()),
                          kError);
  fail_unless_equals_int (library.process (context.handle (), batch.params.data (), nullptr),
                          kError);
}

/// If GStreamer cannot start, the process goes on.
TEST (no_gstreamer)
{
  ContextSetup setup = small (Layout::r91);
  at_start_of_gstreamer = [] {};
  {
    const Nvtracker library (setup);
    fail_unless (!library.has_context () && library.init_status () == kError
                 && library.summary () != 0);
  }
  fail_unless_equals_int (ask (setup.path).status, kError);
  at_start_of_gstreamer = nullptr;
  fail_unless_equals_int (ask (setup.path).status, kOk);
}

/// An exception ends the process, and does not pass through nvtracker.
TEST (exceptions)
{
  const std::string path = cpu_options ();
  fflush (stdout);
  const pid_t child = fork ();
  if (child == 0) {
    signal (SIGABRT, SIG_DFL);
    at_start_of_gstreamer = [] { throw std::bad_alloc (); };
    try {
      ask (path);
    } catch (const std::bad_alloc &) {
      _exit (1);
    }
    _exit (2);
  }
  int status = -1;
  fail_unless (child > 0 && waitpid (child, &status, 0) == child);
  fail_unless (WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT, "status %d", status);
}

/// nvtracker starts a second time, and never de-initializes the first context.
TEST (second_start)
{
  Nvtracker library (small (Layout::r91));
  Nv12Picture picture (64, 48);
  const FrameIn frame = { 0, 0, &picture, { { 4, 4, 20, 20 } } };
  const auto first = library.process (frame);
  void *const before = library.restart ();
  fail_unless (library.has_context () && library.handle () != before);
  const auto second = library.process (frame);
  expect_none (library.complaint ());
  fail_unless (first[0].id != second[0].id);
  Library::get ().de_init (before);  // or it would be a leak
}

/// If the registry has nvtracker, its version decides.
TEST (release_of_nvtracker)
{
  const auto unregister = [] {
    GstPlugin *const old = gst_registry_find_plugin (gst_registry_get (), "nvdsgst_tracker");
    if (old) {
      gst_registry_remove_plugin (gst_registry_get (), old);
      gst_object_unref (old);
    }
  };
  const auto register_as = [&] (const char *version) {
    unregister ();
    fail_unless (gst_plugin_register_static (
        GST_VERSION_MAJOR, GST_VERSION_MINOR, "nvdsgst_tracker", "stands for nvtracker's",
        [] (GstPlugin *) -> gboolean { return TRUE; }, version, "LGPL", "test", "test",
        "https://example.org"));
  };
  const auto accepts = [] (Layout layout) {
    Nvtracker library (small (layout));
    Batch batch (layout);
    return library.has_context () && batch.process (library.handle ()) == kOk;
  };
  fail_unless (accepts (Layout::r91) && accepts (Layout::r80));
  register_as ("9.1");
  fail_unless (accepts (Layout::r91) && !accepts (Layout::r80));
  register_as ("9.0");
  fail_unless (!accepts (Layout::r91) && accepts (Layout::r80));
  register_as ("8.0");
  fail_unless (!accepts (Layout::r91) && accepts (Layout::r80));
  register_as ("7.1");
  fail_unless (!Nvtracker (small (Layout::r80)).has_context ());
  unregister ();  // other tests may run in this process
  fail_unless (accepts (Layout::r91) && accepts (Layout::r80));
}
