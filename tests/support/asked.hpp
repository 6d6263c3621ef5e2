// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor on a device, with its questions and answers in separate buffers that are guarded.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include <kernels/window.hpp>

#include "devices.hpp"

/// A question, in host memory.
struct Asked {
  QueryKind kind = QueryKind::counts;
  std::vector<Region> list = {};  // empty for the grid
  Grid grid = {};
  Measure measure = Measure::chi_square_alt;
  std::vector<float> models = {};
  double quantile = 0.5;
  std::vector<Region> patches = {};
  int rank = 0;

  int n () const { return list.empty () ? grid.columns * grid.rows : int (list.size ()); }
  Region window (int i) const
  {
    return list.empty () ? Region{ grid.x + i % grid.columns * grid.step_x,
                                   grid.y + i / grid.columns * grid.step_y, grid.window_width,
                                   grid.window_height }
                         : list[i];
  }
};

/// Returns the models of a question, prepared for so many bins.
inline std::vector<float> prepared (const Asked &asked, int bins)
{
  std::vector<float> models = asked.models;
  for (std::size_t first = 0; first < models.size (); first += bins)
    prepare (asked.measure, std::span (models).subspan (first, bins));
  return models;
}

/// The state of a question between one group of bins and the next.
struct Carried {
  int first_bin = 0, all_bins = 0;
  Bytes bytes = {};
  std::vector<std::uint64_t> totals = {};  // of weights
};

class AskedTensor {
public:
  AskedTensor (Device device, const Case &c, const Bytes &right)
      : device_ (device), shape_ (c.shape), layout_ (c.layout ()),
        tensor_ (device, right.size (), c.shift, !small_cases ()), queue_ (device)
  {
    tensor_.put (right.data (), right.size ());
  }

  /// Asks the tensor. `best` may be null. With `carried` the tensor has a group of the bins, and
  /// the models are prepared; only the last group answers.
  template <class Answer>
  std::vector<Answer> ask (const Asked &asked, Best *best = nullptr, Carried *carried = nullptr)
  {
    Query query = { .kind = asked.kind,
                    .windows = { nullptr, int (asked.list.size ()), asked.grid },
                    .measure = asked.measure,
                    .quantile = asked.quantile,
                    .n_patches = int (asked.patches.size ()),
                    .rank = asked.rank };
    std::deque<Block> inputs;
    query.windows.list = put (inputs, asked.list);
    query.models = put (inputs, carried || query.n_models () == 0 ? asked.models
                                                                  : prepared (asked, shape_.bins));
    query.patches = put (inputs, asked.patches);
    if (carried)
      query.totals = put (inputs, carried->totals);

    const bool per_plane = query.kind == QueryKind::counts || query.kind == QueryKind::sums;
    const std::size_t n =
        query.kind == QueryKind::totals ? query.n_totals () : std::size_t (asked.n ());
    std::vector<Answer> answers (n * (per_plane ? shape_.bins : 1));
    fail_unless_equals_int (answer_bytes (shape_, query), answers.size () * sizeof (Answer));
    Block out (device_, answers.size () * sizeof (Answer), 0, !small_cases ()),
        best_out (device_, sizeof (Best), 0, !small_cases ());
    out.poison ();
    best_out.poison ();
    query.answers = out.data;
    query.best = best ? reinterpret_cast<Best *> (best_out.data) : nullptr;
    Block carried_block (device_, carried ? carried_bytes (query) : 0, 0, !small_cases ());
    carried_block.poison ();
    if (carried) {
      query.carried = carried_block.data;
      query.first_bin = carried->first_bin;
      query.all_bins = carried->all_bins;
      carried_block.put (carried->bytes.data (), carried->bytes.size ());
    }
    if (device_ == Device::cpu)
      fail_unless_equals_int (cpu::answer ({ shape_, layout_, tensor_.data }, query), 0);
#if INTHIST_CUDA
    if (device_ == Device::cuda) {
      const int error = cuda::answer ({ shape_, layout_, tensor_.data }, query, queue_.stream);
      fail_unless (error == 0, "CUDA error %d", error);
      queue_.wait ();
    }
#endif
    fail_unless (out.guards_hold () && best_out.guards_hold () && carried_block.guards_hold (),
                 "wrote outside the answers");
    if (carried) {
      const Bytes before = std::exchange (carried->bytes, Bytes (carried_bytes (query)));
      copy (device_, carried->bytes.data (), carried_block.data, carried->bytes.size ());
      if (query.has_bins_after (shape_)) {
        const auto untouched = [] (const Block &block) {
          return std::ranges::all_of (block.get (), [] (auto byte) { return byte == kPoison; });
        };
        fail_unless (untouched (out) && untouched (best_out), "answered before the last bins");
        return {};
      }
      fail_unless (carried->first_bin == 0 || carried->bytes == before,
                   "the last bins wrote what is carried");
    }
    copy (device_, answers.data (), out.data, answers.size () * sizeof (Answer));
    if (best)
      copy (device_, best, best_out.data, sizeof (Best));
    return answers;
  }

private:
  template <class T>
  const T *put (std::deque<Block> &blocks, const std::vector<T> &list)
  {
    if (list.empty ())
      return nullptr;
    Block &block = blocks.emplace_back (device_, list.size () * sizeof (T), 0, !small_cases ());
    block.put (list.data (), list.size () * sizeof (T));
    return reinterpret_cast<const T *> (block.data);
  }

  const Device device_;
  const Shape shape_;
  const Layout layout_;
  Block tensor_;
  Queue queue_;
};

