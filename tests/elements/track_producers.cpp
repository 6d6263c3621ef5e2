// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cudatrackfeatures: what it attaches, that its properties reach the elements in it, and that the
// tracker behind it finds what it finds behind these elements one by one.
#include "pipelines.hpp"
#include "tracking.hpp"
#include "test.hpp"

namespace {

const std::string kGradients =
                      "cudaintegralhist feature=signed-gradient bins=18 weight=gradient soft=true",
                  kColours = "cudaintegralhist feature=hsv", kLuma = "cudaintegralimage";
const char *const kChildren[] = { "gradients", "colours", "luma" };
const std::string kBin = "cudatrackfeatures backend=cpu";

/// The three in a row, each with such properties.
std::string by_hand (const std::string &properties)
{
  return kGradients + " " + properties + " ! " + kColours + " " + properties + " ! " + kLuma + " "
         + properties;
}

/// The answers of all tensors of a frame for some rectangles, in the order of attachment.
std::vector<Sums> answers_of (GstBuffer *buffer)
{
  const GstVideoRectangle asked[] = { { 0, 0, 96, 64 }, { 7, 9, 31, 20 }, { -4, 50, 40, 40 } };
  std::vector<Sums> all;
  for (const auto *meta : histograms_of (buffer)) {
    Sums sums (3 * gst_integral_histogram_get_bins (meta->histogram));
    fail_unless (
        gst_integral_histogram_regions_sums (meta->histogram, asked, 3, sums.data (), nullptr));
    all.push_back (sums);
  }
  return all;
}

/// Frames with colours and edges behind an element.
std::vector<Sample> samples_of (const std::string &line, const char *format, int frames = 3)
{
  Pipeline pipeline ("videotestsrc pattern=smpte horizontal-speed=3 num-buffers="
                     + std::to_string (frames) + " ! video/x-raw,width=96,height=64,format="
                     + format + " ! " + line + " ! appsink name=sink sync=false");
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<Sample> samples;
  for (int frame = 0; frame < frames; frame++)
    samples.push_back (pipeline.pull ());
  return samples;
}

std::string text_of_property (GstElement *element, const char *name)
{
  GValue value = G_VALUE_INIT;
  g_object_get_property (G_OBJECT (element), name, &value);
  g_autofree gchar *text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

/// The macro of GstCheck keeps a pointer, for which a text must live.
void expect_text (const std::string &got, const std::string &wanted)
{
  fail_unless (got == wanted, "it is %s, must be %s", got.c_str (), wanted.c_str ());
}

}  // namespace

/// There are three tensors, the same as each element makes by itself. The luma tensor has the sums
/// of the pixels.
TEST (attaches)
{
  for (const char *const format : { "GRAY8", "I420", "RGB" }) {
    const auto samples = samples_of (kBin, format);
    std::vector<std::vector<Sample>> alone;
    for (const std::string &one : { kGradients, kColours, kLuma })
      alone.push_back (samples_of (one + " backend=cpu", format));
    for (std::size_t frame = 0; frame < samples.size (); frame++) {
      GstBuffer *const buffer = gst_sample_get_buffer (samples[frame].get ());
      const auto answers = answers_of (buffer);
      fail_unless_equals_int (answers.size (), 3);
      for (int i = 0; i < 3; i++) {
        const auto one = answers_of (gst_sample_get_buffer (alone[i][frame].get ()));
        fail_unless (one.size () == 1 && one[0] == answers[i], "%s: %s", format, kChildren[i]);
      }
      const auto *const gradients = gst_buffer_get_integral_histogram_meta_of_feature (
          buffer, GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT);
      fail_unless (gradients
                   && gst_integral_histogram_get_content (gradients->histogram)
                          == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS
                   && gst_integral_histogram_get_bins (gradients->histogram) == 18
                   && gst_integral_histogram_get_soft (gradients->histogram));
      const auto *const luma =
          gst_buffer_get_integral_histogram_meta_of (buffer, GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS);
      fail_unless (luma != nullptr);
      if (g_str_equal (format, "I420")) {
        const Picture picture = picture_of (samples[frame]);
        Random random (seed ());
        expect_none (complaint (luma->histogram, picture, random));
      }
    }
  }
}

/// All properties are those of the elements, with their defaults but for compute, and reach them.
TEST (properties)
{
  const struct {
    const char *name, *value;
    bool of_luma;
  } cases[] = {
    { "backend", "cpu", true },
    { "compute", "eager", true },
    { "download", "never", true },
    { "async-depth", "7", true },
    { "max-tensors", "5", true },
    { "interval", "3", true },
    { "qos", "false", true },
    { "sync", "true", true },
    { "tuning-time", "9", true },
    { "cuda-device-id", "2", true },
    { "cuda-device-ids", "1,0", false },
    { "max-device-memory", "12345", false },
  };
  GstElement *const bin = gst_element_factory_make ("cudatrackfeatures", nullptr);
  guint n = 0;
  GParamSpec **const specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (bin), &n);
  std::size_t own = 0;
  for (guint i = 0; i < n; i++)
    own += specs[i]->owner_type == G_OBJECT_TYPE (bin);
  fail_unless_equals_int (own, std::size (cases));
  g_free (specs);
  GstElement *const other = gst_element_factory_make ("cudaintegralhist", nullptr);
  for (const auto &[name, text, of_luma] : cases) {
    const std::string by_default = text_of_property (other, name);
    const bool is_compute = g_str_equal (name, "compute");
    expect_text (text_of_property (bin, name), is_compute ? "on-demand" : by_default);
    for (const char *const child : kChildren) {
      g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (bin), child);
      fail_unless (!is_compute || text_of_property (element, name) == "on-demand");
    }
    gst_util_set_object_arg (G_OBJECT (other), name, text);
    gst_util_set_object_arg (G_OBJECT (bin), name, text);
    const std::string wanted = text_of_property (other, name);
    fail_if (wanted == by_default, "%s is the default of %s", text, name);
    expect_text (text_of_property (bin, name), wanted);
    for (const char *const child : kChildren) {
      if (g_str_equal (child, "luma") && !of_luma)
        continue;
      g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (bin), child);
      expect_text (text_of_property (element, name), wanted);
    }
  }
  GstElement *const luma = gst_bin_get_by_name (GST_BIN (bin), "luma");
  expect_text (text_of_property (luma, "cuda-device-id"), "1");
  gst_util_set_object_arg (G_OBJECT (bin), "cuda-device-ids", "");
  expect_text (text_of_property (luma, "cuda-device-id"), "2");
  for (GstElement *const element : { luma, other, bin })
    gst_object_unref (element);
}

