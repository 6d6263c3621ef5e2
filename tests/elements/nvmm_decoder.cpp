// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Behind NVIDIA's decoder and converter, whose frames are memory:NVMM on a GPU: the integers, the
// tracks and the drawings are those of nvh264dec in CUDA memory and of the CPU. No pixel is copied
// to the host, no pipeline stalls, and it is as fast as in CUDA memory. tests/gpu/nvmm.sh runs it.
//
// Environment: gpu_pipelines.hpp
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "nvmm.hpp"
#include "gpu_pipelines.hpp"
#include "pipelines.hpp"

#if HAVE_CUPTI
#include <cupti.h>
#include <dlfcn.h>
#endif

#include "test.hpp"

TEST_TIMEOUT (400);
TEST_FIXTURE (nvmm::register_elements, nullptr);

namespace {

constexpr std::size_t kFrames = 596;  // of woman.mp4

/// Returns whether only the first frames are run, for a sanitizer.
bool are_small ()
{
  return g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0;
}

constexpr const char *kRegions = " regions=100,100,64,128;0,0,1,1;-20,-20,3000,3000;300,200,5,7 ";
constexpr const char *kTarget = "targets=210,117,30,100 ";

std::string parsed ()
{
  return "filesrc location=" + data ("woman.mp4") + " ! qtdemux ! h264parse ! "
         + (are_small () ? "identity eos-after=30 ! " : "");
}

/// Returns whether there are a GPU, NVIDIA's decoder and the video, and prints what is missing.
bool have_nvmm (const char *what, std::vector<const char *> more = {})
{
  more.insert (more.end (), { "nvv4l2decoder", "nvh264dec", "cudadownload", "h264parse" });
  if (!have (what, more))
    return false;
  const std::string file = data ("woman.mp4");
  if (g_file_test (file.c_str (), G_FILE_TEST_EXISTS))
    return true;
  printf ("SKIP: %s: no %s; set INTHIST_TEST_DATA to a folder with it\n", what, file.c_str ());
  return false;
}

/// Returns the numbers in a message of the element e, without times.
std::string said (GstMessage *message)
{
  std::string text;
  const GstStructure *const of = gst_message_get_structure (message);
  if (g_str_equal (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), "e"))
    for (const char *field : { "counts", "weights", "sum", "sum-of-squares", "tracks" })
      if (const GValue *value = gst_structure_get_value (of, field)) {
        g_autofree char *part = gst_value_serialize (value);
        text += part;
      }
  return text;
}

struct Output {
  std::vector<std::string> said,
      frames;  // messages of the element e, and hashes of the frames at the sink
};

Output output_of (const std::string &line)
{
  Output output;
  Pipeline pipeline (line);
  pipeline.set_state (GST_STATE_PLAYING);
  const auto take_frames = [&] {
    while (pipeline.sink) {
      const Sample sample = pipeline.try_pull (0);
      if (!sample)
        return;
      GstMapInfo map;
      GstBuffer *const buffer = gst_sample_get_buffer (sample.get ());
      fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
      g_autofree char *hash = g_compute_checksum_for_data (G_CHECKSUM_MD5, map.data, map.size);
      gst_buffer_unmap (buffer, &map);
      output.frames.emplace_back (hash);
    }
  };
  for (bool done = false; !done;) {
    g_autoptr (GstMessage) message =
        pipeline.message (int (GST_MESSAGE_ELEMENT) | int (GST_MESSAGE_EOS));
    done = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (const std::string text = done ? "" : said (message); !text.empty ())
      output.said.push_back (text);
    take_frames ();
  }
  return output;
}

void expect_same (const std::vector<std::string> &is, const std::vector<std::string> &wanted,
                  const std::string &what)
{
  fail_unless (is.size () == wanted.size ()
                   && (are_small () ? is.size () > 20 : is.size () == kFrames),
               "%s: %zu and %zu frames", what.c_str (), is.size (), wanted.size ());
  for (std::size_t i = 0; i < is.size (); i++)
    fail_unless (is[i] == wanted[i], "%s: frame %zu: %s instead of %s", what.c_str (), i,
                 is[i].c_str (), wanted[i].c_str ());
}

