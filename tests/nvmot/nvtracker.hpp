// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stand-in for nvtracker of NVIDIA DeepStream, which loads the tracker library and calls it in
// the same order, from as many threads, with memory as dirty: structs that were never cleared,
// surfaces that are overwritten after each call, and objects that arrive at the same places each
// time.
//
// Offsets are written out here, so that a wrong one in the library is noticed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <gst/gst.h>

#include "nvidia_surfaces.hpp"

namespace nvtracker {

using Status = int;
constexpr Status kOk = 0, kError = 1, kInvalidPath = 2;

/// Memory like nvtracker's: of the exact size, and never cleared.
class Bytes {
public:
  explicit Bytes (std::size_t n, int fill = 0xAA)
      : bytes_ (static_cast<guint8 *> (malloc (n))), n_ (n)
  {
    memset (bytes_.get (), fill, n);
  }
  template <class T>
  void put (std::size_t offset, T value)
  {
    memcpy (bytes_.get () + offset, &value, sizeof value);
  }
  template <class T>
  T get (std::size_t offset) const
  {
    T value;
    memcpy (&value, bytes_.get () + offset, sizeof value);
    return value;
  }
  guint8 *data () const { return bytes_.get (); }
  std::size_t size () const { return n_; }

private:
  struct Free {
    void operator() (guint8 *bytes) const { free (bytes); }
  };
  std::unique_ptr<guint8, Free> bytes_;
  std::size_t n_;
};

/// The functions of the library.
struct Library {
  Status (*init) (void *config, void **handle, void *response);
  void (*de_init) (void *handle);
  Status (*query) (guint16 length, char *path, void *query);
  Status (*process) (void *handle, void *params, void *output);
  Status (*remove_streams) (void *handle, guint64 stream);
  Status (*update_params) (void *handle, const std::string &text);

  static const Library &get ()
  {
    static const Library library = [] {
      const char *const elsewhere = g_getenv ("INTHIST_NVMOT");
      void *const file = dlopen (elsewhere ? elsewhere : NVMOT_LIBRARY, RTLD_NOW | RTLD_NODELETE);
      if (!file)
        g_error ("%s", dlerror ());
      Library made = {};
      const auto find = [file]<class F> (F &function, const char *name) {
        function = reinterpret_cast<F> (dlsym (file, name));
        if (!function)
          g_error ("no %s", name);
      };
      find (made.init, "NvMOT_Init");
      find (made.de_init, "NvMOT_DeInit");
      find (made.query, "NvMOT_Query");
      find (made.process, "NvMOT_Process");
      find (made.remove_streams, "NvMOT_RemoveStreams");
      find (made.update_params, "NvMOT_UpdateParams");
      return made;
    }();
    return library;
  }
};

/// A thread that makes calls, one after another.
class Worker {
public:
  Worker () : thread_ ([this] { run (); }) {}
  ~Worker ()
  {
    call (nullptr);
    thread_.join ();
  }
  /// Returns once the thread has made the call; nullptr ends it.
  void call (std::function<void ()> body)
  {
    std::unique_lock lock (mutex_);
    body_ = std::move (body);
    has_body_ = true;
    changed_.notify_all ();
    changed_.wait (lock, [this] { return !has_body_; });
  }

private:
  void run ()
  {
    for (bool goes_on = true; goes_on;) {
      std::unique_lock lock (mutex_);
      changed_.wait (lock, [this] { return has_body_; });
      goes_on = body_ != nullptr;
      if (goes_on)
        body_ ();
      has_body_ = false;
      changed_.notify_all ();
    }
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::function<void ()> body_;
  bool has_body_ = false;
  std::thread thread_;
};

inline void in_thread (const std::function<void ()> &body)
{
  std::thread (body).join ();
}

/// An NV12 picture without gaps.
struct Nv12Picture {
  int width, height;  // even
  std::vector<guint8> bytes;

