// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Objects of NVIDIA's DeepStream are detections: targets are where regions of interest with the
// same boxes put them. The test makes the metas by their offsets, and also with NVIDIA's own
// library if INTHIST_DEEPSTREAM_LIBS names the folder with libnvds_meta.so and libnvdsgst_meta.so.
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "walk.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

namespace {

constexpr gsize kFrameOffset = 96, kObjectsOffset = 104, kClass = 52, kConfidence = 96, kBox = 104;

template <class Value>
void set (guint8 *at, gsize offset, const Value &value)
{
  std::memcpy (at + offset, &value, sizeof value);
}

void fill_object (guint8 *object, const Found &found)
{
  set (object, kClass, gint32 (7));
  set (object, kConfidence, float (found.confidence < 0 ? -0.1 : found.confidence));
  set (object, kBox, float (found.box.x));
  set (object, kBox + 4, float (found.box.y));
  set (object, kBox + 8, float (found.box.width));
  set (object, kBox + 12, float (found.box.height));
}

/// The structs of a batch with one frame, as DeepStream 9.0 has them.
struct Batch {
  std::vector<guint8> batch, frame;
  std::deque<std::vector<guint8>> objects;
  GList *frames = nullptr, *list = nullptr;

  explicit Batch (const std::vector<Found> &all) : batch (192), frame (232)
  {
    for (const Found &found : all) {
      auto &object = objects.emplace_back (552);
      set (object.data (), 0, batch.data ());
      fill_object (object.data (), found);
      list = g_list_append (list, object.data ());
    }
    set (frame.data (), 0, batch.data ());
    set (frame.data (), kObjectsOffset, list);
    frames = g_list_append (frames, frame.data ());
    set (batch.data (), 0, batch.data ());
    set (batch.data (), 44, guint32 (1));
    set (batch.data (), kFrameOffset, frames);
    g_rec_mutex_init (reinterpret_cast<GRecMutex *> (batch.data () + 112));
  }
  ~Batch ()
  {
    g_rec_mutex_clear (reinterpret_cast<GRecMutex *> (batch.data () + 112));
    g_list_free (frames);
    g_list_free (list);
  }
  Batch (const Batch &) = delete;
};

struct HolderMeta {
  GstMeta meta;
  gpointer data, user_data;
  gint32 type;
  gpointer functions[4];
};

void attach (GstBuffer *buffer, gpointer batch, gint32 type = 4097)
{
  static const GstMetaInfo *const info = [] {
    static const gchar *tags[] = { nullptr };
    const auto init = [] (GstMeta *, gpointer, GstBuffer *) -> gboolean { return TRUE; };
    return gst_meta_register (gst_meta_api_type_register ("NvDsMetaAPI", tags), "NvDsMeta",
                              sizeof (HolderMeta), init, nullptr, nullptr);
  }();
  auto *const holder = reinterpret_cast<HolderMeta *> (gst_buffer_add_meta (buffer, info, nullptr));
  holder->data = batch;
  holder->type = type;
}

/// Follows what a detector finds in each third frame, `attach` by attach.
std::vector<std::vector<Seen>>
follow (const std::function<void (GstBuffer *, const std::vector<Found> &)> &attach)
{
  const Scene scene (240, 160);
  Tracking tracking (scene, "");
  std::vector<std::vector<Seen>> all;
  for (int frame = 0; frame < 20; frame++) {
    const Place places[] = { way (frame), { kOther.x, kOther.y + frame, 30, 40 } };
    auto picture = scene.background ();
    std::vector<Found> found;
    for (unsigned i = 0; i < 2; i++) {
      scene.draw (picture, places[i], 7 + i);
      if (frame % 3 == 0)
        found.push_back ({ places[i], "7", i == 0 ? 0.9 : kNone });
    }
    all.push_back (tracking.follow (picture, [&] (GstBuffer *buffer) { attach (buffer, found); }));
    for (Seen &seen : all.back ())
      seen.parent = 0;  // counts metas of one kind
  }
  fail_unless (all.back ().size () == 2 && !all.back ()[0].lost);
  return all;
}

std::vector<std::vector<Seen>> follow_regions ()
{
  return follow (
      [] (GstBuffer *buffer, const std::vector<Found> &found) { detected (found) (buffer); });
}

}  // namespace

TEST (as_regions_of_interest)
{
  std::deque<Batch> batches;
  const auto tracks = follow ([&] (GstBuffer *buffer, const std::vector<Found> &found) {
    attach (buffer, batches.emplace_back (found).batch.data ());
  });
  fail_unless (tracks == follow_regions ());
}