constexpr const char *kProducers[] = {
  "cudaintegralhist",
  "cudaintegralhist compute=on-demand feature=hsv",
  "cudaintegralhist feature=signed-gradient weight=gradient soft=true bins=18",
  "cudaintegralimage squared=true",
};

}  // namespace

TEST (integers)
{
  if (!have_nvmm ("integers of NVMM"))
    return;
  for (const std::string element : kProducers) {
    const auto run = [&] (const std::string &decoder, const std::string &backend) {
      return output_of (parsed () + decoder + " ! " + element + " name=e backend=" + backend
                        + kRegions + "! fakesink");
    };
    const Output nvmm = run ("nvv4l2decoder", "cuda"), cuda = run ("nvh264dec", "cuda"),
                 cpu = run ("nvh264dec ! cudadownload", "cpu");
    expect_same (nvmm.said, cuda.said, element + " in CUDA memory");
    expect_same (nvmm.said, cpu.said, element + " on the CPU");
  }
}

TEST (tracks_and_drawings)
{
  if (!have_nvmm ("tracks of NVMM"))
    return;
  const auto run = [] (const std::string &decoder, const std::string &backend,
                       const std::string &end) {
    return output_of (parsed () + decoder + " ! cudatrackfeatures backend=" + backend
                      + " ! integralhisttrack name=e " + kTarget + "! integralhistoverlay ! " + end
                      + "video/x-raw,format=NV12 ! appsink name=sink sync=false wait-on-eos=false");
  };
  const Output nvmm = run ("nvv4l2decoder", "cuda", "fromnvmm ! "),
               cuda = run ("nvh264dec", "cuda", "cudadownload ! "),
               cpu = run ("nvh264dec ! cudadownload", "cpu", "");
  expect_same (nvmm.said, cuda.said, "tracks in CUDA memory");
  expect_same (nvmm.said, cpu.said, "tracks on the CPU");
  expect_same (nvmm.frames, cuda.frames, "drawings in CUDA memory");
  expect_same (nvmm.frames, cpu.frames, "drawings on the CPU");
}

TEST (likelihood)
{
  if (!have_nvmm ("likelihood maps of NVMM"))
    return;
  const auto run = [] (const std::string &decoder, const std::string &end) {
    return output_of (parsed () + decoder
                      + " ! cudaintegralhist backend=cuda bins=16 ! integralhistlikelihood "
                        "model=210,117,30,100 opacity=0.5 ! "
                      + end
                      + " ! video/x-raw,format=NV12 ! appsink name=sink sync=false "
                        "wait-on-eos=false");
  };
  expect_same (run ("nvv4l2decoder", "fromnvmm").frames, run ("nvh264dec", "cudadownload").frames,
               "maps in CUDA memory");
}

namespace {

/// Compares an element behind the converter with the same element on the CPU, which counts the same
/// pixels, copied to the host. All frames must be in memory of this number.
void compare_with_host (const std::string &converter, const std::string &format,
                        const std::string &element, const std::string &backend, guint memory)
{
  const std::string what = converter + " " + format + " " + element + " " + backend;
  Pipeline pipeline (parsed () + "nvv4l2decoder ! " + converter
                     + " output-buffers=9 ! video/x-raw(memory:NVMM),format=" + format
                     + " ! tee name=t t. ! queue ! " + element + " name=e backend=" + backend
                     + kRegions + "! fakesink t. ! queue ! fromnvmm ! tonvmm ! " + element
                     + " name=host backend=cpu" + kRegions + "! fakesink");
  g_autoptr (GstElement) first = pipeline.element ("e");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (first, "sink");
  std::atomic<guint> found = 0;  // a bit for each number
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [] (GstPad *, GstPadProbeInfo *info, gpointer found) {
        *static_cast<std::atomic<guint> *> (found) |=
            1u << nvmm::Source (GST_PAD_PROBE_INFO_BUFFER (info)).memory;
        return GST_PAD_PROBE_OK;
      },
      &found, nullptr);
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<std::string> all[2];
  for (;;) {
    g_autoptr (GstMessage) message =
        pipeline.message (int (GST_MESSAGE_ELEMENT) | int (GST_MESSAGE_EOS));
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
      break;
    const bool on_host = g_str_equal (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), "host");
    g_autofree char *counts = gst_value_serialize (
        gst_structure_get_value (gst_message_get_structure (message), "counts"));
    all[on_host].emplace_back (counts);
  }
  expect_same (all[0], all[1], what);
  fail_unless (found == 1u << memory, "%s: memories 0x%x", what.c_str (), found.load ());
}

}  // namespace

