// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of memory:NVMM, made without a GPU (nvmm.hpp): the elements count, follow and draw the
// same as in the same frames in system memory. A pool of four buffers never runs dry, and no pixel
// is read or shown once its buffer is back in the pool. An unreadable frame is one error.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "nvmm.hpp"
#include "pipelines.hpp"
#include "test.hpp"

TEST_FIXTURE (nvmm::register_elements, nullptr);

namespace {

/// The messages and frames of two branches of a pipeline, in their order.
struct Branches {
  std::vector<std::string> messages[2];
  std::vector<std::vector<guint8>> frames[2];
};

/// Runs a pipeline with elements of the names ending in 0 and 1 in its branches, and maybe appsinks
/// s0 and s1.
Branches run (const std::string &line)
{
  Branches all;
  Pipeline pipeline (line);
  GstElement *sinks[2] = { pipeline.element ("s0"), pipeline.element ("s1") };
  pipeline.set_state (GST_STATE_PLAYING);
  for (bool done = false; !done;) {
    g_autoptr (GstMessage) message =
        pipeline.message (int (GST_MESSAGE_ELEMENT) | int (GST_MESSAGE_EOS));
    done = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (done)
      break;
    g_autofree char *text = gst_structure_to_string (gst_message_get_structure (message));
    const char last = GST_OBJECT_NAME (
        GST_MESSAGE_SRC (message))[strlen (GST_OBJECT_NAME (GST_MESSAGE_SRC (message))) - 1];
    all.messages[last == '1'].push_back (text);
  }
  for (int i = 0; i < 2; i++) {
    while (sinks[i]) {
      const Sample sample (gst_app_sink_try_pull_sample (GST_APP_SINK (sinks[i]), 0));
      if (!sample)
        break;
      all.frames[i].push_back (bytes_of (gst_sample_get_buffer (sample.get ())));
    }
    gst_clear_object (&sinks[i]);
  }
  return all;
}

/// Fails unless both branches have posted the same messages, and as many as expected.
void expect_same (const Branches &all, std::size_t messages, std::size_t frames,
                  const std::string &what)
{
  for (int i = 0; i < 2; i++) {
    fail_unless_equals_uint64 (all.messages[i].size (), messages);
    fail_unless_equals_uint64 (all.frames[i].size (), frames);
  }
  for (std::size_t i = 0; i < messages; i++)
    fail_unless (all.messages[0][i] == all.messages[1][i], "%s: message %zu: system %s, NVMM %s",
                 what.c_str (), i, all.messages[0][i].c_str (), all.messages[1][i].c_str ());
  for (std::size_t i = 0; i < frames; i++)
    fail_unless (all.frames[0][i] == all.frames[1][i], "%s: frame %zu is another", what.c_str (),
                 i);
}

std::string snow (const std::string &format, const std::string &size, int n)
{
  return "videotestsrc pattern=snow num-buffers=" + std::to_string (n)
         + " ! videoconvert ! video/x-raw,format=" + format + "," + size + " ! tee name=t ";
}

constexpr const char *kRegions = "regions=0,0,1000,1000;3,5,20,11;40,30,50,50";
constexpr const char *kSink = " ! appsink sync=false wait-on-eos=false name=";

}  // namespace

TEST (counts)
{
  for (const auto &[format, number] : nvmm::kColourFormats) {
    if (format == "P010_10LE")
      continue;  // not in system memory
    for (const std::string element :
         { "cudaintegralhist", "cudaintegralhist compute=on-demand feature=hsv",
           "cudaintegralhist feature=signed-gradient weight=gradient soft=true bins=18",
           "cudaintegralimage squared=true" })
      for (const char *memory : { "memory=6", "memory=1 size=64 batch=3", "memory=3" }) {
        const std::string line = snow (format, "width=53,height=37", 3) + "t. ! queue ! " + element
                                 + " backend=cpu name=e0 " + kRegions
                                 + " ! fakesink t. ! queue ! tonvmm " + memory + " ! " + element
                                 + " backend=cpu name=e1 " + kRegions + " ! fakesink";
        expect_same (run (line), 3, 0, format + " " + element + " " + memory);
      }
  }
}