  Nv12Picture (int w, int h) : width (w), height (h), bytes (std::size_t (w) * h * 3 / 2) {}
  guint8 *luma (int x, int y) { return &bytes[std::size_t (y) * width + x]; }
  guint8 *chroma (int x, int y) { return &bytes[std::size_t (height + y / 2) * width + x / 2 * 2]; }
};

struct Object {
  float x, y, width, height;
  guint16 class_id = 0;
  float confidence = 0.9f;
};

struct FrameIn {
  guint64 stream;
  guint32 number;
  const Nv12Picture *picture;
  std::vector<Object> objects = {};
  GstClockTime time = GST_CLOCK_TIME_NONE;
};

struct TrackOut {
  guint64 id;
  float x, y, width, height, confidence;
  guint16 class_id;
  guint32 age;
  int object;  // index in the frame's; -1 for none
  bool operator== (const TrackOut &) const = default;
};

/// Bytes of a frame: 104 in 9.1, 72 before.
enum class Layout { r80 = 72, r91 = 104 };

struct ContextSetup {
  Layout layout = Layout::r91;
  int max_streams = 4;
  int width = 320, height = 240;  // tracker-width and tracker-height
  std::string path = {};          // ll-config-file
  bool on_gpu = false;            // where surfaces lie
  bool by_nvidia = false;         // surfaces of NVIDIA's library, on the GPU
};

/// A file of options, as long as it lives.
class OptionsFile {
public:
  explicit OptionsFile (const std::string &text)
  {
    g_autofree char *name = nullptr;
    const int file = g_file_open_tmp ("nvmot-XXXXXX.txt", &name, nullptr);
    close (file);
    path = name;
    g_file_set_contents (name, text.data (), gssize (text.size ()), nullptr);
  }
  ~OptionsFile () { g_unlink (path.c_str ()); }
  OptionsFile (const OptionsFile &) = delete;
  OptionsFile &operator= (const OptionsFile &) = delete;

  std::string path;
};

/// The options of nearly all tests: hosts with a GPU compute on the CPU, too.
inline std::string cpu_options ()
{
  static const OptionsFile file ("[integralhisttrack]\nbackend=cpu\n");
  return file.path;
}

/// The element nvtracker, with one context.
class Nvtracker {
public:
  explicit Nvtracker (const ContextSetup &setup) : setup_ (setup) { start (); }
  ~Nvtracker ()
  {
    if (handle_)
      in_thread ([this] { Library::get ().de_init (handle_); });
  }
  Nvtracker (const Nvtracker &) = delete;
  Nvtracker &operator= (const Nvtracker &) = delete;

  /// Inits again, and forgets the context of before, as a second start does. Returns the old
  /// context.
  void *restart ()
  {
    void *const before = handle_;
    memory_.reset ();
    start ();
    return before;
  }

  /// Says what was wrong so far, or nothing.
  const std::string &complaint () const { return complaint_; }
  bool has_context () const { return handle_; }
  void *handle () const { return handle_; }
  Status init_status () const { return init_status_; }
  int summary () const { return summary_; }
  guint32 max_targets () const { return max_targets_; }

  /// Tracks in the frames of a batch, each of another stream. Returns the tracks by stream.
  std::map<guint64, std::vector<TrackOut>> process (std::vector<FrameIn> frames)
  {
    std::ranges::sort (frames, {}, &FrameIn::stream);
    fill (frames);
    Memory &m = *memory_;
    const std::size_t set = n_batches_++ % 2;
    m.params.put (0, guint32 (frames.size ()));
    m.params.put (8, m.frames.data ());
    m.batch.put (0, m.lists.data ());
    m.batch.put (8, guint32 (frames.size ()));
    m.batch.put (12, guint32 (frames.size ()));
    const std::vector<guint8> rest = rest_of_outputs ();
    Status status = -1;
    worker_.call ([&] {
      const auto begin = std::chrono::steady_clock::now ();
      status = Library::get ().process (handle_, m.params.data (), m.batch.data ());
      seconds_ = std::chrono::steady_clock::now () - begin;
    });
    for (Bytes &surface : m.surfaces[set])
      memset (surface.data (), 0x5A, surface.size ());
    for (DeviceMemory &surface : m.on_gpu[set])
      surface.fill (0x5A);
    for (NvidiaSurface &surface : m.by_nvidia[set])
      surface.fill (0x5A);
    expect (status == kOk, "Process returns %d", status);
    expect (m.batch.get<guint32> (12) == frames.size (), "the batch has another size");
    expect (rest == rest_of_outputs (), "outputs that were not promised are written");
    std::map<guint64, std::vector<TrackOut>> tracks;
    if (status == kOk)
      for (std::size_t i = 0; i < frames.size (); i++)
        tracks[frames[i].stream] = read (i, frames[i]);
    return tracks;
  }

  /// Returns how long the last Process took.
  double process_seconds () const { return seconds_.count (); }
  /// Tracks in a batch of one frame.
  std::vector<TrackOut> process (const FrameIn &frame)
  {
    return process (std::vector<FrameIn>{ frame })[frame.stream];
  }