TEST (formats_of_the_converter)
{
  if (!have_nvmm ("formats of NVMM", { "nvvideoconvert" }))
    return;
  for (const char *const format : { "NV12", "RGBA", "BGRx", "I420", "P010_10LE", "Y444", "GRAY8" })
    for (const std::string element : { kProducers[0], kProducers[1] })
      compare_with_host ("nvvideoconvert", format, element, "cuda", 2);
}

/// Pinned and unified memory are read on the GPU and on the CPU.
TEST (memories_of_the_converter)
{
  if (!have_nvmm ("memories of NVMM", { "nvvideoconvert" }))
    return;
  for (const guint memory : { 1, 3 })
    for (const char *const backend : { "cuda", "cpu" })
      for (const std::string element : { kProducers[0], kProducers[1] })
        compare_with_host ("nvvideoconvert nvbuf-memory-type=" + std::to_string (memory), "RGBA",
                           element, backend, memory);
}

/// The converter copies metas unchanged when it scales, crops or flips.
TEST (keep_metas_around_the_converter)
{
  if (!have_nvmm ("metas behind NVIDIA's converter", { "nvvideoconvert" }))
    return;
  const auto line = [] (const std::string &converter) {
    return parsed () + "nvv4l2decoder ! cudatrackfeatures ! integralhisttrack " + kTarget
           + "! integralhistkeepmetas element=\"" + converter
           + " ! video/x-raw(memory:NVMM),width=176,height=144\" ! appsink name=sink sync=false "
             "max-buffers=2";
  };
  Pipeline pipeline (line ("nvvideoconvert"));
  pipeline.set_state (GST_STATE_PLAYING);
  const Sample sample = pipeline.pull ();
  const auto *const roi =
      gst_buffer_get_video_region_of_interest_meta_id (gst_sample_get_buffer (sample.get ()), 1);
  fail_unless (roi && roi->x == 105 && roi->y == 58 && roi->w == 15 && roi->h == 50, "%u,%u %ux%u",
               roi ? roi->x : 0, roi ? roi->y : 0, roi ? roi->w : 0, roi ? roi->h : 0);
  for (const auto &[converter, part] :
       { std::pair ("nvvideoconvert flip-method=2", "turns the picture"),
         std::pair ("nvvideoconvert src-crop=16:16:128:96", "crops the picture"),
         std::pair ("nvvideoconvert dest-crop=0:0:88:72", "crops the picture") }) {
    g_autoptr (GstElement) refusing = gst_parse_launch (line (converter).c_str (), nullptr);
    g_autoptr (GstBus) bus = gst_element_get_bus (refusing);
    gst_element_set_state (refusing, GST_STATE_PAUSED);
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, 5 * GST_SECOND, GST_MESSAGE_ERROR);
    fail_unless (message, "%s is not refused", converter);
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    expect_parts (error->message, { part });
    gst_element_set_state (refusing, GST_STATE_NULL);
  }
}

// what is copied