TEST (tracks)
{
  for (const char *const follow :
       { "cudatrackfeatures backend=cpu ! integralhisttrack",
         "cudaintegralhist backend=cpu bins=16 ! integralhisttrack method=fragments" }) {
    const std::string target = " targets=30,20,24,30 name=",
                      line = "videotestsrc pattern=ball num-buffers=20 ! "
                             "video/x-raw,format=NV12,width=160,height=120 ! tee name=t t. ! queue "
                             "! "
                             + std::string (follow) + target
                             + "e0 ! fakesink t. ! queue ! tonvmm ! " + follow + target
                             + "e1 ! fakesink";
    expect_same (run (line), 20, 0, follow);
  }
}

TEST (drawings)
{
  for (const auto &[format, number] : nvmm::kColourFormats) {
    if (std::string ("GRAY8 GRAY16_LE xRGB xBGR RGB10A2_LE BGR10A2_LE").find (format)
        != std::string::npos)
      continue;
    const std::string draw =
        std::string (format == "P010_10LE" ? "" : "cudaintegralhist backend=cpu bins=8 ! ")
        + "integralhistoverlay regions=5,5,30,20;20,14,60,60 name=";
    const std::string line = snow (format, "width=64,height=48", 3) + "t. ! queue ! " + draw + "e0"
                             + kSink + "s0 t. ! queue ! tonvmm ! " + draw + "e1 ! fromnvmm" + kSink
                             + "s1";
    expect_same (run (line), 0, 3, format);
  }
}

TEST (likelihood)
{
  const std::string map = "cudaintegralhist backend=cpu bins=8 ! integralhistlikelihood mode=heat "
                          "scale=false model=10,10,20,20 messages=true name=";
  const std::string line = snow ("BGRx", "width=64,height=48", 3) + "t. ! queue ! " + map + "e0"
                           + kSink + "s0 t. ! queue ! tonvmm ! " + map + "e1 ! fromnvmm" + kSink
                           + "s1";
  Branches all = run (line);
  for (auto &frames : all.frames)
    for (auto &frame : frames)
      for (gsize i = 3; i < frame.size (); i += 4)
        frame[i] = 0;  // means nothing
  expect_same (all, 3, 3, "likelihood");
}

/// Frames of a queue, of a sink that keeps its last one, and behind late questions, with a pool of
/// four buffers. The frames that come out, also copies, have the pixels that came in.
TEST (pool_of_four)
{
  for (const std::string compute : { "eager", "on-demand" }) {
    const std::string line =
        snow ("NV12", "width=64,height=48", 400) + "t. ! queue" + kSink
        + "s0 t. ! queue ! tonvmm ! tee name=u u. ! queue max-size-buffers=30 ! "
          "cudaintegralhist backend=cpu name=e1 compute="
        + compute
        + " ! identity ! integralhisttrack method=fragments targets=10,10,20,20 "
          "! queue max-size-buffers=30 ! fromnvmm"
        + kSink + "s1 u. ! queue max-size-buffers=30 ! fakesink enable-last-sample=true";
    Branches all = run (line);
    for (auto &messages : all.messages)
      messages.clear ();
    expect_same (all, 0, 400, compute);
  }
}

/// A tensor that a consumer asks long after its frame has gone keeps no buffer of the pool.
TEST (late_questions)
{
  Pipeline pipeline ("videotestsrc pattern=snow num-buffers=40 ! "
                     "video/x-raw,format=GRAY8,width=64,height=48 ! tonvmm ! cudaintegralhist "
                     "backend=cpu compute=on-demand name=hist ! appsink name=sink sync=false");
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<GstIntegralHistogram *> kept;
  std::vector<Picture> pictures;
  for (int i = 0; i < 40; i++) {
    const Sample sample = pipeline.pull ();
    GstBuffer *const buffer = gst_sample_get_buffer (sample.get ());
    kept.push_back (gst_integral_histogram_ref (meta_of (sample)->histogram));
    const auto &surface =
        *reinterpret_cast<nvmm::Memory *> (gst_buffer_peek_memory (buffer, 0))->surface;
    pictures.push_back ({ 64, 48, {} });
    for (gsize y = 0; y < 48; y++)
      pictures.back ().luma.insert (pictures.back ().luma.end (),
                                    surface.pixels.begin () + gssize (y * surface.strides[0]),
                                    surface.pixels.begin () + gssize (y * surface.strides[0] + 64));
  }
  Random random (seed ());
  for (std::size_t i = 0; i < kept.size (); i++) {
    expect_none (complaint (kept[i], pictures[i], random));
    gst_integral_histogram_unref (kept[i]);
  }
}