  void remove (guint64 stream)
  {
    Status status = -1;
    worker_.call ([&] { status = Library::get ().remove_streams (handle_, stream); });
    expect (status == kOk, "RemoveStreams returns %d", status);
    removed_.insert (stream);
  }
  Status update (const std::string &text)
  {
    Status status = -1;
    worker_.call ([&] { status = Library::get ().update_params (handle_, text); });
    return status;
  }

private:
  static constexpr std::size_t kObject = 40, kList = 32, kOutput = 376, kSurface = 416;

  struct Memory {
    Memory (const ContextSetup &setup, guint32 max_targets)
        : frames (std::size_t (setup.layout) * setup.max_streams), lists (kList * setup.max_streams)
    {
      const std::size_t pitch = pitch_of (setup),
                        rows = std::size_t (setup.height + setup.height % 2) * 3 / 2;
      for (int i = 0; i < setup.max_streams; i++) {
        objects.emplace_back (kObject * max_targets);
        outputs.emplace_back (kOutput * max_targets);
        for (guint32 t = 0; t < max_targets; t++) {  // the size of a mask
          outputs.back ().put (t * kOutput + 120, guint32 (0));
          outputs.back ().put (t * kOutput + 124, guint32 (0));
        }
        pointers.emplace_back (sizeof (void *));
        for (auto &set : surfaces)
          set.emplace_back (pitch * rows);
        for (auto &set : on_gpu)
          if (setup.on_gpu && !setup.by_nvidia)
            set.emplace_back (pitch * rows);
        for (auto &set : by_nvidia)
          if (setup.by_nvidia)
            set.emplace_back (setup.width, setup.height);
        if (setup.by_nvidia)
          muxed.emplace_back (setup.width, setup.height);
        for (auto &set : surface_params)
          set.emplace_back (kSurface);
      }
    }
    static std::size_t pitch_of (const ContextSetup &setup)
    {
      return (std::size_t (setup.width) + 511) / 512 * 512;
    }

    Bytes frames, lists;
    Bytes params{ 16 }, batch{ 24 };
    std::vector<Bytes> objects, outputs, pointers;
    std::vector<Bytes> surfaces[2], surface_params[2];
    std::vector<DeviceMemory> on_gpu[2];
    std::vector<NvidiaSurface> by_nvidia[2], muxed;  // the muxer's frames are scaled to the others
  };

  template <class... Args>
  void expect (bool is_so, const char *format, Args... args)
  {
    if (is_so || !complaint_.empty ())
      return;
    g_autofree char *text = g_strdup_printf (format, args...);
    complaint_ = "batch " + std::to_string (n_batches_) + ": " + text;
  }

  void start ()
  {
    handle_ = nullptr;
    Bytes config (40), response (20);
    auto transforms = std::make_unique<Bytes> (20);
    transforms->put (0, guint32 (0));
    transforms->put (4, guint32 (setup_.width));
    transforms->put (8, guint32 (setup_.height));
    transforms->put (12, guint32 (setup_.width * 8));
    auto path = std::make_unique<Bytes> (setup_.path.size () + 1);
    memcpy (path->data (), setup_.path.c_str (), path->size ());
    config.put (4, guint32 (setup_.max_streams));
    config.put (8, guint32 (4 * setup_.max_streams));
    config.put (16, transforms->data ());
    config.put (24, guint32 (0));
    config.put (28, guint16 (setup_.path.size ()));
    config.put (32, path->data ());
    in_thread (
        [&] { init_status_ = Library::get ().init (config.data (), &handle_, response.data ()); });
    summary_ = response.get<gint32> (0);
    for (int i = 0; i < 5; i++)
      expect (response.get<guint32> (std::size_t (i) * 4) <= 3,
              "a part of the response is not set");
    if (!handle_)
      return;
    Bytes query (64, 0);
    query.put (56, handle_);
    const Status status = Library::get ().query (
        guint16 (setup_.path.size ()), reinterpret_cast<char *> (path->data ()), query.data ());
    expect (status == kOk, "Query returns %d", status);
    expect (query.get<gint32> (8) == (setup_.on_gpu ? 2 : 1), "another memory is wanted");
    max_targets_ = query.get<guint32> (12);
    path.reset ();
    transforms.reset ();
    memory_.emplace (setup_, max_targets_);
  }

