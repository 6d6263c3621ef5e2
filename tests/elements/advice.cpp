// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The warnings and errors of elements about settings and pipelines that do not do what they look
// like: each comes once.
#include <gst/check/gstharness.h>

#include "frames.hpp"
#include "pipelines.hpp"
#include "test.hpp"

namespace {

/// The warnings of a stream of some frames.
std::vector<std::string> warnings_of (const std::string &elements)
{
  Pipeline pipeline ("videotestsrc num-buffers=40 ! video/x-raw,format=I420,width=96,height=64 ! "
                     + elements + " ! fakesink");
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<std::string> warnings;
  for (;;) {
    g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
    const bool ended = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (!ended)
      warnings.push_back (text_of (message));
    if (ended)
      return warnings;
  }
}

/// Fails unless a stream of some frames has one warning, with this part.
void expect_one (const std::string &elements, const std::string &part)
{
  const auto said = warnings_of (elements);
  fail_unless (said.size () == 1, "%s: %zu warnings", elements.c_str (), said.size ());
  expect_parts (said[0], { part }, elements);
}

/// Returns a value other than the one that is set.
GValue other_value (GObject *object, const GParamSpec *spec)
{
  GValue value = G_VALUE_INIT;
  g_object_get_property (object, spec->name, &value);
  if (G_VALUE_HOLDS_BOOLEAN (&value))
    g_value_set_boolean (&value, !g_value_get_boolean (&value));
  else if (G_VALUE_HOLDS_INT (&value))
    g_value_set_int (&value, g_value_get_int (&value) + 1);
  else if (G_VALUE_HOLDS_UINT (&value))
    g_value_set_uint (&value, g_value_get_uint (&value) + 1);
  else if (G_VALUE_HOLDS_UINT64 (&value))
    g_value_set_uint64 (&value, g_value_get_uint64 (&value) + 1);
  else if (G_VALUE_HOLDS_ENUM (&value)) {  // its numbers need not follow one another
    const GEnumValue *const all = G_PARAM_SPEC_ENUM (spec)->enum_class->values;
    g_value_set_enum (&value, all[g_value_get_enum (&value) == all[0].value ? 1 : 0].value);
  } else if (G_VALUE_HOLDS_STRING (&value))
    g_value_set_string (&value, "1,2,3");
  else
    fail ("%s has another type", spec->name);
  return value;
}

constexpr const char *kNames[] = { "cudaintegralhist", "cudaintegralimage", "cudatrackfeatures",
                                   "integralhistkeepmetas" };

/// An element in PAUSED, which computes on the CPU, with a bus.
class Running {
public:
  explicit Running (const char *name)
      : element_ (GST_ELEMENT (gst_object_ref_sink (gst_element_factory_make (name, nullptr)))),
        bus_ (gst_bus_new ())
  {
    gst_element_set_bus (element_, bus_);
    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element_), "backend"))
      gst_util_set_object_arg (object (), "backend", "cpu");
    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element_), "element"))
      g_object_set (element_, "element", "identity", nullptr);
    fail_unless (gst_element_set_state (element_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  }
  ~Running ()
  {
    gst_element_set_state (element_, GST_STATE_NULL);
    gst_element_set_bus (element_, nullptr);
    gst_object_unref (element_);
    gst_object_unref (bus_);
  }
  Running (const Running &) = delete;
  Running &operator= (const Running &) = delete;

  GstElement *element () const { return element_; }
  GObject *object () const { return G_OBJECT (element_); }
  std::string value (const char *property) const { return text_of (object (), property); }
  std::vector<std::string> warnings () { return warnings_of (bus_); }
  std::vector<const GParamSpec *> properties () const
  {
    guint n;
    g_autofree GParamSpec **specs =
        g_object_class_list_properties (G_OBJECT_GET_CLASS (element_), &n);
    return { specs, specs + n };
  }

private:
  GstElement *const element_;
  GstBus *const bus_;
};

}  // namespace

