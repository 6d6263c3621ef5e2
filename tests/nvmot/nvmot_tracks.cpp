// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library for nvtracker gives the tracks of integralhisttrack behind cudatrackfeatures, for the
// same pixels and detections, in both layouts, and whatever other streams are in the batch.
//
//   INTHIST_TEST_DATA=folder  where vtest.avi and vtest_groundtruth_mot.txt are
#include <fstream>
#include <sstream>

#include <gst/app/gstappsink.h>

#include "pipelines.hpp"
#include "scene.hpp"

#include "../elements/tracking.hpp"
#include "test.hpp"  // last: it has macros with names of the standard library

using namespace nvtracker;

namespace {

constexpr GstClockTime kFrameTime = GST_SECOND / 25;

/// A pipeline's tracker.
class Element {
public:
  Element (int width, int height)
      : harness_ ("cudatrackfeatures backend=cpu ! integralhisttrack",
                  "video/x-raw,format=NV12,framerate=25/1,colorimetry=bt601,width="
                      + std::to_string (width) + ",height=" + std::to_string (height))
  {
  }

  std::vector<Seen> track (const FrameIn &frame)
  {
    const Nv12Picture &picture = *frame.picture;
    GstBuffer *const buffer = gst_buffer_new_memdup (picture.bytes.data (), picture.bytes.size ());
    GST_BUFFER_PTS (buffer) = frame.time;
    for (const Object &object : frame.objects)
      add_detection (buffer, std::to_string (object.class_id).c_str (),
                     { int (object.x), int (object.y), int (object.width), int (object.height) },
                     double (object.confidence));
    harness_.pass (buffer);
    g_autoptr (GstMessage) message = harness_.message ();
    auto tracks = message ? tracks_of (gst_message_get_structure (message)) : std::vector<Seen> ();
    std::erase_if (tracks, [] (const Seen &track) { return track.lost; });
    return tracks;
  }

private:
  Harness harness_;
};

/// Compares the tracks of a stream, frame by frame.
struct Comparison {
  std::map<guint, guint64> ids;  // the library's, by the element's
  int n_equal = 0, n_tentative = 0, n_undetected = 0;

  void add (const std::vector<Seen> &wanted, std::vector<TrackOut> got, int frame)
  {
    for (const Seen &track : wanted) {
      const auto same = std::ranges::find_if (got, [&] (const TrackOut &other) {
        return other.x == float (track.box.x) && other.y == float (track.box.y)
               && other.width == float (track.box.width) && other.height == float (track.box.height)
               && other.confidence == float (track.confidence)
               && (!ids.contains (track.id) || ids[track.id] == other.id);
      });
      fail_unless (same != got.end (), "frame %d: no track %u at %s", frame, track.id,
                   text_of (track.box).c_str ());
      ids[track.id] = same->id;
      n_equal++;
      n_undetected += same->object < 0;
      got.erase (same);
    }
    for (const TrackOut &track : got) {
      fail_unless (track.object >= 0, "frame %d: a track that the element does not have", frame);
      for (const auto &[id, known] : ids)
        fail_unless (known != track.id, "frame %d: the element has lost target %u", frame, id);
      n_tentative++;
    }
  }
};

/// Clears the high half of ids, which is the stream's.
std::vector<TrackOut> low_ids (std::vector<TrackOut> tracks)
{
  for (TrackOut &track : tracks)
    track.id &= G_MAXUINT32;
  return tracks;
}

}  // namespace