#if HAVE_CUPTI
namespace {

/// Counts the bytes that the process copies from a GPU to the host, by CUPTI's records.
class CopiedToHost {
public:
  static CopiedToHost *get ()
  {
    static CopiedToHost all;
    return all.works_ ? &all : nullptr;
  }
  guint64 bytes ()
  {
    flush_ (1);
    return bytes_;
  }

private:
  CopiedToHost ()
  {
    void *library = nullptr;
    for (const char *name : { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                              "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" })
      if (!library)
        library = dlopen (name, RTLD_NOW);
    if (!library)
      return;
    const auto find = [library] (auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype (function)>> (dlsym (library, name));
      return function != nullptr;
    };
    decltype (&cuptiActivityEnable) enable;
    decltype (&cuptiActivityRegisterCallbacks) take_callbacks;
    works_ = find (enable, "cuptiActivityEnable") && find (flush_, "cuptiActivityFlushAll")
             && find (next_, "cuptiActivityGetNextRecord")
             && find (take_callbacks, "cuptiActivityRegisterCallbacks")
             && take_callbacks (give, take) == CUPTI_SUCCESS
             && enable (CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS;
  }
  static void CUPTIAPI give (std::uint8_t **buffer, std::size_t *size, std::size_t *most)
  {
    *size = 1 << 20;
    *buffer = static_cast<std::uint8_t *> (std::aligned_alloc (8, *size));
    *most = 0;
  }
  static void CUPTIAPI take (CUcontext, std::uint32_t, std::uint8_t *buffer, std::size_t,
                             std::size_t valid)
  {
    CUpti_Activity *record = nullptr;
    while (next_ (buffer, valid, &record) == CUPTI_SUCCESS)
      if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        // the first fields are the same in all versions of the record
        const auto *const copy = reinterpret_cast<const CUpti_ActivityMemcpy5 *> (record);
        if (copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
          bytes_ += copy->bytes;
      }
    std::free (buffer);
  }

  bool works_ = false;
  static inline decltype (&cuptiActivityFlushAll) flush_ = nullptr;
  static inline decltype (&cuptiActivityGetNextRecord) next_ = nullptr;
  static inline std::atomic<guint64> bytes_ = 0;
};

}  // namespace

TEST (no_pixel_is_copied_to_the_host)
{
  if (!have_nvmm ("copies of NVMM"))
    return;
  CopiedToHost *const copied = CopiedToHost::get ();
  if (!copied) {
    printf ("SKIP: copies of NVMM: no libcupti.so: set LD_LIBRARY_PATH to the CUDA toolkit's "
            "extras/CUPTI/lib64\n");
    return;
  }
  const auto copied_by = [&] (const std::string &rest) {
    const guint64 before = copied->bytes ();
    const Output output = output_of (parsed () + rest);
    return double (copied->bytes () - before) / double (kFrames);
  };
  constexpr double kFrameBytes = 352 * 288 * 1.5;
  const double downloaded = copied_by ("nvh264dec ! cudadownload ! video/x-raw ! fakesink"),
               decoder = copied_by ("nvv4l2decoder ! fakesink");
  fail_unless (downloaded > kFrameBytes / 2, "%.0f bytes a frame of a download", downloaded);
  fail_unless (decoder < 1, "%.0f bytes a frame of the decoder", decoder);
  const std::string tracker = std::string ("cudatrackfeatures ! integralhisttrack name=e ")
                              + kTarget + "! integralhistoverlay ! fakesink";
  const double histogram =
                   copied_by ("nvv4l2decoder ! cudaintegralhist download=never name=e ! fakesink"),
               tracked = copied_by ("nvv4l2decoder ! " + tracker),
               // which reads pixels on the GPU alone, and copies the answers of its queries
      in_cuda_memory = copied_by ("nvh264dec ! " + tracker);
  printf ("device to host, bytes a frame: download %.0f, cudaintegralhist %.0f, tracker %.0f, in "
          "CUDA memory %.0f\n",
          downloaded, histogram, tracked, in_cuda_memory);
  fail_unless (histogram < 1, "%.0f bytes a frame of a histogram", histogram);
  fail_unless (tracked < 1.02 * in_cuda_memory && tracked < kFrameBytes / 2,
               "%.0f bytes a frame of the tracker", tracked);
}
#endif

// times

namespace {

/// Returns the frames a second between the first frame and the last that come to a fakesink.
double rate_of (const std::string &line)
{
  struct Times {
    std::atomic<gint64> first = 0, last = 0;
    std::atomic<int> n = 0;
  } times;
  Pipeline pipeline (line + " ! fakesink name=end sync=false");
  g_autoptr (GstElement) end = pipeline.element ("end");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (end, "sink");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [] (GstPad *, GstPadProbeInfo *, gpointer of) {
        auto &its = *static_cast<Times *> (of);
        its.last = g_get_monotonic_time ();
        if (its.n++ == 50)
          its.first = g_get_monotonic_time ();
        return GST_PAD_PROBE_OK;
      },
      &times, nullptr);
  pipeline.set_state (GST_STATE_PLAYING);
  pipeline.wait_for_eos ();
  return double (times.n - 51) * 1e6 / double (times.last - times.first);
}

}  // namespace