/// A property that is read at the start only keeps its value while the element runs, and a warning
/// says so. In READY it takes another value.
TEST (set_while_running)
{
  for (const char *name : kNames) {
    Running running (name);
    int fixed = 0;
    for (const GParamSpec *const spec : running.properties ()) {
      if (!(spec->flags & GST_PARAM_MUTABLE_READY) || !(spec->flags & G_PARAM_WRITABLE)
          || !g_type_is_a (G_OBJECT_TYPE (running.object ()), spec->owner_type))
        continue;
      fixed++;
      const std::string before = running.value (spec->name);
      GValue other = other_value (running.object (), spec);
      g_object_set_property (running.object (), spec->name, &other);
      fail_unless (running.value (spec->name) == before, "%s of %s", spec->name, name);
      const auto said = running.warnings ();
      fail_unless (said.size () == 1 && said[0].starts_with (std::string (spec->name) + "=")
                       && said[0].find ("stays " + before) != std::string::npos
                       && said[0].find ("NULL or READY") != std::string::npos,
                   "%s of %s: %zu warnings, %s", spec->name, name, said.size (),
                   said.empty () ? "" : said[0].c_str ());
      // setting the same value again is not a change
      GValue same = G_VALUE_INIT;
      g_object_get_property (running.object (), spec->name, &same);
      g_object_set_property (running.object (), spec->name, &same);
      fail_unless (running.warnings ().empty (), "%s of %s", spec->name, name);
      g_value_unset (&same);
      g_value_unset (&other);
    }
    fail_unless (fixed > 0, "%s", name);
    gst_element_set_state (running.element (), GST_STATE_READY);
    for (const GParamSpec *const spec : running.properties ())
      if ((spec->flags & GST_PARAM_MUTABLE_READY) && G_IS_PARAM_SPEC_ENUM (spec)) {
        GValue other = other_value (running.object (), spec);
        const std::string before = running.value (spec->name);
        g_object_set_property (running.object (), spec->name, &other);
        fail_unless (running.value (spec->name) != before, "%s of %s", spec->name, name);
        g_value_unset (&other);
      }
    fail_unless (running.warnings ().empty (), "%s", name);
  }
}

namespace {

/// Returns the numbers next to the range of a property that are out of it. The number has no range
/// if all numbers of its type are valid.
template <class Spec, class Number>
std::vector<std::string> numbers_outside (const GParamSpec *spec, Number least, Number most)
{
  const auto *const numbers = reinterpret_cast<const Spec *> (spec);
  std::vector<std::string> outside;
  if (numbers->minimum > least)
    outside.push_back (std::to_string (numbers->minimum - 1));
  if (numbers->maximum < most)
    outside.push_back (std::to_string (numbers->maximum + 1));
  return outside;
}

/// Returns wrong values of a property, as text.
std::vector<std::string> wrong_values (const GParamSpec *spec)
{
  const std::string name = spec->name;
  if (g_type_is_a (G_PARAM_SPEC_TYPE (spec), G_TYPE_PARAM_INT))
    return numbers_outside<GParamSpecInt, gint> (spec, G_MININT, G_MAXINT);
  if (g_type_is_a (G_PARAM_SPEC_TYPE (spec), G_TYPE_PARAM_UINT))
    return numbers_outside<GParamSpecUInt, guint> (spec, 0, G_MAXUINT);
  if (g_type_is_a (G_PARAM_SPEC_TYPE (spec), G_TYPE_PARAM_UINT64))
    return numbers_outside<GParamSpecUInt64, guint64> (spec, 0, G_MAXUINT64);
  if (g_type_is_a (G_PARAM_SPEC_TYPE (spec), G_TYPE_PARAM_DOUBLE))
    return numbers_outside<GParamSpecDouble, double> (spec, -G_MAXDOUBLE, G_MAXDOUBLE);
  if (g_type_is_a (G_PARAM_SPEC_TYPE (spec), G_TYPE_PARAM_STRING))
    return { "1,x" };
  return name == "measure" ? std::vector<std::string>{ "linear" } : std::vector<std::string> ();
}

}  // namespace

/// Frames are computed and followed by the old values after wrong ones were refused.
TEST (frames_after_wrong_values)
{
  Harness harness ("cudaintegralhist name=hist backend=cpu bins=16 interval=2 ! "
                   "integralhisttrack method=fragments targets=9,9,30,30",
                   caps_of ("GRAY8", 96, 64));
  const auto count = [&] {
    int n = 0;
    for (unsigned frame = 0; frame < 4; frame++)
      n += gst_buffer_get_integral_histogram_meta (
               harness.pass (noise (gray (96, 64), frame)).get ())
           != nullptr;
    return n;
  };
  fail_unless_equals_int (count (), 2);
  for (const auto &[factory, property, value] :
       { std::tuple ("cudaintegralhist", "interval", "0"),
         std::tuple ("cudaintegralhist", "regions", "1,2,3"),
         std::tuple ("integralhisttrack", "search-range", "0"),
         std::tuple ("integralhisttrack", "targets", "1,2,3") }) {
    harness.warnings ();
    harness.set_text_of (factory, property, value);
    const auto said = harness.warnings ();
    fail_unless (said.size () == 1 && said[0].starts_with (property), "%s: %zu warnings", property,
                 said.size ());
    fail_unless_equals_int (count (), 2);
    fail_unless (harness.error ().empty (), "an error after %s=%s", property, value);
  }
}

