// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The jobs on a GPU of one call of DeviceModelPool::run (), and their memory. The same code runs
// over the requests twice: first it counts the jobs and the memory, then it writes the jobs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <kernels/rounding.hpp>

#include "cuda_model.hpp"
#include "frame_windows.hpp"

namespace integralhist {

/// The three images of a frame. All grids of cells in one image are next to each other in memory.
enum CellImage : std::size_t { kGradientCells, kLumaCells, kColourCells, kCellImages };

/// Divides a block of memory into arrays. Without a block, an arena only counts the bytes.
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

/// The memory of a batch of jobs: uploaded inputs, work memory of kernels, answers to download.
struct BatchMemory {
  std::byte *host_inputs, *inputs, *work, *answers;
  std::uint16_t *luma_values;  // ModelTables::values

  /// Returns the address that an array in the host's inputs has on the GPU.
  template <class T>
  const T *on_device (const T *here) const
  {
    return reinterpret_cast<const T *> (
        inputs + (reinterpret_cast<const std::byte *> (here) - host_inputs));
  }
};

/// The jobs of a kernel in pinned memory, and their address on the GPU. Without memory, the list
/// only counts jobs.
template <class Job>
class JobList {
public:
  /// Takes memory for the `n` jobs that an earlier run has counted.
  void take (Arena &inputs, int n, const BatchMemory &memory)
  {
    jobs_ = inputs.take<Job> (std::size_t (n));
    device_jobs_ = memory.on_device (jobs_);
  }
  template <class Make>
  void add (Make &&make)
  {
    if (jobs_)
      jobs_[n_] = make ();
    n_++;
  }
  int size () const { return int (n_); }
  bool empty () const { return n_ == 0; }
  const Job *on_device () const { return device_jobs_; }

private:
  Job *jobs_ = nullptr;
  const Job *device_jobs_ = nullptr;
  std::size_t n_ = 0;
};

class CudaBatch {
public:
  CudaBatch (const FrameTensors &frame, std::span<const DeviceRequest> targets);
  /// Writes the jobs of all requests. `counted` is a batch that has counted the same jobs.
  CudaBatch (const FrameTensors &frame, std::span<const DeviceRequest> targets,
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
  /// Returns an error if a grid has too many or too large cells for the kernels, which only happens
  /// in frames wider or higher than 4000 pixels.
  Expected<> check () const;
  /// Copies a batch's answers, once they are on the host, into the requests of the targets.
  void take_answers (const std::byte *answers) const;

  JobList<inthist::correlation::cuda::SearchJob> searches;
  JobList<inthist::correlation::cuda::FrameSearchJob> frame_searches;
  JobList<inthist::correlation::cuda::ExampleJob> examples;
  JobList<inthist::correlation::cuda::SizeFilterJob> sizes;
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
    ModelRequest *request;
    std::size_t offset;  // in the memory of answers
  };

  bool writes () const { return memory_.work; }
  void take_lists (const CudaBatch &counted);
  void add (const DeviceRequest &target);
  const CellsOnDevice *add_grid (CellImage image, const CellGrid &grid, int planes,
                                 const ModelMemory *colours = nullptr);
  SquareCells add_square (const Centre &middle, double side);
  void add_search (const DeviceRequest &target, const Centre &middle);
  void add_frame_search (const DeviceRequest &target);
  void add_example (const DeviceRequest &target, const Centre &middle, const CellShift *shift,
                    bool starts);
  inthist::correlation::cuda::SizeFilterJob size_job (const CudaModel &model, const CentreBox *box);
  void add_size_search (const DeviceRequest &target);
  void add_size_learning (const DeviceRequest &target, double rate, std::optional<double> factor);
  void add_colours (const DeviceRequest &target, double rate);
  template <class T>
  T *take_answer (std::vector<Answer> &list, const DeviceRequest &target, std::size_t n);

  const FrameTensors &frame_;
  const int width_, height_, bins_;
  const BatchMemory memory_ = {};
  Arena inputs_, work_, answers_;
  std::array<Grids, kCellImages> grids_;
  std::array<int, kCellImages + 1> first_ = {};  // grids before an image's own
  inthist::correlation::cuda::GridJob *grid_jobs_ = nullptr;
  CellsOnDevice *cells_ = nullptr;
  std::vector<Answer> matches_, candidates_, responses_;
};

}  // namespace integralhist