/// Makes rectangles of every kind, not clipped, for all tests.
inline std::vector<Region> rectangles (int width, int height, int n)
{
  std::vector<Region> list = {
    { 0, 0, width, height },
    { -5, -7, width + 20, height + 20 },
    { 0, 0, 1, 1 },
    { width - 1, 0, 1, 1 },
    { 0, height - 1, 1, 1 },
    { width - 1, height - 1, 1, 1 },
    { 0, 0, 0, 0 },
    { width / 2, height / 2, 0, 3 },
    { width, 0, 5, 5 },
    { -5, -5, 5, 5 },
    { 0, 0, width, 1 },
    { 0, 0, 1, height },
    { 0, 0, width, (height + 1) / 2 },
    { width / 2, 0, width, height },
    { 1, 1, width, height },
  };
  std::mt19937 random (seed ());
  while (int (list.size ()) < n) {
    const int w = random () % (width + 3), h = random () % (height + 3);
    list.push_back ({ int (random () % (2 * width + 1)) - width / 2,
                      int (random () % (2 * height + 1)) - height / 2, w, h });
  }
  return list;
}

/// Windows of every kind, in lists and on grids.
inline std::vector<Asked> windows_of (const Shape &shape)
{
  const int w = shape.width, h = shape.height;
  const Grid grids[] = {
    { w / 4 + 1, h / 3 + 1, 0, 0, 1 + w / 30, 1 + h / 8, std::min (w, 30), 5 },  // most inside
    { w / 2 + 1, h / 2 + 1, -w, -h, w / 5 + 1, h / 2 + 1, 11,
      5 },                               // over each border, and nowhere near the frame
    { w, h, 0, 0, 1, 1, 1, 1 },          // the frame
    { 1, 1, w - 3, h - 2, 1, 1, 7, 4 },  // pixels, and none
    { 5, 6, -7, -9, 1, 2, std::min (w, 40) + 9, std::min (h, 40) / 2 + 9 },  // many chains
    { w / 3 + 1, 2 * (h / 6 + 1), -2, w / 2 - h, 1, h / 6 + 1, std::min (w, 9), 14 },  // few
  };
  std::vector<Asked> all;
  for (const Grid &grid : grids)
    all.push_back ({ .grid = grid });
  all.push_back ({ .list = rectangles (w, h, 40) });
  return all;
}

/// Patches that lie in and around a window, some of no pixels, one of a negative size.
inline std::vector<Region> patches_of (const Shape &shape, int n, std::mt19937 &random)
{
  std::vector<Region> patches;
  for (int i = 0; i < n; i++)
    patches.push_back (
        { int (random () % (shape.width + 2)) - 2, int (random () % (shape.height + 2)) - 2,
          int (random () % (shape.width / 2 + 2)), int (random () % (shape.height / 2 + 2)) });
  if (n > 3)
    patches[1] = { 0, 0, -300, 2 };
  return patches;
}

/// The tensor of a group of bins, out of the tensor of all.
inline Bytes group_of (const Layout &layout, const std::uint8_t *tensor, int first_bin, int bins)
{
  return Bytes (tensor + layout.plane_pitch * first_bin,
                tensor + layout.plane_pitch * (first_bin + bins));
}

/// A tensor in groups of consecutive bins. ask () asks one group after another.
class Groups {
  struct Group {
    int first_bin, bins;
    std::unique_ptr<AskedTensor> tensor;
  };

public:
  Groups (Device device, const Case &c, const Bytes &right, const std::vector<int> &sizes)
      : shape_ (c.shape)
  {
    int first_bin = 0;
    for (const int bins : sizes) {
      Case group = c;
      group.shape.bins = bins;
      groups_.push_back (
          { first_bin, bins,
            std::make_unique<AskedTensor> (
                device, group, group_of (c.layout (), right.data (), first_bin, bins)) });
      first_bin += bins;
    }
    fail_unless_equals_int (first_bin, shape_.bins);
  }

  /// First adds up the totals of the groups if pixels have weights.
  template <class Answer>
  std::vector<Answer> ask (Asked whole, Best *best = nullptr)
  {
    Carried carried{ .all_bins = shape_.bins };
    if (shape_.content == Content::weights) {
      Asked about = whole;
      about.kind = QueryKind::totals;
      for (const Group &group : groups_) {
        const auto part = group.tensor->ask<std::uint64_t> (about);
        carried.totals.resize (part.size ());
        std::ranges::transform (carried.totals, part, carried.totals.begin (), std::plus ());
      }
    }
    whole.models = prepared (whole, shape_.bins);
    std::vector<Answer> answers;
    for (const Group &group : groups_) {
      Asked asked = whole;
      asked.models.clear ();
      for (auto model = whole.models.begin (); model != whole.models.end (); model += shape_.bins)
        asked.models.insert (asked.models.end (), model + group.first_bin,
                             model + group.first_bin + group.bins);
      carried.first_bin = group.first_bin;
      answers = group.tensor->ask<Answer> (asked, best, &carried);
    }
    return answers;
  }

private:
  const Shape shape_;
  std::vector<Group> groups_;
};

/// Sizes of groups: all bins in one, each alone, the first and the last alone, and of any size.
inline std::vector<std::vector<int>> cuts (int bins, std::mt19937 &random)
{
  std::vector<std::vector<int>> cuts = { { bins }, std::vector<int> (bins, 1), {} };
  if (bins > 2)
    cuts.push_back ({ 1, bins - 2, 1 });
  for (int left = bins; left > 0; left -= cuts[2].back ())
    cuts[2].push_back (1 + int (random () % left));
  return cuts;
}