/// A running element keeps the old value if the new one is wrong, and a warning says why; another
/// value is taken afterwards.
TEST (wrong_while_running)
{
  for (const char *name :
       { "cudaintegralhist", "cudaintegralimage", "cudatrackfeatures", "integralhisttrack",
         "integralhistlikelihood", "integralhistoverlay" }) {
    if (!there_is (name, "advice"))
      continue;
    Running running (name);
    int wrong = 0;
    for (const GParamSpec *const spec : running.properties ()) {
      if (!(spec->flags & GST_PARAM_MUTABLE_PLAYING)
          || spec->owner_type != G_OBJECT_TYPE (running.object ()))
        continue;
      const std::string before = running.value (spec->name);
      for (const std::string &value : wrong_values (spec)) {
        if (std::string_view (spec->name) == "measure" && strcmp (name, "integralhisttrack"))
          continue;  // all others are valid
        wrong++;
        gst_util_set_object_arg (running.object (), spec->name, value.c_str ());
        fail_unless (running.value (spec->name) == before, "%s=%s of %s", spec->name,
                     value.c_str (), name);
        const auto said = running.warnings ();
        fail_unless (said.size () == 1 && said[0].starts_with (spec->name)
                         && said[0].ends_with (std::string (" Until then the property ")
                                               + spec->name + " stays " + before + "."),
                     "%s=%s of %s: %zu warnings, %s", spec->name, value.c_str (), name,
                     said.size (), said.empty () ? "" : said[0].c_str ());
      }
      if (G_IS_PARAM_SPEC_STRING (spec) || G_IS_PARAM_SPEC_DOUBLE (spec))
        continue;  // another value may be wrong, too
      GValue other = other_value (running.object (), spec);
      g_object_set_property (running.object (), spec->name, &other);
      fail_unless (running.value (spec->name) != before && running.warnings ().empty (), "%s of %s",
                   spec->name, name);
      g_value_unset (&other);
    }
    fail_unless (wrong > 0, "%s", name);
  }
}

/// Other properties take values while frames flow, also in all elements of a bin.
TEST (set_later)
{
  Running running ("cudatrackfeatures");
  g_object_set (running.object (), "interval", 3u, "qos", FALSE, "sync", TRUE, nullptr);
  for (const char *name : { "gradients", "colours", "luma" }) {
    g_autoptr (GstElement) child = gst_bin_get_by_name (GST_BIN (running.element ()), name);
    fail_unless (text_of (G_OBJECT (child), "interval") == "3");
  }
  fail_unless (running.warnings ().empty ());
}

/// An error names the format that an element cannot read, before upstream says not-negotiated.
TEST (unreadable_format)
{
  const struct {
    const char *caps, *format, *remedy;  // null for a format that it reads
  } all[] = {
    { "video/x-raw,format=I420_10LE", "in the format I420_10LE", "put videoconvert before it" },
    { "video/x-raw,format=A420", "in the format A420", "put videoconvert before it" },
    { "video/x-raw(memory:GLMemory),format=RGBA", "in memory:GLMemory", "copies it to system" },
    { "video/x-raw,format=NV12", nullptr, nullptr },
  };
  for (const char *name : { "cudaintegralhist", "cudaintegralimage", "cudatrackfeatures" })
    for (const auto &[caps, format, remedy] : all) {
      // not in a bin, whose pad would refuse the caps
      const std::unique_ptr<GstHarness, decltype (&gst_harness_teardown)> h (gst_harness_new (name),
                                                                             gst_harness_teardown);
      gst_util_set_object_arg (G_OBJECT (h->element), "backend", "cpu");
      g_autoptr (GstBus) bus = gst_bus_new ();
      gst_element_set_bus (h->element, bus);
      gst_harness_set_src_caps_str (
          h.get (), (std::string (caps) + ",width=32,height=32,framerate=25/1").c_str ());
      g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
      fail_unless ((message != nullptr) == (format != nullptr), "%s: %s", name, caps);
      if (message) {
        g_autoptr (GError) error = nullptr;
        gst_message_parse_error (message, &error, nullptr);
        fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT)
                         && strstr (error->message, format) && strstr (error->message, remedy),
                     "%s", error->message);
      }
      gst_element_set_bus (h->element, nullptr);
    }
}