/// NVIDIA's converter copies metas unchanged when it scales; capssetter stands in for it here.
/// integralhistkeepmetas scales the metas with the frame.
TEST (keep_metas_of_scaled_frames)
{
  Pipeline pipeline ("videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48 ! "
                     "tonvmm ! cudaintegralhist backend=cpu bins=16 ! integralhisttrack "
                     "method=fragments targets=8,12,16,20 ! integralhistkeepmetas "
                     "element=\"fromnvmm ! capssetter caps=video/x-raw,width=32,height=24\" ! "
                     "appsink name=sink sync=false");
  pipeline.set_state (GST_STATE_PLAYING);
  for (int i = 0; i < 3; i++) {
    const Sample sample = pipeline.pull ();
    const auto *const roi =
        gst_buffer_get_video_region_of_interest_meta_id (gst_sample_get_buffer (sample.get ()), 1);
    fail_unless (roi && roi->x == 4 && roi->y == 6 && roi->w == 8 && roi->h == 10);
    fail_unless_equals_int (meta_of (sample)->width, 32);
  }
}

/// Without integralhistkeepmetas such metas are refused.
TEST (metas_of_scaled_frames)
{
  const std::string scaled = " ! capssetter caps=\"video/x-raw(memory:NVMM),width=32,height=24\" ! "
                             "integralhisttrack targets=8,12,16,20 ";
  for (const std::string &follow :
       { "cudaintegralhist backend=cpu bins=16" + scaled + "method=fragments",
         "cudatrackfeatures backend=cpu" + scaled,
         // the converter's usual place: before elements in system memory
         std::string ("cudaintegralhist backend=cpu ! fromnvmm ! capssetter caps=video/x-raw,"
                      "width=32,height=24 ! integralhistlikelihood model=1,1,5,5") }) {
    Pipeline pipeline ("videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48 ! "
                       "tonvmm ! "
                       + follow + " ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ERROR);
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    expect_parts (error->message, { "32x24", "64x48", "integralhistkeepmetas" });
  }
}

namespace {

constexpr const char *kCaps =
    "video/x-raw(memory:NVMM),format=NV12,width=64,height=48,framerate=30/1";

std::unique_ptr<nvmm::Surface> surface_of (const char *format, gsize size = 72, guint32 batch = 1)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, gst_video_format_from_string (format), 64, 48);
  auto surface = std::make_unique<nvmm::Surface> (info, 6, size, batch);
  Random random (seed ());
  for (guint8 &value : surface->pixels)
    value = guint8 (random ());
  return surface;
}

using Change = void (*) (nvmm::Surface &);

struct Lie {
  const char *what;
  Change change;
  std::vector<std::string> parts;  // of the error
};

template <gsize kAt, guint32 kValue>
void set (nvmm::Surface &surface)
{
  nvmm::Surface::set (surface.parameters, kAt, kValue);
}

template <gsize kAt, guint32 kValue>
void describe (nvmm::Surface &surface)
{
  nvmm::Surface::set (surface.descriptor, kAt, kValue);
}