/// A meta that is not the batch of one frame has no detections, and is read no further.
TEST (others_are_left_alone)
{
  const Found found = { kFirst };
  const Scene scene (240, 160);
  const auto tracks_of = [&] (const std::function<void (GstBuffer *)> &prepare) {
    Tracking tracking (scene, "");
    return tracking.follow (scene.with (kFirst), prepare).size ();
  };
  Batch batch ({ found }), two ({ found }), none ({ found }), foreign ({ found }), odd ({ found }),
      strange ({ found }), nameless ({ found });
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, batch.batch.data ()); }),
                             1);
  fail_unless_equals_uint64 (
      tracks_of ([&] (GstBuffer *b) { attach (b, batch.batch.data (), 4098); }), 0);
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, nullptr); }), 0);
  set (two.batch.data (), 44, guint32 (2));
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, two.batch.data ()); }), 0);
  set (none.batch.data (), kFrameOffset, nullptr);
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, none.batch.data ()); }), 0);
  set (foreign.frame.data (), 0, two.batch.data ());  // another layout
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, foreign.batch.data ()); }),
                             0);
  set (odd.objects[0].data (), kBox, std::nanf (""));
  set (odd.objects[0].data (), kConfidence, std::nanf (""));
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, odd.batch.data ()); }), 0);
  set (strange.objects[0].data (), 0, two.batch.data ());
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, strange.batch.data ()); }),
                             0);
  nameless.batch[0]++;
  fail_unless_equals_uint64 (tracks_of ([&] (GstBuffer *b) { attach (b, nameless.batch.data ()); }),
                             0);
}

TEST (of_nvidias_library)
{
  const char *const folder = g_getenv ("INTHIST_DEEPSTREAM_LIBS");
  if (!folder) {
    printf ("SKIP: objects of NVIDIA's library: set INTHIST_DEEPSTREAM_LIBS to its folder\n");
    return;
  }
  void *library = nullptr;
  for (const char *name : { "/libnvds_meta.so", "/libnvdsgst_meta.so" }) {
    library = dlopen ((std::string (folder) + name).c_str (), RTLD_NOW | RTLD_GLOBAL);
    fail_unless (library, "%s", dlerror ());
  }
  const auto find = [] (const char *name) {
    void *const function = dlsym (RTLD_DEFAULT, name);
    fail_unless (function, "%s", name);
    return function;
  };
  const auto create = reinterpret_cast<gpointer (*) (guint)> (find ("nvds_create_batch_meta"));
  const auto take_frame =
      reinterpret_cast<guint8 *(*) (gpointer)> (find ("nvds_acquire_frame_meta_from_pool"));
  const auto add_frame =
      reinterpret_cast<void (*) (gpointer, gpointer)> (find ("nvds_add_frame_meta_to_batch"));
  const auto take_object =
      reinterpret_cast<guint8 *(*) (gpointer)> (find ("nvds_acquire_obj_meta_from_pool"));
  const auto add_object = reinterpret_cast<void (*) (gpointer, gpointer, gpointer)> (
      find ("nvds_add_obj_meta_to_frame"));
  const auto add_meta =
      reinterpret_cast<HolderMeta *(*) (GstBuffer *, gpointer, gpointer, gpointer, gpointer)> (
          find ("gst_buffer_add_nvds_meta"));
  auto tracks = follow ([&] (GstBuffer *buffer, const std::vector<Found> &found) {
    const gpointer batch = create (1);
    guint8 *const frame = take_frame (batch);
    for (const Found &one : found) {
      guint8 *const object = take_object (batch);
      fill_object (object, one);
      add_object (frame, object, nullptr);
    }
    add_frame (batch, frame);
    add_meta (buffer, batch, nullptr, find ("nvds_batch_meta_copy_func"),
              find ("nvds_batch_meta_release_func"))
        ->type = 4097;
  });
  // its list has the last object first
  for (auto &of_frame : tracks)
    std::ranges::sort (of_frame, {}, [] (const Seen &seen) { return seen.box.x; });
  auto wanted = follow_regions ();
  fail_unless_equals_uint64 (tracks.size (), wanted.size ());
  for (std::size_t i = 0; i < wanted.size (); i++) {
    std::ranges::sort (wanted[i], {}, [] (const Seen &seen) { return seen.box.x; });
    fail_unless_equals_uint64 (tracks[i].size (), wanted[i].size ());
    for (std::size_t t = 0; t < wanted[i].size (); t++)
      fail_unless (tracks[i][t].box == wanted[i][t].box);
  }
}