/// Frames a second: the best of three turns each.
TEST (as_fast_as_cuda_memory)
{
  if (!have_nvmm ("times of NVMM"))
    return;
  for (const std::string &rest :
       { std::string ("cudaintegralhist"), std::string ("cudaintegralhist compute=on-demand"),
         std::string ("cudatrackfeatures ! integralhisttrack ") + kTarget
             + "! integralhistoverlay" }) {
    double nvmm = 0, cuda = 0;
    for (int turn = 0; turn < 3; turn++) {
      nvmm = std::max (nvmm, rate_of (parsed () + "nvv4l2decoder ! " + rest));
      cuda = std::max (cuda, rate_of (parsed () + "nvh264dec ! " + rest));
    }
    printf ("frames a second: NVMM %.0f, CUDA memory %.0f, ratio %.2f: %s\n", nvmm, cuda,
            nvmm / cuda, rest.c_str ());
    fail_unless (nvmm >= 0.9 * cuda, "%s: %.0f and %.0f frames a second", rest.c_str (), nvmm,
                 cuda);
  }
}

/// With a tee, queues that could take all of a pool's buffers, a sink that keeps its last frame,
/// late questions, flushing seeks, pauses, and ends in the middle. NVIDIA's decoder itself does not
/// start again from READY.
TEST (no_stall_in_10000_frames)
{
  if (!have_nvmm ("stalls of NVMM", { "nvvideoconvert" }))
    return;
  Random random (seed ());
  guint frames = 0, asked = 0;
  while (frames < 10000) {
    const bool converts = random () % 2;
    Pipeline pipeline (
        parsed () + "nvv4l2decoder ! "
        + (converts ? "nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA ! " : "")
        + "tee name=t t. ! queue max-size-buffers=30 ! cudaintegralhist ! queue ! fakesink "
          // which does not wait for a first frame while the other branch has all buffers
          "sync=false async=false t. ! queue max-size-buffers=30 ! cudaintegralhist "
          "compute=on-demand ! "
          "cudatrackfeatures ! integralhisttrack "
        + kTarget + "! appsink name=sink sync=false max-buffers=2 enable-last-sample=false");
    pipeline.set_state (GST_STATE_PLAYING);
    std::deque<GstIntegralHistogram *> late;
    const auto ask = [&] {
      guint32 counts[32];
      g_autoptr (GError) error = nullptr;
      fail_unless (gst_integral_histogram_region (late.front (), 5, 5, 100, 100, counts, &error),
                   "%s", error ? error->message : "");
      guint64 sum = 0;
      for (const guint32 count : counts)
        sum += count;
      fail_unless_equals_uint64 (sum, 10000);
      gst_integral_histogram_unref (late.front ());
      late.pop_front ();
      asked++;
    };
    for (int n = between (random, 400, 1500), since = 0; n > 0; n--, since++) {
      const Sample sample = pipeline.try_pull (10 * GST_SECOND);
      if (!sample) {  // the end of the video, or a stall
        fail_unless (gst_app_sink_is_eos (GST_APP_SINK (pipeline.sink)), "stalled after %u frames",
                     frames);
        fail_unless (pipeline.seek (0));
        continue;
      }
      frames++;
      late.push_back (gst_integral_histogram_ref (meta_of (sample)->histogram));
      if (late.size () > 25)
        ask ();
      if (random () % 100 == 0)
        fail_unless (pipeline.seek (random () % 15 * GST_SECOND));
      if (random () % 300 == 0)
        pipeline.set_state (GST_STATE_PAUSED), pipeline.set_state (GST_STATE_PLAYING);
    }
    while (!late.empty ())
      ask ();
  }
  printf ("%u frames, %u late questions\n", frames, asked);
}