const Lie kLies[] = {
  { "a batch of three",
    [] (nvmm::Surface &surface) {
      describe<nvmm::kBatch, 4> (surface);
      describe<nvmm::kFilled, 3> (surface);
    },
    { "batch of 3", "nvstreamdemux", "nvtracker" } },
  { "no frame", describe<nvmm::kFilled, 0>, { "0 frames" } },
  { "more frames than room", describe<nvmm::kFilled, 1025>, { "1025 frames" } },
  { "the GPU's memory, without a GPU",
    describe<nvmm::kMemory, 2>,
    { "memory of GPU 0", "backend=auto", "nvvideoconvert ! video/x-raw" } },
  { "Jetson's surface array",
    describe<nvmm::kMemory, 4>,
    { "type 4", "Jetson", "nvvideoconvert" } },
  { "Jetson's handle", describe<nvmm::kMemory, 5>, { "type 5", "Jetson", "nvvideoconvert" } },
  { "Jetson's array", describe<nvmm::kMemory, 7>, { "type 7", "Jetson", "nvvideoconvert" } },
  { "memory of a later release", describe<nvmm::kMemory, 99>, { "unknown type, 99" } },
  { "a GPU far away", describe<nvmm::kGpu, 0x7fffffff>, { "GPU 2147483647" } },
  { "no list",
    [] (nvmm::Surface &surface) {
      nvmm::Surface::set (surface.descriptor, nvmm::kSurfaces, nullptr);
    },
    { "no list" } },
  { "block-linear", set<nvmm::kLayout, 1>, { "block-linear", "nvvideoconvert" } },
  { "another format", set<nvmm::kColourFormat, 19>, { "colour format 19", "NV12" } },
  { "narrower", set<nvmm::kWidth, 63>, { "63x48", "64x48" } },
  { "lower", set<nvmm::kHeight, 0>, { "64x0", "64x48" } },
  { "higher than any", set<nvmm::kHeight, 1 << 20>, { "64x1048576" } },
  { "a plane too many", set<nvmm::kPlanes, 3>, { "3 planes", "NV12 has 2" } },
  { "no address",
    [] (nvmm::Surface &surface) { nvmm::Surface::set (surface.parameters, nvmm::kData, nullptr); },
    { "no address" } },
  { "rows that overlap", set<nvmm::kPlanePitch, 32>, { "plane 0", "32 bytes apart", "takes 64" } },
  { "rows that are far apart", set<nvmm::kPlanePitch, 100000>, { "plane 0", "reaches past" } },
  { "rows below zero", set<nvmm::kPlanePitch, 0xffffffc0>, { "plane 0" } },
  { "the second plane behind the end",
    set<nvmm::kPlaneOffset + 4, 1 << 20>,
    { "plane 1", "reaches past" } },
  { "the second plane far behind the end",
    set<nvmm::kPlaneOffset + 4, 0xfffffff0>,
    { "plane 1", "reaches past" } },
  { "chroma at an odd place", set<nvmm::kPlaneOffset + 4, 1>, { "plane 1", "multiple of 2" } },
  { "half of its memory", set<nvmm::kBytes, 2000>, { "plane 0", "reaches past the 2000 bytes" } },
};

}  // namespace

TEST (refusals)
{
  for (const char *const element :
       { "cudaintegralhist backend=cpu", "integralhistoverlay regions=1,2,3,4" })
    for (const Lie &lie : kLies) {
      if (g_str_has_prefix (lie.what, "the GPU's") && g_str_has_prefix (element, "integralhistov"))
        continue;  // it draws on it where there is a GPU
      auto surface = surface_of ("NV12");
      lie.change (*surface);
      Harness harness (element, kCaps);
      const std::string error = harness.error_of (nvmm::buffer_of (std::move (surface)));
      fail_unless (!error.empty (), "%s: %s is not refused", element, lie.what);
      for (const std::string &part : lie.parts)
        expect_parts (error, { part }, lie.what);
    }
}

/// The same element takes NVMM and system memory in turns, frames of another size, a flush, and a
/// second start.
TEST (changing_caps)
{
  Harness harness ("cudaintegralhist backend=cpu");
  Random random (seed ());
  for (int turn = 0; turn < 6; turn++) {
    const bool is_nvmm = turn % 2 == 0;
    const int width = turn < 3 ? 64 : 48;
    GstVideoInfo info;
    gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, guint (width), 48);
    harness.set_caps (std::string (is_nvmm ? "video/x-raw(memory:NVMM)" : "video/x-raw")
                      + ",format=NV12,height=48,framerate=30/1,width=" + std::to_string (width));
    GstBuffer *const plain = noise (info, unsigned (random ()));
    const Picture picture = picture_of (plain, info);
    auto surface = std::make_unique<nvmm::Surface> (info, 6);
    surface->copy (info, plain, false);
    GstBuffer *pushed = plain;
    if (is_nvmm) {
      pushed = nvmm::buffer_of (std::move (surface));
      gst_buffer_unref (plain);
    }
    const Buffer passed = harness.pass (pushed);
    expect_none (complaint (histogram_of (passed), picture, random));
    if (turn == 3)
      harness.flush ();
    if (turn == 4) {
      gst_element_set_state (harness->element, GST_STATE_READY);
      gst_element_set_state (harness->element, GST_STATE_PLAYING);
      harness.flush ();  // whose segment the second run needs
    }
  }
}

