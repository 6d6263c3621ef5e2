// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws on frames in CUDA memory. All arrays of a frame's drawings go to the GPU in one upload, and
// one kernel launch draws each layer. Three places for such arrays take turns.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/cuda/memory/packing.hpp>
#include <gst/integralhist/engine/device_blender.hpp>

namespace integralhist {
namespace {

using namespace inthist::cuda;

/// Memory for a frame's drawings, reused for another frame when the event `drawn` has fired.
struct Staged {
  GrowingPinnedMemory host;
  GrowingDeviceMemory device;
  EventOwner drawn;
};

class PackedArrays {
public:
  template <class T, std::size_t kSize>
  std::size_t add (std::span<T, kSize> array)
  {
    const std::size_t at = packing_.add (array.size_bytes ());
    arrays_.push_back ({ at, array.data (), array.size_bytes () });
    return at;
  }
  std::size_t bytes () const { return packing_.bytes (); }
  void write (std::byte *to) const
  {
    for (const StagedArray &array : arrays_)
      if (array.bytes > 0)
        std::memcpy (to + array.at, array.from, array.bytes);
  }

private:
  struct StagedArray {
    std::size_t at;
    const void *from;
    std::size_t bytes;
  };
  std::vector<StagedArray> arrays_;
  Packing packing_;
};

/// A picture's drawings, sorted by layer: one kernel launch draws all drawings of a layer.
struct SortedDrawings {
  std::vector<inthist::Drawing> all;
  std::vector<std::size_t> layer_ends;

  explicit SortedDrawings (std::span<const inthist::Drawing> drawings)
  {
    const std::vector<int> layers = layers_of (drawings);
    std::vector<std::size_t> order (layers.size ());
    std::iota (order.begin (), order.end (), 0);
    std::ranges::stable_sort (order, {}, [&] (std::size_t i) { return layers[i]; });
    for (std::size_t i = 0; i < order.size (); i++) {
      all.push_back (drawings[order[i]]);
      if (i + 1 == order.size () || layers[order[i + 1]] != layers[order[i]])
        layer_ends.push_back (i + 1);
    }
  }
};

class PackedMap {
public:
  PackedMap (PackedArrays &arrays, const LevelPicture &map)
      : map_ (map), levels_ (arrays.add (map.levels)), columns_ (arrays.add (map.columns)),
        rows_ (arrays.add (map.rows)), colours_ (arrays.add (map.colours))
  {
  }

  inthist::LevelMap at (const std::byte *arrays) const
  {
    return { reinterpret_cast<const std::uint8_t *> (arrays + levels_),
             map_.stride,
             reinterpret_cast<const int *> (arrays + columns_),
             reinterpret_cast<const int *> (arrays + rows_),
             reinterpret_cast<const inthist::Argb *> (arrays + colours_),
             map_.x,
             map_.y,
             int (map_.columns.size ()),
             int (map_.rows.size ()) };
  }

private:
  const LevelPicture &map_;
  const std::size_t levels_, columns_, rows_, colours_;
};

class CudaBlender final : public DeviceBlender {
public:
  explicit CudaBlender (ContextRef context) : context_ (context), own_ (std::move (context)) {}

  Expected<> draw (const inthist::Canvas &picture, const LevelPicture *map,
                   const Drawings &drawings, Stream stream) override
  {
    return with_context (*context_, [&] { return enqueue (picture, map, drawings, stream); });
  }

private:
  struct Resources {
    StreamOwner stream;
    std::array<Staged, 3> staged;  // memory of three frames whose drawings may be in use
    std::size_t turn = 0;
  };

  /// Makes a CUDA stream that waits for the legacy default stream. GStreamer 1.22 makes memory
  /// writable by copying it on the default stream, and does not wait for the copy.
  static CudaExpected<StreamOwner> make_waiting_stream ()
  {
    cudaStream_t stream;
    TRY (check (cudaStreamCreateWithFlags (&stream, cudaStreamDefault)));
    return StreamOwner (stream);
  }

  CudaExpected<> enqueue (const inthist::Canvas &picture, const LevelPicture *map,
                          const Drawings &drawings, Stream given)
  {
    if (!own_->stream && !given)
      own_->stream = TRY (make_waiting_stream ());
    const cudaStream_t stream = given ? given : own_->stream.get ();
    Staged &staged = own_->staged[own_->turn++ % own_->staged.size ()];
    if (staged.drawn)
      TRY (await (staged.drawn.get ()));
    else
      staged.drawn = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));

    const SortedDrawings sorted (drawings.all);
    PackedArrays arrays;
    const std::size_t all = arrays.add (std::span (sorted.all)),
                      pixels = arrays.add (drawings.pixels);
    std::optional<PackedMap> packed_map;
    if (map)
      packed_map.emplace (arrays, *map);
    if (arrays.bytes () == 0)
      return {};
    TRY (staged.host.reserve (arrays.bytes ()));
    TRY (staged.device.reserve (arrays.bytes ()));
    arrays.write (staged.host.get ());
    std::byte *const device = staged.device.get ();
    const auto launch = [&] () -> CudaExpected<> {
      TRY (check (cudaMemcpyAsync (device, staged.host.get (), arrays.bytes (),
                                   cudaMemcpyHostToDevice, stream)));
      if (packed_map)
        TRY (check (inthist::cuda::blend (picture, packed_map->at (device), stream)));
      std::size_t first = 0;
      for (const std::size_t end : sorted.layer_ends) {
        TRY (check (inthist::cuda::blend (
            picture, reinterpret_cast<const inthist::Drawing *> (device + all) + first,
            int (end - first), reinterpret_cast<const inthist::Argb *> (device + pixels), stream)));
        first = end;
      }
      return {};
    };
    const auto launched = launch ();
    // Records the event even after a failed launch: work that was enqueued before reads the memory.
    TRY (check (cudaEventRecord (staged.drawn.get (), stream)));
    TRY (launched);
    return given ? CudaExpected<> () : await (staged.drawn.get ());
  }

  const ContextRef context_;
  InContext<Resources> own_;
};

}  // namespace

Expected<std::unique_ptr<DeviceBlender>> make_device_blender (std::shared_ptr<CudaContext> context)
{
  return std::unique_ptr<DeviceBlender> (new CudaBlender (std::move (context)));
}

}  // namespace integralhist