  /// Writes the frames of a batch to the memory of the last batch.
  void fill (const std::vector<FrameIn> &frames)
  {
    Memory &m = *memory_;
    const std::size_t set = n_batches_ % 2;
    for (std::size_t i = 0; i < frames.size (); i++) {
      const FrameIn &frame = frames[i];
      write_surface (m.surfaces[set][i], m.surface_params[set][i], *frame.picture);
      if (setup_.by_nvidia) {
        m.muxed[i].upload (frame.picture->bytes.data ());
        m.by_nvidia[set][i].scale_from (m.muxed[i]);
      } else if (setup_.on_gpu) {
        m.on_gpu[set][i].upload (m.surfaces[set][i].data ());
        m.surface_params[set][i].put (40, m.on_gpu[set][i].data ());
      }
      m.pointers[i].put (0, setup_.by_nvidia ? m.by_nvidia[set][i].parameters ()
                                             : m.surface_params[set][i].data ());
      const std::size_t n = std::min<std::size_t> (frame.objects.size (), max_targets_);
      for (std::size_t o = 0; o < n; o++)
        write_object (m.objects[i], o * kObject, frame.objects[o]);
      const std::size_t at = i * std::size_t (setup_.layout);
      m.frames.put (at, frame.stream);
      m.frames.put (at + 8, guint32 (frame.stream >> 32));
      m.frames.put (at + 12, frame.number);
      std::size_t input;
      if (setup_.layout == Layout::r91) {
        m.frames.put (at + 16, frame.number);
        m.frames.put (at + 24, GST_CLOCK_TIME_IS_VALID (frame.time) ? frame.time : 0);
        m.frames.put (at + 32, guint64 (1764381600000000000));
        m.frames.put (at + 40, GST_CLOCK_TIME_IS_VALID (frame.time));
        m.frames.put (at + 48, guint32 (1920));
        m.frames.put (at + 52, guint32 (1080));
        m.frames.put (at + 56, guint8 (1));
        m.frames.put (at + 57, guint8 (0));
        m.frames.put (at + 58, guint8 (1));
        m.frames.put (at + 64, m.pointers[i].data ());
        input = at + 72;
        m.frames.put (at + 96, static_cast<void *> (nullptr));
      } else {
        m.frames.put (at + 16, guint32 (1920));
        m.frames.put (at + 20, guint32 (1080));
        m.frames.put (at + 32, guint8 (0));
        m.frames.put (at + 33, guint8 (1));
        m.frames.put (at + 34, guint8 (0));
        m.frames.put (at + 35, guint8 (1));
        m.frames.put (at + 40, m.pointers[i].data ());
        input = at + 48;
      }
      m.frames.put (input, guint8 (1));
      m.frames.put (input + 8, m.objects[i].data ());
      m.frames.put (input + 16, max_targets_);
      m.frames.put (input + 20, guint32 (n));
      m.lists.put (i * kList, frame.stream);
      m.lists.put (i * kList + 8, frame.number);
      m.lists.put (i * kList + 16, m.outputs[i].data ());
      m.lists.put (i * kList + 24, max_targets_);
    }
  }

  static void write_object (Bytes &objects, std::size_t at, const Object &object)
  {
    objects.put (at, object.class_id);
    objects.put (at + 4, object.x);
    objects.put (at + 8, object.y);
    objects.put (at + 12, object.width);
    objects.put (at + 16, object.height);
    objects.put (at + 20, object.confidence);
    objects.put (at + 24, guint8 (1));
    objects.put (at + 32, static_cast<const void *> (&object));
  }

  void write_surface (Bytes &pixels, Bytes &params, const Nv12Picture &picture) const
  {
    const std::size_t pitch = Memory::pitch_of (setup_), width = std::size_t (setup_.width);
    const std::size_t luma_rows = std::size_t (setup_.height + setup_.height % 2);
    for (int y = 0; y < setup_.height; y++)
      memcpy (pixels.data () + std::size_t (y) * pitch, &picture.bytes[std::size_t (y) * width],
              width);
    for (int y = 0; y < setup_.height / 2; y++)
      memcpy (pixels.data () + (luma_rows + std::size_t (y)) * pitch,
              &picture.bytes[std::size_t (setup_.height + y) * width], width);
    const auto put = [&] (std::size_t at, std::size_t value) { params.put (at, guint32 (value)); };
    put (0, width);
    put (4, std::size_t (setup_.height));
    put (8, pitch);
    put (12, 6);  // NV12
    put (16, 0);  // pitch linear
    put (32, pixels.size ());
    params.put (40, pixels.data ());
    put (48, 2);
    put (52, width);
    put (56, width / 2);
    put (68, std::size_t (setup_.height));
    put (72, std::size_t (setup_.height) / 2);
    put (84, pitch);
    put (88, pitch);
    put (100, 0);
    put (104, pitch * luma_rows);
    put (116, pitch * luma_rows);
    put (120, pitch * luma_rows / 2);
    put (132, 1);
    put (136, 2);
  }