TEST (unknown_descriptor)
{
  for (const gsize size : { 71, 80, 1008 }) {
    auto surface = surface_of ("NV12");
    surface->descriptor.resize (size);
    Harness harness ("cudaintegralhist backend=cpu", kCaps);
    expect_parts (harness.error_of (nvmm::buffer_of (std::move (surface))),
                  { std::to_string (size) + " bytes", "64 or 72", "nvvideoconvert" });
  }
}

/// Only the upper 8 bits of P010 words are counted.
TEST (p010)
{
  auto surface = surface_of ("P010_10LE");
  Picture picture{ 64, 48, {} };
  for (gsize y = 0; y < 48; y++)
    for (gsize x = 0; x < 64; x++)
      picture.luma.push_back (surface->pixels[y * surface->strides[0] + 2 * x + 1]);
  Harness harness ("cudaintegralhist backend=cpu",
                   "video/x-raw(memory:NVMM),format=P010_10LE,width=64,height=48,framerate=30/1");
  const Buffer passed = harness.pass (nvmm::buffer_of (std::move (surface)));
  Random random (seed ());
  expect_none (complaint (histogram_of (passed), picture, random));
}

/// Any 32 bits of a surface may lie, except for addresses and more memory than there is: the frame
/// is refused, or read within its memory, as a sanitizer sees.
TEST (random_surfaces)
{
  Random random (seed ());
  guint refused = 0, counted = 0;
  for (int turn = 0; turn < 3000; turn++) {
    const char *const formats[] = { "NV12", "I420", "RGBA", "P010_10LE", "YUY2" };
    const std::string format = formats[random () % std::size (formats)];
    auto surface = surface_of (format.c_str (), random () % 2 ? 64 : 72);
    for (int n = between (random, 1, 3); n > 0; n--) {
      const bool in_descriptor = random () % 4 == 0;
      const gsize at = in_descriptor ? 4 * (random () % 5)
                                     : (random () % 2 ? nvmm::kPlanes + 4 * (random () % 26)
                                                      : 4 * (random () % 9));
      const guint32 values[] = {
        guint32 (random ()), guint32 (random () % 200), guint32 (random () % 8), 0, 0xffffffff,
        0x80000000,          guint32 (random () % 9000)
      };
      guint32 value = values[random () % std::size (values)];
      if (!in_descriptor && at == nvmm::kBytes)
        value = std::min (value, guint32 (surface->pixels.size ()));
      nvmm::Surface::set (in_descriptor ? surface->descriptor : surface->parameters, at, value);
    }
    Harness harness (turn % 2 ? "cudaintegralhist backend=cpu bins=8 feature=hsv sync=true"
                              : "integralhistoverlay regions=0,0,64,48;5,5,20,20",
                     "video/x-raw(memory:NVMM),format=" + format
                         + ",width=64,height=48,framerate=30/1");
    const bool passed =
        gst_harness_push (harness, nvmm::buffer_of (std::move (surface))) == GST_FLOW_OK;
    fail_unless (passed == harness.error ().empty ());
    (passed ? counted : refused)++;
  }
  fail_unless (refused > 500 && counted > 100, "%u refused, %u counted", refused, counted);
}

/// A shared frame is not drawn on, as all who have the pixels would see the drawing.
TEST (shared_frames_are_not_drawn_on)
{
  for (const bool of_copy : { false, true }) {
    Harness harness ("integralhistoverlay name=draws regions=1,2,3,4", kCaps);
    GstBuffer *const original = nvmm::buffer_of (surface_of ("NV12"));
    GstBuffer *pushed = gst_buffer_ref (original);
    if (of_copy) {
      pushed = gst_buffer_copy (original);
      gst_buffer_add_parent_buffer_meta (pushed, original);
      gst_buffer_unref (original);
    }
    expect_parts (harness.error_of (pushed),
                  { "draws", "another element has it", "tee", "nvvideoconvert" });
    gst_buffer_unref (original);
  }
  Harness harness ("integralhistoverlay regions=1,2,3,4", kCaps);
  GstBuffer *const original = nvmm::buffer_of (surface_of ("NV12")), *const copy =
                                                                         gst_buffer_copy (original);
  gst_buffer_add_parent_buffer_meta (copy, original);
  gst_buffer_unref (original);
  fail_unless (harness.pass (copy) != nullptr);  // no other element has the copy
}

