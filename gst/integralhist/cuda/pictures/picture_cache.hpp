// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures (the pixels of frames) in GPU memory. The parts of a frame read the same picture, which
// stays until a later picture overwrites it.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/engine/part.hpp>
#include <gst/integralhist/engine/part_engine.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>

namespace integralhist {

/// The pixels of a frame or of a strip of its rows, in GPU memory. Their upload may still run.
struct Picture {
  inthist::cuda::GrowingPinnedMemory staging;
  inthist::cuda::GrowingDeviceMemory memory;
  inthist::cuda::EventOwner upload_started, arrived;
  guint64 frame = 0;
  int first_row = -1;  // -1: no picture yet
  bool timed = false;  // its upload is measured, but not in the statistics yet
  Image image;         // of what the memory holds
};

/// Pictures are overwritten in turn. Only one thread uses them, with the CUDA context current.
class PictureCache {
public:
  /// A function that waits until no frame in flight reads the given picture.
  using AwaitReaders = std::function<CudaExpected<> (const Picture &)>;

  PictureCache (ContextRef context, std::size_t n, int width, AwaitReaders await_readers)
      : context_ (std::move (context)), width_ (width), await_readers_ (std::move (await_readers)),
        stream_ (context_), pictures_ (context_, n)
  {
  }
  CudaExpected<> open ();

  /// Returns the picture for a part of a frame, or null if the device neither has nor uploads it.
  Picture *find (const PartFrame &frame, const Part &part);
  /// Returns the picture whose memory the next fetch () overwrites.
  Picture &next () { return (*pictures_)[n_fetched_ % pictures_->size ()]; }
  /// Enqueues the copy of the rows that a part needs, from the host or another GPU, to next ().
  Expected<Picture *> fetch (const PartFrame &frame, const Part &part, bool measured);
  /// Returns the CUDA stream on which pictures are copied; null before open ().
  cudaStream_t stream () const { return stream_->get (); }

  // Any thread may call these.
  guint64 bytes_up () const { return bytes_up_; }
  guint64 bytes_staged () const { return bytes_staged_; }

private:
  CudaExpected<> forget (Picture &picture);
  CudaExpected<PicturePlanes> stage_in (Picture &picture, const PicturePlanes &planes);
  template <class Memory>
  CudaExpected<> reserve (Memory Picture::*which, std::size_t bytes);

  const ContextRef context_;
  const int width_;
  const AwaitReaders await_readers_;
  InContext<inthist::cuda::StreamOwner> stream_;
  InContext<std::vector<Picture>> pictures_;
  std::size_t n_fetched_ = 0;
  std::atomic<guint64> bytes_up_ = 0, bytes_staged_ = 0;
};

}  // namespace integralhist