TEST (overlay_before_tracker)
{
  if (!there_is ("integralhistoverlay", "advice"))
    return;
  const std::string features = "cudatrackfeatures backend=cpu ! ",
                    track = "integralhisttrack targets=9,9,30,30 ! ";
  for (const char *between : { "", "queue ! ", "tee ! queue ! " })
    expect_one (features + "integralhistoverlay name=early ! " + between + track + "identity",
                "Put early after integralhisttrack");
  for (const std::string &right :
       { features + track + "integralhistoverlay", features + "integralhistoverlay",
         features + "integralhistoverlay regions=9,9,30,30 ! " + track + "identity",
         features + "integralhisttrack ! integralhistoverlay ! " + track + "identity" })
    fail_unless (warnings_of (right).empty (), "%s", right.c_str ());
}

/// Colours of cudatrackfeatures that are compared bin by bin.
TEST (slow_fragments)
{
  const std::string features = "cudatrackfeatures backend=cpu",
                    track = " ! integralhisttrack method=fragments targets=9,9,30,30";
  expect_one (features + track, "put cudaintegralhist bins=16 in its place");
  for (const std::string &right :
       { "cudaintegralhist backend=cpu bins=16" + track,
         "cudaintegralhist backend=cpu bins=16 ! " + features + track,
         features + track + " feature=hsv", features + " ! integralhisttrack targets=9,9,30,30" })
    fail_unless (warnings_of (right).empty (), "%s", right.c_str ());
}

/// A producer that leaves out frames, which a tracker needs.
TEST (interval_before_tracker)
{
  const std::string track = " ! integralhisttrack targets=9,9,30,30";
  for (const std::string &producers :
       { std::string ("cudatrackfeatures backend=cpu interval="),
         std::string ("cudaintegralhist backend=cpu bins=16 interval=") })
    for (const int interval : { 1, 3 }) {
      const bool by_fragments = producers.starts_with ("cudaintegralhist");
      const auto said = warnings_of (producers + std::to_string (interval) + track
                                     + (by_fragments ? " method=fragments" : ""));
      fail_unless (interval == 1 ? said.empty ()
                                 : said.size () == 1 && said[0].starts_with ("interval=3 leaves"),
                   "%s%d: %zu warnings, %s", producers.c_str (), interval, said.size (),
                   said.empty () ? "" : said[0].c_str ());
    }
}

/// Properties that only the other method reads.
TEST (ignored_by_method)
{
  const std::string features = "cudatrackfeatures backend=cpu ! ",
                    track = "integralhisttrack targets=9,9,30,30 ";
  for (const auto &[setting, names] : std::initializer_list<std::pair<const char *, const char *>>{
           { "search-range=9", "search-range" },
           { "feature=hue", "feature" },
           { "measure=l1 scale-search=true quantile=0.5", "measure, quantile, scale-search" } })
    expect_one (features + track + setting,
                std::string ("ignores these properties of method=fragments: ") + names + ". Leave");
  fail_unless (warnings_of (features + track + "lost-after=9").empty ());
}

/// Rectangles of which nothing is drawn.
TEST (drawn_outside)
{
  if (!there_is ("integralhistoverlay", "advice"))
    return;
  expect_one ("integralhistoverlay regions=9,9,9,9;96,0,9,9;0,64,9,9",
              "96,0,9,9... has a rectangle that lies outside of the 96x64");
  fail_unless (warnings_of ("integralhistoverlay regions=-9,-9,10,10").empty ());
}

/// An overlay draws its own regions, not those of the producer before it.
TEST (regions_of_the_producer)
{
  if (!there_is ("integralhistoverlay", "advice"))
    return;
  const std::string producer = "cudaintegralhist backend=cpu bins=4 ", set = "regions=0,0,9,9 ",
                    overlay = "! integralhistoverlay ";
  expect_one (producer + set + overlay,
              "regions of the elements before it are not drawn. To draw them, set");
  expect_one (producer + "interval=2 " + set + overlay, "regions of the elements before it");
  for (const std::string &right :
       { producer + set + overlay + set, producer + overlay,
         producer + set + "! cudatrackfeatures backend=cpu ! integralhisttrack " + overlay })
    fail_unless (warnings_of (right).empty (), "%s", right.c_str ());
}

