// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The jobs of one call of DeviceModels::run (), and the memory that they need. The same code runs
// over the requests twice: first it counts the jobs, then it writes them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <kernels/rounding.hpp>

#include "cuda_model.hpp"
#include "frame_windows.hpp"

namespace integralhist {

/// The three images of a frame. The grids of one image are next to each other in memory.
enum CellImage : std::size_t { kGradientCells, kLumaCells, kColourCells, kCellImages };

/// Divides a block of memory into arrays, one after another. Without a block it only counts the
/// bytes.
class Arena {
public:
  Arena () = default;
  explicit Arena (std::byte *begin) : begin_ (begin) {}

  template <class T>
  T *take (std::size_t n)
  {
    std::byte *const at = begin_ ? begin_ + bytes_ : nullptr;
    static_assert (alignof (T) <= kAlignment);
    bytes_ = inthist::round_up (bytes_ + n * sizeof (T), kAlignment);
    return reinterpret_cast<T *> (at);
  }
  std::size_t bytes () const { return bytes_; }

private:
  static constexpr std::size_t kAlignment = 8;

  std::byte *begin_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The memory of a batch: uploaded inputs, work memory of kernels, and answers to download.
struct BatchMemory {
  std::byte *host_inputs, *inputs, *work, *answers;
  std::uint16_t *luma_values;  // ModelTables::values

  /// Returns the address on the GPU of an array in the host's inputs.
  template <class T>
  const T *on_device (const T *here) const
  {
    return reinterpret_cast<const T *> (
        inputs + (reinterpret_cast<const std::byte *> (here) - host_inputs));
  }
};

/// Jobs in pinned memory, and their address on the GPU. Without memory the list only counts jobs.
template <class Job>
class JobList {
public:
  /// Reserves memory for `n` jobs, the number that the first run counted.
  void place (Arena &inputs, int n, const BatchMemory &memory)
  {
    jobs_ = inputs.take<Job> (std::size_t (n));
    device_jobs_ = memory.on_device (jobs_);
  }
  /// Adds the job that `make ()` returns.
  template <class Make>
  void add (Make &&make)
  {
    if (jobs_)
      jobs_[n_] = make ();
    n_++;
  }
  int size () const { return int (n_); }
  bool empty () const { return n_ == 0; }
  /// Returns the address of the jobs on the GPU.
  const Job *on_device () const { return device_jobs_; }

private:
  Job *jobs_ = nullptr;
  const Job *device_jobs_ = nullptr;
  std::size_t n_ = 0;
};

class CudaBatch {
public:
  /// Counts what the requests need.
  CudaBatch (const FrameTensors &frame, std::span<const DeviceQuery> queries);
  /// Writes the jobs of the requests; `counted` must have counted the same requests.
  CudaBatch (const FrameTensors &frame, std::span<const DeviceQuery> queries,
             const CudaBatch &counted, const BatchMemory &memory);

  std::size_t input_bytes () const { return inputs_.bytes (); }
  std::size_t work_bytes () const { return work_.bytes (); }
  std::size_t answer_bytes () const { return answers_.bytes (); }
  /// Returns the largest number of jobs of any kernel that needs scratch memory.
  int most_jobs () const
  {
    return std::max ({ searches.size (), examples.size (), sizes.size (), learners.size () });
  }
  int n_grids () const { return first_[kCellImages]; }
  /// Returns the grids of an image, on the GPU.
  inthist::cuda::CellGrids cells_of (CellImage image) const
  {
    return { cells_ + first_[image], grids_[image].n, grids_[image].most_columns,
             grids_[image].most_rows };
  }
  inthist::cuda::CellsOnDevice *all_cells () const { return cells_; }
  const inthist::correlation::cuda::GridJob *grid_jobs () const
  {
    return memory_.on_device (grid_jobs_);
  }
  /// Refuses grids that have too many cells for the kernels, or too large cells: only frames wider
  /// or higher than 4000 pixels have such grids.
  Expected<> check () const;
  /// Writes the answers, once they are on the host, into the requests.
  void take_answers (const std::byte *answers) const;

  JobList<inthist::correlation::cuda::SearchJob> searches;
  JobList<inthist::correlation::cuda::SpotJob> frame_searches;
  JobList<inthist::correlation::cuda::ExampleJob> examples;
  JobList<inthist::correlation::cuda::SizesJob> sizes;
  JobList<inthist::correlation::cuda::LearnJob> learners;
  JobList<inthist::correlation::cuda::ColoursJob> colours;
  JobList<inthist::Region> windows;
  guint32 *counts = nullptr;  // of the windows

private:
  using CellsOnDevice = inthist::cuda::CellsOnDevice;
  using SquareCells = inthist::correlation::cuda::SquareCells;
  using ModelMemory = inthist::correlation::cuda::ModelMemory;
  struct Grids {
    int n = 0, most_columns = 0, most_rows = 0, most_sums = 0;  // per row
    double widest = 0;
  };
  struct Answer {
    const DeviceQuery *query;
    std::size_t at;
  };

  bool writes () const { return memory_.work; }
  void add (const DeviceQuery &query);
  const CellsOnDevice *add_grid (CellImage image, const CellGrid &grid, int planes,
                                 const ModelMemory *colours = nullptr);
  SquareCells add_square (const Spot &middle, double side);
  void add_search (const DeviceQuery &query, const Spot &middle);
  void add_frame_search (const DeviceQuery &query);
  void add_example (const DeviceQuery &query, const Spot &middle, const CellShift *shift,
                    bool starts);
  void add_sizes (const DeviceQuery &query, const Place *place, bool find);
  void add_colours (const DeviceQuery &query, double rate);
  template <class T>
  T *take_answer (std::vector<Answer> &list, const DeviceQuery &query, std::size_t n);
  const float *put_input (std::span<const float> numbers);

  const FrameTensors &frame_;
  const int width_, height_, bins_;
  const BatchMemory memory_ = {};
  Arena inputs_, work_, answers_;
  std::array<Grids, kCellImages> grids_;
  std::array<int, kCellImages + 1> first_ = {};  // number of grids before those of each image
  inthist::correlation::cuda::GridJob *grid_jobs_ = nullptr;
  CellsOnDevice *cells_ = nullptr;
  std::vector<Answer> matches_, spots_, responses_;
};

}  // namespace integralhist