/// Drawn targets in two layouts, with two streams in each batch.
TEST_EACH (synthetic, 2)
{
  const int n = std::max (kSlowed ? 20 : 60, repeats (300));
  const ContextSetup setup = { .layout = __i__ ? Layout::r91 : Layout::r80,
                               .path = cpu_options () };
  const MovingScene scenes[] = { { 320, 240, 6, 1 }, { 320, 240, 9, 50 } };
  Element elements[] = { { 320, 240 }, { 320, 240 } };
  Comparison compared[2];
  Nvtracker library (setup);
  std::mt19937 random (seed ());
  for (int f = 0; f < n; f++) {
    std::vector<Nv12Picture> pictures;
    for (const MovingScene &scene : scenes)
      pictures.push_back (scene.picture (f));
    std::vector<FrameIn> frames;
    for (int s = 0; s < 2; s++)
      frames.push_back ({ guint64 (s) << 32, guint32 (f), &pictures[std::size_t (s)],
                          scenes[s].detections (f, f < n / 2 ? 1 : 4, random),
                          __i__ ? GstClockTime (f) * kFrameTime : GST_CLOCK_TIME_NONE });
    auto tracks = library.process (frames);
    expect_none (library.complaint ());
    for (int s = 0; s < 2; s++)
      compared[s].add (elements[s].track (frames[std::size_t (s)]), tracks[guint64 (s) << 32], f);
  }
  for (const Comparison &of : compared) {
    printf ("%d equal, of which %d without a detection; %d tentative\n", of.n_equal,
            of.n_undetected, of.n_tentative);
    fail_unless (of.n_equal > 3 * n && of.n_undetected > n && of.n_tentative > 0);
  }
}

/// People of a street, with the boxes of the ground truth, some of which are missing.
TEST (people)
{
  const char *const folder = g_getenv ("INTHIST_TEST_DATA");
  const std::string data = folder ? folder : SOURCE_ROOT "/../shared/data",
                    video = data + "/vtest.avi";
  std::ifstream truth (data + "/vtest_groundtruth_mot.txt");
  if (!truth || !g_file_test (video.c_str (), G_FILE_TEST_EXISTS)) {
    printf ("SKIP: people: no %s with its truth; set INTHIST_TEST_DATA to a folder with both\n",
            video.c_str ());
    return;
  }
  std::map<int, std::vector<Object>> boxes;
  std::mt19937 random (seed ());
  for (std::string line; std::getline (truth, line);) {
    std::ranges::replace (line, ',', ' ');
    std::istringstream numbers (line);
    int frame, id;
    double x, y, w, h;
    numbers >> frame >> id >> x >> y >> w >> h;
    if (random () % 8 > 0)
      boxes[frame - 1].push_back ({ std::round (float (std::max (x, 0.0))),
                                    std::round (float (std::max (y, 0.0))), std::round (float (w)),
                                    std::round (float (h)), 0,
                                    0.5f + float (random () % 50) / 100 });
  }
  Pipeline pipeline ("filesrc location=" + video
                     + " ! decodebin ! videoconvert ! "
                       "video/x-raw,format=NV12,width=768,height=576,colorimetry=bt601 ! "
                       "appsink name=sink sync=false");
  pipeline.set_state (GST_STATE_PLAYING);
  Element element (768, 576);
  Nvtracker library ({ .max_streams = 1, .width = 768, .height = 576, .path = cpu_options () });
  Comparison compared;
  const int n = std::max (20, repeats (400));
  for (int f = 0; f < n; f++) {
    const Sample sample = pipeline.pull ();
    Nv12Picture picture (768, 576);
    fail_unless (gst_buffer_extract (gst_sample_get_buffer (sample.get ()), 0,
                                     picture.bytes.data (), picture.bytes.size ())
                 == picture.bytes.size ());
    // a detector of every frame, and then of every fifth
    const bool looks = f < n / 2 || f % 5 == 0;
    const FrameIn frame = { 7, guint32 (f), &picture, looks ? boxes[f] : std::vector<Object> (),
                            GstClockTime (f) * kFrameTime };
    const auto tracks = library.process (frame);
    expect_none (library.complaint ());
    compared.add (element.track (frame), tracks, f);
  }
  printf ("%d equal, of which %d without a detection; %d tentative; %zu ids\n", compared.n_equal,
          compared.n_undetected, compared.n_tentative, compared.ids.size ());
  fail_unless (compared.n_equal > n && compared.n_undetected > n / 4);
}

