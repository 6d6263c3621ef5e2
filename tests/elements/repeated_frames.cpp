// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames that videorate repeats, and marks as gaps: each has the right counts. The truth is counted
// in the pixels of each frame, and a repeated frame must look like the one before.
#include <map>

#include "pipelines.hpp"
#include "test.hpp"

namespace {

constexpr int kFrames = 20, kRepeated = 2 * kFrames - 1, kWidth = 160, kHeight = 120;

/// Frames of 15 in a second, as 30 in a second, through the elements.
Pipeline repeated (const std::string &elements)
{
  return Pipeline ("videotestsrc pattern=ball num-buffers=" + std::to_string (kFrames)
                   + " ! video/x-raw,format=I420,width=160,height=120,framerate=15/1 ! videorate ! "
                     "video/x-raw,framerate=30/1 ! "
                   + elements + " ! appsink name=sink sync=false");
}

/// All samples, of which nearly half are marked as gaps.
std::vector<Sample> all_of (Pipeline &pipeline)
{
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<Sample> all;
  int gaps = 0;
  while (all.size () < kRepeated) {
    all.push_back (pipeline.pull ());
    gaps +=
        GST_BUFFER_FLAG_IS_SET (gst_sample_get_buffer (all.back ().get ()), GST_BUFFER_FLAG_GAP);
  }
  fail_unless (gaps == kFrames - 1, "%d gaps", gaps);
  return all;
}

std::vector<guint8> bytes_of (const Sample &sample)
{
  return ::bytes_of (gst_sample_get_buffer (sample.get ()));
}

/// Counts the messages of each name.
std::map<std::string, int> messages_of (Pipeline &pipeline)
{
  std::map<std::string, int> messages;
  while (GstMessage *const message = gst_bus_pop_filtered (pipeline.bus, GST_MESSAGE_ELEMENT)) {
    messages[gst_structure_get_name (gst_message_get_structure (message))]++;
    gst_message_unref (message);
  }
  return messages;
}

}  // namespace

TEST (tensors)
{
  Random random (seed ());
  for (const auto &[element, message] :
       { std::pair ("cudaintegralhist bins=8", "integral-histogram"),
         std::pair ("cudaintegralimage squared=true", "integral-image") }) {
    Pipeline pipeline =
        repeated (std::string (element) + " backend=cpu tuning-time=0 regions=0,0,160,120");
    check_all (all_of (pipeline), random);
    fail_unless_equals_int (messages_of (pipeline)[message], kRepeated);
  }
}

TEST (tracks)
{
  for (const char *elements :
       { "cudaintegralhist backend=cpu bins=16 ! integralhisttrack method=fragments",
         "cudatrackfeatures backend=cpu ! integralhisttrack" }) {
    Pipeline pipeline = repeated (std::string (elements) + " targets=60,40,40,40");
    for (const Sample &sample : all_of (pipeline)) {
      auto *const tracks =
          gst_buffer_get_integral_histogram_tracks_meta (gst_sample_get_buffer (sample.get ()));
      fail_unless (tracks && gst_integral_histogram_tracks_meta_get_n_tracks (tracks) == 1);
    }
    fail_unless_equals_int (messages_of (pipeline)["integral-histogram-track"], kRepeated);
  }
}

/// A repeated frame has the bytes of the frame before, and something is drawn on both.
TEST (pictures)
{
  const std::string counted = "cudaintegralhist backend=cpu bins=16 ! ";
  for (const std::string &elements :
       { counted + "integralhistlikelihood mode=gray messages=true model=60,40,40,40",
         counted + "integralhistoverlay regions=10,10,60,40" }) {
    const std::string name = elements.substr (counted.size ());
    if (!there_is (name, "repeated_frames"))
      continue;
    Pipeline pipeline = repeated (elements);
    const auto samples = all_of (pipeline);
    Pipeline plain = repeated ("identity");
    const auto before = all_of (plain);
    for (std::size_t i = 0; i < samples.size (); i++) {
      if (GST_BUFFER_FLAG_IS_SET (gst_sample_get_buffer (samples[i].get ()), GST_BUFFER_FLAG_GAP))
        fail_unless (bytes_of (samples[i]) == bytes_of (samples[i - 1]), "%s, frame %zu",
                     name.c_str (), i);
      fail_unless (bytes_of (samples[i]) != bytes_of (before[i]), "%s, frame %zu", name.c_str (),
                   i);
    }
    if (name.find ("likelihood") != std::string::npos)
      fail_unless_equals_int (messages_of (pipeline)["integral-histogram-likelihood"], kRepeated);
  }
}