/// Tracks are to the pixel and the bit those behind the three elements, also when all is computed
/// at once.
TEST (tracks)
{
  const Scene scene (200, 140);
  for (const char *const compute : { "auto", "eager" }) {
    std::vector<std::vector<Seen>> all[2];
    const std::string properties = std::string ("backend=cpu compute=") + compute;
    for (int i = 0; i < 2; i++) {
      Tracking tracking (scene, "method=correlation targets=" + text_of (way (0)),
                         i == 0 ? by_hand (properties) : "cudatrackfeatures " + properties);
      for (int frame = 0; frame < 20; frame++) {
        all[i].push_back (tracking.follow (scene.with (way (frame))));
        fail_unless (all[i].back ().size () == 1 && !all[i].back ()[0].lost);
      }
    }
    fail_unless (all[0] == all[1]);
  }
}

/// The bin makes what the tracker needs by default. Frames that the bin leaves out have no track,
/// and are not an error.
TEST (leaves_out_frames)
{
  g_autoptr (GstElement) track = gst_element_factory_make ("integralhisttrack", nullptr);
  expect_text (text_of_property (track, "method"), "correlation");
  const Scene scene (160, 120);
  Tracking tracking (scene, "method=correlation targets=" + text_of (kFirst), kBin + " interval=3");
  const auto picture = scene.with (kFirst);
  for (int frame = 0; frame < 12; frame++)
    fail_unless_equals_int (tracking.follow (picture).size (), frame % 3 == 0);
}

