// SPDX-License-Identifier: LGPL-2.1-or-later
#include "context.hpp"

#include <set>

#include <gst/integralhist/base/in_parallel.hpp>
#include <gst/integralhist/cuda/base/cuda_context.hpp>

#include "log.hpp"

namespace integralhist::nvmot {

static constexpr guint kMaxSide = 1 << 14;  // pixels
static constexpr guint kMaxStreams = 1024;
// The number of video streams that a context remembers is limited: a muxer may renumber its pads
// and never report the end of a stream, and the memory would fill.
static constexpr std::size_t kMinKnown = 16, kKnownPerSource = 4;

static Expected<GstVideoInfo> info_of (const Config &config)
{
  const Transform *const scaled = config.transforms;
  if (!scaled || scaled->width < 1 || scaled->height < 1 || scaled->width > kMaxSide
      || scaled->height > kMaxSide)
    return error (Error::Kind::bad_setting, "tracker-width=", scaled ? scaled->width : 0,
                  " tracker-height=", scaled ? scaled->height : 0, ": set both between 1 and ",
                  kMaxSide);
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, scaled->width, scaled->height);
  gst_video_colorimetry_from_string (&info.colorimetry, GST_VIDEO_COLORIMETRY_BT601);
  return info;
}

static Expected<Devices> devices_of (const Config &config, Backend backend)
{
  if (!TRY (uses_cuda (backend)))
    return Devices ();
  const auto context = CudaContext::primary (int (config.gpu));
  if (!context)
    return error (Error::Kind::no_device, "CUDA device ", config.gpu,
                  " cannot be used: ", context.error ().message,
                  ". Set gpu-id of nvtracker, or backend=cpu");
  return Devices{ { *context }, {} };
}

Expected<bool> uses_cuda (Backend backend)
{
  if (backend == Backend::cpu)
    return false;
  const auto count = CudaContext::device_count ();
  if (count || backend == Backend::automatic)
    return count.has_value ();
  return error (Error::Kind::no_device, "CUDA cannot be used: ", count.error ().message,
                ". Set backend=auto to compute on the CPU");
}

Context::Context (const GstVideoInfo &info, guint max_streams, Devices devices,
                  LibraryOptions options)
    : info_ (info), max_streams_ (max_streams),
      max_known_ (std::max<std::size_t> (kMinKnown, kKnownPerSource * max_streams)),
      devices_ (std::move (devices)), options_ (std::move (options)), next_number_ (g_random_int ())
{
}

Expected<std::unique_ptr<Context>> Context::make (const Config &config, LibraryOptions options)
{
  const auto release = TRY (release_of_element ());
  const GstVideoInfo info = TRY (info_of (config));
  if (config.max_streams < 1 || config.max_streams > kMaxStreams)
    return error (Error::Kind::bad_setting, config.max_streams,
                  " streams are out of range: use 1 to ", kMaxStreams);
  Devices devices = TRY (devices_of (config, *options.backend.value));
  std::unique_ptr<Context> context (
      new Context (info, config.max_streams, std::move (devices), std::move (options)));
  context->release_ = release;
  GST_INFO ("%dx%d, at most %u streams of %u targets, on %s", info.width, info.height,
            config.max_streams, context->options_.max_targets,
            context->devices_.on_gpu () ? "CUDA" : "the CPU");
  return context;
}

LibraryOptions Context::options ()
{
  const std::lock_guard lock (mutex_);
  return options_;
}

Expected<> Context::update (const std::string &text)
{
  const std::lock_guard lock (mutex_);
  LibraryOptions next = TRY (LibraryOptions::parse (text, options_));
  if (*next.backend.value != *options_.backend.value || next.max_targets != options_.max_targets)
    GST_WARNING ("backend stays %s and max-targets stays %u until nvtracker starts again",
                 options_.backend.text.c_str (), options_.max_targets);
  options_.track = std::move (next.track);
  return {};
}

void Context::remove_stream (guint64 stream)
{
  const std::lock_guard lock (mutex_);
  streams_.erase (stream);
}

/// Drops the video streams that have been absent longest, down to the limit max_known_. A batch has
/// fewer streams than that, so the streams of the current batch stay.
void Context::drop_absent_streams ()
{
  while (streams_.size () > max_known_) {
    const auto oldest = std::ranges::min_element (
        streams_, {}, [] (const auto &known) { return known.second.last_batch; });
    GST_INFO ("stream %" G_GUINT64_FORMAT " is given up: more than %zu have not been removed",
              oldest->first, max_known_);
    streams_.erase (oldest);
  }
}

Expected<std::vector<Context::Task>> Context::read (const ProcessParams &params,
                                                    const OutputBatch &output)
{
  const guint32 n = params.n_frames;
  if (n > max_streams_)
    return bad_batch ("it has ", n, " frames, and at most ", max_streams_,
                      " streams: set batch-size of nvtracker to the number of streams");
  if (n > 0 && (!params.frames || !output.lists || output.n_allocated < n))
    return bad_batch (n, " frames need as many lists of tracks, and there are ",
                      output.lists ? output.n_allocated : 0, ": use DeepStream 8.0 to 9.1");
  if (n > 0)
    release_ = TRY (release_of_frame (params.frames, release_));
  std::vector<Task> tasks;
  std::set<guint64> ids;
  for (guint32 i = 0; i < n; i++) {
    OutputList &list = output.lists[i];
    Task task = { TRY (BatchFrame::read (params.frames, i, *release_, options_.max_targets)),
                  nullptr, &list };
    if (list.n_allocated > 0 && !list.objects)
      return bad_batch ("list ", i, " of tracks has no memory: use DeepStream 8.0 to 9.1");
    if (!ids.insert (task.frame.stream).second)
      return bad_batch ("two frames are of stream ", task.frame.stream,
                        ": give each stream at most one frame of a batch");
    tasks.push_back (task);
  }
  n_batches_++;
  for (Task &task : tasks) {
    auto &[stream, last_batch] = streams_[task.frame.stream];
    last_batch = n_batches_;
    if (!stream) {
      // A stream's number is the high half of its targets' ids, which must not reach 2^64 - 1.
      stream = std::make_unique<VideoStream> (next_number_++ & G_MAXINT32);
      GST_DEBUG ("stream %" G_GUINT64_FORMAT " begins", task.frame.stream);
    }
    task.stream = stream.get ();
  }
  drop_absent_streams ();
  return tasks;
}

Expected<> Context::process (const Task &task)
{
  const auto memory = devices_.on_gpu () ? NvmmSurface::Memory::device : NvmmSurface::Memory::host;
  const int device = devices_.on_gpu () ? devices_.contexts.front ()->device () : 0;
  const NvmmSurface surface = TRY (nvmm_surface_of (task.frame.surface, memory, device, info_));
  const MappedFrame pixels = TRY (MappedFrame::map (surface, info_));
  return task.stream->process (task.frame, pixels, info_, devices_, options_.track, *task.output);
}

Expected<> Context::process (const ProcessParams &params, OutputBatch &output)
{
  const std::lock_guard lock (mutex_);
  const auto clear = [&] {
    if (output.lists)
      for (guint32 i = 0; i < std::min ({ output.n_allocated, params.n_frames, max_streams_ }); i++)
        output.lists[i].n_filled = 0;
  };
  clear ();
  const std::vector<Task> tasks = TRY (read (params, output));
  auto outcome =
      in_parallel (int (tasks.size ()), [&] (int i) { return process (tasks[std::size_t (i)]); });
  if (!outcome)
    clear ();
  return outcome;
}

}  // namespace integralhist::nvmot