TEST (other_formats)
{
  for (const char *const element : { "cudaintegralhist", "cudatrackfeatures" }) {
    Pipeline pipeline (std::string (element) + " name=hist backend=cpu ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    g_autoptr (GstElement) hist = pipeline.element ("hist");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (hist, "sink");
    g_autoptr (GstCaps) caps = gst_caps_from_string (
        "video/x-raw(memory:NVMM),format=UYVP,width=64,height=48,framerate=30/1");
    gst_pad_send_event (pad, gst_event_new_stream_start ("nvmm"));
    fail_if (gst_pad_send_event (pad, gst_event_new_caps (caps)));
    g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ERROR);
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    expect_parts (error->message, { "UYVP", "memory:NVMM", "nvvideoconvert" });
  }
}

/// A buffer of the pool of NVIDIA's converter, in host memory. Its libraries link to libcuda.so.1,
/// for which a stub will do.
TEST (pool_of_nvidia)
{
  const char *const folder = g_getenv ("INTHIST_DEEPSTREAM_LIBS");
  void *const library =
      folder ? dlopen ((std::string (folder) + "/libnvdsbufferpool.so").c_str (), RTLD_NOW)
             : nullptr;
  if (!library) {
    printf ("SKIP: the pool of NVIDIA's converter: %s; set INTHIST_DEEPSTREAM_LIBS and "
            "LD_LIBRARY_PATH to the folder of its libraries\n",
            folder ? dlerror () : "INTHIST_DEEPSTREAM_LIBS is not set");
    return;
  }
  const auto make =
      reinterpret_cast<GstBufferPool *(*) ()> (dlsym (library, "gst_nvds_buffer_pool_new"));
  fail_unless (make != nullptr);
  g_autoptr (GstBufferPool) pool = make ();
  g_autoptr (GstCaps) caps = gst_caps_from_string (kCaps);
  GstStructure *const config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, 72, 4, 4);
  gst_structure_set (config, "memtype", G_TYPE_UINT, 6, "gpu-id", G_TYPE_UINT, 0, "batch-size",
                     G_TYPE_UINT, 1, nullptr);
  fail_unless (gst_buffer_pool_set_config (pool, config)
               && gst_buffer_pool_set_active (pool, TRUE));
  Harness harness ("cudaintegralhist backend=cpu", kCaps);
  Random random (seed ());
  for (int frame = 0; frame < 20; frame++) {
    GstBuffer *buffer = nullptr;
    fail_unless (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr) == GST_FLOW_OK);
    const nvmm::Source source (buffer);
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    const guint32 one = 1;  // frame, as the converter says
    std::memcpy (map.data + nvmm::kFilled, &one, sizeof one);
    gst_buffer_unmap (buffer, &map);
    auto *const rows = const_cast<guint8 *> (source.data + source.number (nvmm::kPlaneOffset));
    Picture picture{ 64, 48, {} };
    for (gsize y = 0; y < 48; y++)
      for (gsize x = 0; x < 64; x++)
        picture.luma.push_back (rows[y * source.number (nvmm::kPlanePitch) + x] =
                                    guint8 (random ()));
    const Buffer passed = harness.pass (buffer);
    expect_none (complaint (histogram_of (passed), picture, random));
  }
  gst_buffer_pool_set_active (pool, FALSE);
}

/// The element offers only what elements with pools of their own would take.
TEST (allocation)
{
  for (const char *const element :
       { "cudaintegralhist backend=cpu", "cudatrackfeatures backend=cpu", "integralhisttrack",
         "integralhistlikelihood model=1,1,8,8", "integralhistoverlay" }) {
    Harness harness (element, kCaps);
    g_autoptr (GstCaps) caps = gst_caps_from_string (kCaps);
    g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
    gst_pad_peer_query (harness->srcpad, query);
    guint n = 0;
    fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 0);
    for (guint i = 0; i < gst_query_get_n_allocation_params (query); i++) {
      g_autoptr (GstAllocator) allocator = nullptr;
      gst_query_parse_nth_allocation_param (query, i, &allocator, nullptr);
      fail_if (allocator, "%s", element);
    }
    fail_if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, &n), "%s", element);
  }
}