/// It runs again after a stop, with other caps, and after a flush.
TEST (runs_again)
{
  Pipeline pipeline ("videotestsrc num-buffers=90 pattern=ball ! capsfilter name=caps "
                     "caps=video/x-raw,format=I420,width=96,height=64,framerate=30/1 ! "
                     + kBin
                     + " ! integralhisttrack method=correlation targets=30,20,20,20 ! "
                       "appsink name=sink sync=false max-buffers=2");
  const auto expect = [&] (guint width) {
    Sample sample = pipeline.pull ();
    for (int frame = 0;; frame++, sample = pipeline.pull ()) {  // those on their way are as before
      const auto answers = answers_of (gst_sample_get_buffer (sample.get ()));
      fail_unless_equals_int (answers.size (), 3);
      if (gst_integral_histogram_get_width (meta_of (sample)->histogram) == width)
        break;
      fail_unless (frame < 20, "no frame of %u columns", width);
    }
  };
  for (int run = 0; run < 2; run++) {
    pipeline.set_state (GST_STATE_PLAYING);
    expect (96);
    g_autoptr (GstCaps) larger =
        gst_caps_from_string ("video/x-raw,format=I420,width=192,height=128,framerate=30/1");
    g_autoptr (GstCaps) smaller =
        gst_caps_from_string ("video/x-raw,format=I420,width=96,height=64,framerate=30/1");
    g_autoptr (GstElement) filter = pipeline.element ("caps");
    g_object_set (filter, "caps", larger, nullptr);
    expect (192);
    fail_unless (pipeline.seek (GST_SECOND));
    expect (192);
    pipeline.set_state (run == 0 ? GST_STATE_READY : GST_STATE_NULL);
    g_object_set (filter, "caps", smaller, nullptr);
  }
}

/// A wrong setting is one error, posted by the element in the bin.
TEST (bad_settings)
{
  const struct {
    const char *settings, *said;
  } cases[] = {
    { "async-depth=100", "async-depth=100 is out of range: set it to 1 to 64" },
    { "cuda-device-ids=one", "cuda-device-ids" },
    { "cuda-device-ids=0,1 cuda-device-id=1", "are both set" },
    { "interval=0", "interval=0" },
  };
  for (const auto &[settings, said] : cases) {
    const std::string line =
        std::string ("videotestsrc ! ") + kBin + " name=features " + settings + " ! fakesink";
    g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), nullptr);
    g_autoptr (GstElement) features = gst_bin_get_by_name (GST_BIN (pipeline), "features");
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_PLAYING),
                            GST_STATE_CHANGE_FAILURE);
    int errors = 0;
    while (GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR)) {
      g_autoptr (GError) error = nullptr;
      gst_message_parse_error (message, &error, nullptr);
      fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS)
                       && strstr (error->message, said),
                   "%s: %s", settings, error->message);
      fail_unless (gst_object_has_as_parent (GST_MESSAGE_SRC (message), GST_OBJECT (features)));
      gst_message_unref (message);
      errors++;
    }
    fail_unless (errors == 1, "%s: %d errors", settings, errors);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/// Null clears cuda-device-ids of all three elements, as "" does.
TEST (cleared_device_ids)
{
  for (const char *const none : { static_cast<const char *> (nullptr), "" }) {
    g_autoptr (GstElement) features = gst_element_factory_make ("cudatrackfeatures", nullptr);
    gst_object_ref_sink (features);
    g_object_set (features, "cuda-device-ids", "0,1", nullptr);
    g_object_set (features, "cuda-device-ids", none, nullptr);
    for (const char *const child : { "gradients", "colours" }) {
      g_autofree char *ids = nullptr;
      g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (features), child);
      g_object_get (element, "cuda-device-ids", &ids, nullptr);
      fail_unless_equals_string (ids, "");
    }
  }
}
