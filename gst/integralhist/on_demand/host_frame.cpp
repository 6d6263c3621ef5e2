// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

static std::size_t bytes_of_values (const Shape &shape)
{
  return std::size_t (shape.width) * shape.height * inthist::bytes_of (shape.pixel);
}

Expected<HostMemory> HostFrame::allocate (const OnDemandShared &shared)
{
  const std::size_t bytes = bytes_of_values (shared.shape);
  const auto message = [bytes] (const Available &available) {
    return no_memory_text ("the pixels of a frame", bytes, available) + ": lower max-tensors";
  };
  // Only for a summed-area table must a GPU be able to access the memory of the pixel values: for
  // histograms a GPU reads the kept picture instead.
  return shared.shape.content == Content::sums ? shared.allocate (bytes, message)
                                               : allocate_on_host (bytes, message);
}

HostFrame::HostFrame (std::shared_ptr<OnDemandShared> shared, HostMemory values)
    : shared_ (std::move (shared)), shape_ (shared_->shape), values_ (std::move (values))
{
  shared_->value_bytes += bytes_of_values (shape_);
}

HostFrame::~HostFrame ()
{
  shared_->value_bytes -= bytes_of_values (shape_) + picture_bytes_;
}

Expected<> HostFrame::keep (const Frame &frame)
{
  const Image &image = frame.image;
  const Lut &lut = shared_->copy_lut_of (frame);
  auto *const to = reinterpret_cast<std::uint8_t *> (values_.get ());
  const std::size_t width = shape_.width;
  source_.reset ();
  if (image.format.is_weighted () || !image.format.reads_single_pixel ())
    return keep_picture (frame);
  if (!image.format.is_plain () || lut != shared_->identity)
    return check_host (
        inthist::cpu::bin_image ({ image, lut }, shape_.width, shape_.height, { to, width }));
  for (int y = 0; y < shape_.height; y++)
    std::memcpy (to + y * width, static_cast<const std::byte *> (image.data) + y * image.stride,
                 width);
  return {};
}

Expected<> HostFrame::keep_picture (const Frame &frame)
{
  const PicturePlanes planes (frame.image, shape_.width, shape_.height);
  const std::size_t bytes = planes.size ();
  if (bytes > picture_bytes_) {
    shared_->value_bytes -= std::exchange (picture_bytes_, 0);
    picture_ = nullptr;
    picture_ = TRY (shared_->allocate (bytes, [bytes] (const Available &available) {
      return no_memory_text ("the picture of a frame", bytes, available) + ": lower max-tensors";
    }));
    shared_->value_bytes += picture_bytes_ = bytes;
  }
  source_ = { planes.stage (picture_.get ()).image_in (picture_.get ()),
              frame.image.format.is_weighted () ? shared_->lut : shared_->copy_lut_of (frame) };
  has_values_.assign (std::size_t (inthist::divide_up (shape_.width, kTileColumns))
                          * inthist::divide_up (shape_.height, kTileRows),
                      false);
  return {};
}

void HostFrame::add_missing (const Region &r, std::vector<bool> &known,
                             std::vector<int> &tiles) const
{
  if (r.width == 0 || r.height == 0)
    return;
  const int columns = inthist::divide_up (shape_.width, kTileColumns);
  const int first = r.x / kTileColumns, last = (r.x + r.width - 1) / kTileColumns;
  for (int y = r.y / kTileRows; y <= (r.y + r.height - 1) / kTileRows; y++)
    for (int tile = y * columns + first; tile <= y * columns + last; tile++)
      if (!known[tile]) {
        known[tile] = true;
        tiles.push_back (tile);
      }
}

Expected<> HostFrame::compute_tiles (std::vector<int> tiles)
{
  if (tiles.empty ())
    return {};
  std::ranges::sort (tiles);
  const int columns = inthist::divide_up (shape_.width, kTileColumns);
  std::vector<Region> runs;  // of neighbouring tiles in a row
  for (std::size_t i = 0; i < tiles.size (); i++) {
    const int x = tiles[i] % columns * kTileColumns, y = tiles[i] / columns * kTileRows,
              width = std::min (kTileColumns, shape_.width - x);
    if (i > 0 && tiles[i] == tiles[i - 1] + 1 && x > 0)
      runs.back ().width += width;
    else
      runs.push_back ({ x, y, width, std::min (kTileRows, shape_.height - y) });
  }
  auto *const to = reinterpret_cast<std::uint8_t *> (values_.get ());
  TRY (check_host (inthist::cpu::bin_regions (
      *source_, shape_.width, shape_.height, runs,
      { to, std::size_t (shape_.width) * inthist::bytes_of (shape_.pixel) },
      CancelScope::flag ())));
  for (const int tile : tiles)
    has_values_[tile] = true;
  return {};
}

Binning HostFrame::binning (const Region &region) const
{
  const std::size_t bytes = inthist::bytes_of (shape_.pixel), stride = shape_.width * bytes;
  return { { values_.get () + region.y * stride + region.x * bytes, std::ptrdiff_t (stride), {} },
           shared_->lut };
}

}  // namespace integralhist