/// A map of the colours of cudatrackfeatures, which has a choice of histograms.
TEST (slow_maps)
{
  const std::string features = "cudatrackfeatures backend=cpu ! ",
                    likelihood = "integralhistlikelihood step=16 ";
  expect_one (features + likelihood, "put cudaintegralhist bins=16 before");
  const std::string histogram = "cudaintegralhist backend=cpu bins=8 ! ";
  for (const std::string &right :
       { features + histogram + likelihood, histogram + features + likelihood,
         features + likelihood + "feature=hsv" })
    fail_unless (warnings_of (right).empty (), "%s", right.c_str ());
}

/// Windows of which each side is larger than the frame's.
TEST (wide_windows)
{
  const std::string likelihood = "cudaintegralhist backend=cpu bins=8 ! integralhistlikelihood ";
  expect_one (likelihood + "window-width=97 window-height=65",
              "window-width=97 window-height=65: such windows are larger than the 96x64");
  fail_unless (warnings_of (likelihood + "window-width=97 window-height=64").empty ());
}

/// Features of colours, of which gray frames have none: these are the features that find the same
/// value in all pixels of gray noise, or none.
TEST (gray_has_no_colours)
{
  const auto *const features =
      static_cast<GEnumClass *> (g_type_class_ref (gst_integral_histogram_feature_get_type ()));
  int n_warned = 0;
  for (guint f = 0; f < features->n_values; f++) {
    const char *const nick = features->values[f].value_nick;
    Pipeline pipeline ("videotestsrc num-buffers=1 pattern=snow ! "
                       "video/x-raw,format=GRAY8,width=96,height=64 ! cudaintegralhist "
                       "backend=cpu regions=0,0,96,64 feature="
                       + std::string (nick) + " ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    const auto next = [&] {
      return pipeline.message (GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS);
    };
    g_autoptr (GstMessage) message = next ();
    const bool warned = GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING;
    if (warned) {
      expect_parts (text_of (message), { "feature=" + std::string (nick), "GRAY8", "luma" });
      n_warned++;
      gst_message_unref (message);
      message = next ();
    }
    fail_unless (gst_message_has_name (message, "integral-histogram"), "%s", nick);
    const GValue *const all =
                            gst_structure_get_value (gst_message_get_structure (message), "counts"),
                        *const counts = gst_value_array_get_value (all, 0);
    int used = 0;
    for (guint i = 0; i < gst_value_array_get_size (counts); i++)
      used += g_value_get_uint (gst_value_array_get_value (counts, i)) > 0;
    fail_unless (warned == (used <= 1), "%s: %d bins", nick, used);
  }
  fail_unless (n_warned > 0);
  fail_unless (warnings_of ("cudaintegralhist backend=cpu feature=hue").empty ());
  g_type_class_unref (g_type_class_peek (gst_integral_histogram_feature_get_type ()));
}

/// A rectangle that the frame cuts off is counted, with an information of what is left of it.
TEST (clipped_regions)
{
  for (const auto &[regions, left] : std::initializer_list<std::pair<const char *, const char *>>{
           { "0,0,96,64;90,-4,9999,9999", "90,0,6,64" }, { "0,0,96,64;95,63,1,1", nullptr } }) {
    Pipeline pipeline ("videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=96,height=64 ! "
                       "cudaintegralhist backend=cpu regions="
                       + std::string (regions) + " ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    g_autoptr (GstMessage) message =
        pipeline.message (GST_MESSAGE_INFO | GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
    fail_unless_equals_int (GST_MESSAGE_TYPE (message), left ? GST_MESSAGE_INFO : GST_MESSAGE_EOS);
    if (!left)
      continue;
    g_autoptr (GError) info = nullptr;
    gst_message_parse_info (message, &info, nullptr);
    expect_parts (info->message, { regions, std::string ("clipped to ") + left, "96x64" });
    g_autoptr (GstMessage) end =
        pipeline.message (GST_MESSAGE_INFO | GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
    fail_unless_equals_int (GST_MESSAGE_TYPE (end), GST_MESSAGE_EOS);
  }
}

/// The debug information of an error names the function that posted it.
TEST (error_names_its_place)
{
  Pipeline pipeline ("videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=96,height=64 ! "
                     "cudaintegralhist backend=cpu regions=96,0,9,9 ! fakesink");
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_ERROR);
  g_autoptr (GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  gst_message_parse_error (message, &error, &debug);
  expect_parts (debug, { "gstcudaintegral.cpp(", "gst_cuda_integral_transform_ip ()" });
  fail_if (strstr (debug, "messages.cpp"), "%s", debug);
}
