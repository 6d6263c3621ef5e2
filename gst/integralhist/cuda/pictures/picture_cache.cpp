// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_cache.hpp"

#include <gst/integralhist/base/trace.hpp>
#include <gst/integralhist/cuda/base/cuda_error.hpp>

#include "picture_upload.hpp"

namespace integralhist {

using namespace inthist::cuda;

CudaExpected<> PictureCache::open ()
{
  *stream_ = TRY (make_stream ());
  trace_name (stream (), "integral histogram: upload");
  for (Picture &picture : *pictures_)
    for (EventOwner *event : { &picture.upload_started, &picture.arrived })
      *event = TRY (make_event (cudaEventBlockingSync));
  return {};
}

/// Returns the first picture row that a part needs: 0 if a value depends on several pixels.
static int first_row_of (const PartFrame &frame, const Part &part)
{
  return frame.image.format.reads_single_pixel () ? part.first_row : 0;
}

Picture *PictureCache::find (const PartFrame &frame, const Part &part)
{
  const int first_row = first_row_of (frame, part);
  const auto found = std::ranges::find_if (*pictures_, [&] (const Picture &p) {
    return p.first_row == first_row && p.frame == frame.number;
  });
  return found == pictures_->end () ? nullptr : &*found;
}

Expected<Picture *> PictureCache::fetch (const PartFrame &frame, const Part &part, bool measured)
{
  const Image image = rows_of_part (frame.image, part);
  const bool on_host = frame.location != PixelLocation::device;
  Picture &picture = next ();
  n_fetched_++;
  TRY (forget (picture));
  PicturePlanes from (image, width_, part.rows, !on_host);
  if (frame.location == PixelLocation::host)
    from = TRY (stage_in (picture, from));
  TRY (reserve (&Picture::memory, from.size ()));
  picture.image = from.image_in (picture.memory.get ());
  cudaStream_t stream = stream_->get ();
  if (measured)
    TRY (check (cudaEventRecord (picture.upload_started.get (), stream)));
  if (on_host) {
    TRY (upload (from, picture.memory.get (), stream));
    bytes_up_ += from.bytes ();
    if (frame.location == PixelLocation::host)
      bytes_staged_ += from.bytes ();
  } else {
    if (frame.arrived)
      TRY (check (cudaStreamWaitEvent (stream, frame.arrived, 0)));
    for (const PictureRows &rows : from.all ())
      TRY (context_->copy_from (*frame.context, rows.data, picture.memory.get () + rows.offset,
                                rows.pitch * (rows.n - 1) + rows.bytes, stream));
  }
  TRY (check (cudaEventRecord (picture.arrived.get (), stream)));
  picture.frame = frame.number;
  picture.first_row = first_row_of (frame, part);
  picture.timed = measured;
  return &picture;
}

/// Marks a picture as empty, and waits until no frame in flight reads it.
CudaExpected<> PictureCache::forget (Picture &picture)
{
  picture.first_row = -1;
  return await_readers_ (picture);
}

CudaExpected<PicturePlanes> PictureCache::stage_in (Picture &picture, const PicturePlanes &planes)
{
  const TraceRange range ("integral histogram: copy to pinned memory");
  TRY (reserve (&Picture::staging, planes.size ()));
  return planes.stage (picture.staging.get ());
}

/// Enlarges a buffer in all pictures at once, so that only one frame waits for allocations.
template <class Memory>
CudaExpected<> PictureCache::reserve (Memory Picture::*which, std::size_t bytes)
{
  for (Picture &picture : *pictures_)
    if ((picture.*which).bytes () < bytes) {
      TRY (forget (picture));
      TRY ((picture.*which).reserve (bytes));
    }
  return {};
}

}  // namespace integralhist