  /// Returns the bytes of all outputs that the library does not promise.
  std::vector<guint8> rest_of_outputs () const
  {
    std::vector<guint8> rest;
    for (const Bytes &outputs : memory_->outputs)
      for (guint32 t = 0; t < max_targets_; t++)
        rest.insert (rest.end (), outputs.data () + t * kOutput + 48,
                     outputs.data () + (t + 1) * kOutput);
    return rest;
  }

  std::vector<TrackOut> read (std::size_t i, const FrameIn &frame)
  {
    const Memory &m = *memory_;
    std::vector<TrackOut> tracks;
    const std::size_t list = i * kList;
    const guint32 n = m.lists.get<guint32> (list + 28);
    expect (n <= max_targets_, "%u tracks, and room for %u", n, max_targets_);
    expect (m.lists.get<guint64> (list) == frame.stream, "another stream");
    expect (m.lists.get<guint32> (list + 8) == frame.number, "another frame");
    expect (m.lists.get<guint8> (list + 12) == 1, "the list is not valid");
    std::set<int> associated;
    std::set<guint64> ids;
    for (guint32 t = 0; t < std::min (n, max_targets_); t++) {
      const auto get = [&]<class T> (std::size_t at, T) {
        return m.outputs[i].get<T> (t * kOutput + at);
      };
      TrackOut track = { get (8, guint64 ()), get (16, 0.f),        get (20, 0.f),
                         get (24, 0.f),       get (28, 0.f),        get (32, 0.f),
                         get (0, guint16 ()), get (36, guint32 ()), -1 };
      if (const auto *const object = get (40, static_cast<guint8 *> (nullptr))) {
        const auto offset = object - m.objects[i].data ();
        expect (offset >= 0 && offset % std::ptrdiff_t (kObject) == 0
                    && offset / std::ptrdiff_t (kObject) < std::ptrdiff_t (frame.objects.size ()),
                "an associated object is no input");
        track.object = int (offset / std::ptrdiff_t (kObject));
        expect (associated.insert (track.object).second, "an object is associated twice");
        expect (frame.objects[std::size_t (track.object)].class_id == track.class_id,
                "the class is not that of the object");
      }
      check (track, frame.stream);
      expect (ids.insert (track.id).second, "an id comes twice in a frame");
      tracks.push_back (track);
    }
    return tracks;
  }

  void check (const TrackOut &track, guint64 stream)
  {
    expect (std::isfinite (track.x) && std::isfinite (track.y) && std::isfinite (track.confidence)
                && track.width >= 1 && track.height >= 1 && track.x >= 0 && track.y >= 0
                && track.x + track.width <= float (setup_.width)
                && track.y + track.height <= float (setup_.height),
            "a box of %gx%g at %g,%g", double (track.width), double (track.height),
            double (track.x), double (track.y));
    expect (track.id != G_MAXUINT64 && track.id != 0, "an id is no target's");
    expect (track.age >= 1, "a target is in no frame");
    // a stream that was removed begins anew
    if (removed_.erase (stream))
      runs_[stream]++;
    const auto [known, is_new] = owner_.insert ({ track.id, { stream, runs_[stream] } });
    expect (is_new || known->second == std::pair (stream, runs_[stream]),
            "an id is that of another stream");
  }

  const ContextSetup setup_;
  void *handle_ = nullptr;
  Status init_status_ = -1;
  int summary_ = -1;
  guint32 max_targets_ = 0;
  std::optional<Memory> memory_;
  std::size_t n_batches_ = 0;
  std::chrono::duration<double> seconds_ = {};
  std::string complaint_;
  std::map<guint64, std::pair<guint64, int>> owner_;  // of an id: the stream, and its run
  std::set<guint64> removed_;
  std::map<guint64, int> runs_;
  Worker worker_;
};

}  // namespace nvtracker