/// The tracks of a stream are the same with and without other streams in its batch, and other
/// contexts.
TEST (streams_alone)
{
  const int n = std::max (kSlowed ? 8 : 15, repeats (60));
  constexpr int kStreams = 4;
  std::vector<std::vector<TrackOut>> alone[kStreams];
  const auto scene = [] (int s) { return MovingScene (160, 120, 4 + s, 10 * unsigned (s) + 1); };
  const auto frame_of = [&] (int s, int f, const Nv12Picture &picture) {
    std::mt19937 random (unsigned (s * 1000 + f));
    return FrameIn{ guint64 (s), guint32 (f), &picture, scene (s).detections (f, 2, random) };
  };
  const ContextSetup setup = { .width = 160, .height = 120, .path = cpu_options () };
  std::string complaints[kStreams];
  {
    std::vector<std::thread> threads;  // contexts at the same time
    for (int s = 0; s < kStreams; s++)
      threads.emplace_back ([&, s] {
        Nvtracker library (setup);
        for (int f = 0; f < n; f++) {
          const Nv12Picture picture = scene (s).picture (f);
          alone[s].push_back (low_ids (library.process (frame_of (s, f, picture))));
        }
        complaints[s] = library.complaint ();
      });
    for (std::thread &thread : threads)
      thread.join ();
  }
  for (const std::string &complaint : complaints)
    expect_none (complaint);
  Nvtracker library (setup);
  for (int f = 0; f < n; f++) {
    std::vector<Nv12Picture> pictures;
    for (int s = 0; s < kStreams; s++)
      pictures.push_back (scene (s).picture (f));
    std::vector<FrameIn> frames;
    for (int s = 0; s < kStreams; s++)
      frames.push_back (frame_of (s, f, pictures[std::size_t (s)]));
    auto tracks = library.process (frames);
    expect_none (library.complaint ());
    for (int s = 0; s < kStreams; s++)
      fail_unless (low_ids (tracks[guint64 (s)]) == alone[s][std::size_t (f)],
                   "frame %d of stream %d", f, s);
  }
}

namespace {

/// Compares the tracks of a GPU with those of the CPU.
void compare_gpu (bool by_nvidia)
{
  const int n = std::max (20, repeats (200));
  const OptionsFile options ("[integralhisttrack]\nbackend=cuda\n");
  const MovingScene scene (640, 360, 20, 1);
  const ContextSetup on_cpu = { .width = 640, .height = 360, .path = cpu_options () }, on_gpu = {
    .width = 640, .height = 360, .path = options.path, .on_gpu = true, .by_nvidia = by_nvidia
  };
  Nvtracker cpu (on_cpu), gpu (on_gpu);
  std::mt19937 random (seed ());
  std::size_t n_tracks = 0;
  for (int f = 0; f < n; f++) {
    const Nv12Picture picture = scene.picture (f);
    const FrameIn frame = { 1, guint32 (f), &picture, scene.detections (f, 3, random),
                            GstClockTime (f) * kFrameTime };
    const auto wanted = low_ids (cpu.process (frame));
    fail_unless (low_ids (gpu.process (frame)) == wanted, "frame %d", f);
    expect_none (cpu.complaint () + gpu.complaint ());
    n_tracks += wanted.size ();
  }
  printf ("%zu tracks\n", n_tracks);
  fail_unless (n_tracks > 10 * std::size_t (n));
}

}  // namespace

TEST (gpu)
{
  if (Driver::get ())
    compare_gpu (false);
  else
    printf ("SKIP: gpu: there is no GPU\n");
}

/// Frames that NVIDIA's library scales to equal size, which does not change the pixels of NV12.
TEST (surfaces_of_nvidia)
{
  if (NvidiaSurfaces::get ())
    compare_gpu (true);
  else
    printf ("SKIP: surfaces of NVIDIA: no GPU, or no libnvbufsurface.so and "
            "libnvbufsurftransform.so: tests/gpu/nvmm.sh has them\n");
}
