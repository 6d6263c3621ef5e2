// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times each feature, from a frame in I420 to its integral histogram, next to the time of luma.
//
//   features [--device cpu|cuda] [--size WxH] [--bins N] [--in-flight N] [--seconds S]
//            [--frame FILE]
//
// FILE has a frame in I420, whose rows are a multiple of four bytes; without it pixels are noise.
// Frames lie on the device. On a GPU two are in flight, each on a stream of its own; on the CPU all
// cores work on one. Each row takes turns with luma, which is measured anew before each row, and
// times are medians of laps. Joint features and patterns have their own number of bins: they are
// compared with luma of as many bins.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include <kernels/clock.hpp>
#include <kernels/features/weight.hpp>
#include <kernels/inthist.hpp>
#include <kernels/registry.hpp>
#include <memory.hpp>
#include <text.hpp>

#include "../support/command_line.hpp"

using namespace inthist;
using namespace inthist::check;

namespace {

struct Settings {
  Device device = Device::cpu;
  int width = 1920, height = 1080, bins = 32, in_flight = 2;
  double seconds = 0.05;
  Bytes frame;
};

/// BT.601 of 8 bits to RGB, nearly: what a frame's colours are does not matter here.
ColourTransform to_rgb ()
{
  return { false,
           { { 76309, 0, 104597 }, { 76309, -25675, -53279 }, { 76309, 132201, 0 } },
           { -14576513, 8926083, -18109830 } };
}

struct Counting {
  Feature feature = Feature::luma;
  Weight weight = Weight::one;
  bool soft = false;

  std::string name () const
  {
    return std::string (info_of (feature).nick) + (weight == Weight::gradient ? " weighted" : "")
           + (soft ? " soft" : "");
  }
  bool is_weighted () const { return weight != Weight::one || soft; }
  int bins (int wanted) const
  {
    const FeatureInfo &info = info_of (feature);
    if (info.bins > 0)
      return info.bins;
    int n = 1;
    for (const int parts : info.quantization)
      n *= std::max (parts, 1);
    return info.is_joint () ? n : wanted;
  }
};

/// Frames of one kind in flight.
class Bench {
public:
  Bench (const Settings &settings, const Counting &counting, int bins)
      : settings_ (settings), shape_ ({ settings.width, settings.height, bins, Type::u32,
                                        counting.is_weighted () ? Content::weights : Content::bins,
                                        counting.is_weighted () ? Type::u32 : Type::u8 }),
        strategy_ (*preferred_strategy (settings.device, shape_)),
        lut_ (counting.soft ? uniform_lut (256) : lut_of_feature (counting.feature, bins)),
        image_ (allocate (settings.device,
                          2 * std::size_t (stride_of (settings)) * (settings.height + 1)))
  {
    const int height = settings.height, stride = stride_of (settings), half = stride / 2;
    const std::size_t luma = std::size_t (stride) * height,
                      chroma = std::size_t (half) * ((height + 1) / 2);
    Bytes frame = settings.frame;
    if (frame.empty ()) {
      std::mt19937 random (1);
      frame.resize (luma + 2 * chroma);
      for (auto &byte : frame)
        byte = std::uint8_t (random () >> 24);
    }
    if (frame.size () != luma + 2 * chroma)
      throw std::runtime_error ("the frame has " + std::to_string (frame.size ()) + " bytes, not "
                                + std::to_string (luma + 2 * chroma));
    copy (settings.device, image_.get (), frame.data (), frame.size ());
    Image &image = binning_.image;
    image.data = image_.get ();
    image.stride = stride;
    image.rows = height;
    image.chroma[0] = { image_.get () + luma, half };
    image.chroma[1] = { image_.get () + luma + chroma, half };
    PixelFormat &format = image.format;
    format.feature = counting.feature;
    format.quantization = info_of (counting.feature).quantization;
    if (info_of (counting.feature).is_gradient)
      format.quantization[0] = std::uint8_t (bins);
    format.n_planes = 3;
    format.channel[0] = { 0, 1, 1 };
    format.channel[1] = { 1, 1, 1, 0, 0, 1, 1 };
    format.channel[2] = { 2, 1, 1, 0, 0, 1, 1 };
    if (info_of (counting.feature).reads == Reads::rgb)
      format.transform = to_rgb ();
    format.pixel_weight = counting.weight;
    if (counting.soft)
      format.soft = SoftBins::of (counting.feature, bins);
    binning_.lut = lut_;
    const int lanes = settings.device == Device::cuda ? settings.in_flight : 1;
    const std::size_t tensor = tensor_bytes (shape_), pixels = binned_stride (shape_) * height;
    for (int i = 0; i < lanes; i++) {
      queues_.emplace_back (std::make_unique<Queue> (settings.device));
      lanes_.push_back ({ allocate (settings.device, tensor), allocate (settings.device, pixels),
                          allocate (settings.device, strategy_.workspace_bytes (shape_, {})) });
    }
  }

  /// Microseconds of a frame, of which `lanes` are in flight, or all.
  double frame (std::size_t lanes = 0)
  {
    return time (lanes ? lanes : lanes_.size (), [this] (Lane &lane, Queue &queue) {
      must (run (strategy_, { .shape = shape_,
                              .layout = layout_of (shape_),
                              .pixels = plane_in (lane),
                              .tensor = lane.tensor.get (),
                              .workspace = lane.workspace.get (),
                              .stream = queue.stream,
                              .binning = &binning_ }));
    });
  }

  /// Microseconds of its bins.
  double bins_alone ()
  {
    return time (1, [this] (Lane &lane, [[maybe_unused]] Queue &queue) {
#if INTHIST_CUDA
      if (settings_.device == Device::cuda)
        return must (
            cuda::bin_image (binning_, shape_.width, shape_.height, plane_in (lane), queue.stream));
#endif
      must (cpu::bin_image (binning_, shape_.width, shape_.height, plane_in (lane)));
    });
  }

private:
  static int stride_of (const Settings &settings)
  {
    return (settings.width + 3) / 4 * 4;
  }

  struct Lane {
    Memory tensor, pixels, workspace;
  };

  PixelPlane plane_in (Lane &lane) const
  {
    return { lane.pixels.get (), binned_stride (shape_) };
  }

  static void must (int error)
  {
    if (error != 0)
      throw std::runtime_error ("error " + std::to_string (error));
  }

  double time (std::size_t lanes, const std::function<void (Lane &, Queue &)> &enqueue)
  {
    const auto lap = [&] (int frames) {
      const auto start = Clock::now ();
      for (int i = 0; i < frames; i++)
        enqueue (lanes_[i % lanes], *queues_[i % lanes]);
      for (const auto &queue : queues_)
        queue->wait ();
      return seconds_since (start) / frames;
    };
    const int few = int (lanes);
    lap (few);
    const int frames = int (std::clamp (settings_.seconds / 5 / lap (few), double (few), 2000.0));
    std::vector<double> laps;
    for (int i = 0; i < 5; i++)
      laps.push_back (lap (frames));
    std::ranges::nth_element (laps, laps.begin () + 2);
    return laps[2] * 1e6;
  }

  const Settings settings_;
  const Shape shape_;
  const Strategy &strategy_;
  const Lut lut_;
  Memory image_;
  Binning binning_ = {};
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<Lane> lanes_;
};

void print_row (const Settings &settings, const Counting &counting)
{
  const int bins = counting.bins (settings.bins);
  Bench luma (settings, {}, bins), own (settings, counting, bins);
  const double bins_alone = own.bins_alone (), alone = own.frame (1), of_luma = luma.frame (),
               of_own = own.frame ();
  printf ("%-26s %4d %10.1f %10.1f %10.1f %10.1f %8.2f\n", counting.name ().c_str (), bins,
          bins_alone, alone, of_own, of_luma, of_luma / of_own);
  fflush (stdout);
}

int run_rows (const Settings &settings)
{
  printf ("%dx%d on %s, microseconds of bin_image, of a frame, and of one of %d in flight\n"
          "%-26s %4s %10s %10s %10s %10s %8s\n",
          settings.width, settings.height, settings.device == Device::cuda ? "CUDA" : "the CPU",
          settings.device == Device::cuda ? settings.in_flight : 1, "feature", "bins", "bin_image",
          "alone", "in flight", "luma's", "speed");
  for (int f = 0; f < int (std::size (kFeatures)); f++)
    print_row (settings, { Feature (f) });
  for (const Feature feature : { Feature::gradient, Feature::luma, Feature::hue })
    for (const bool soft : { false, true })
      print_row (settings, { feature, Weight::gradient, soft });
  print_row (settings, { Feature::luma, Weight::one, true });
  return 0;
}

}  // namespace

int main (int argc, char **argv)
{
  Settings settings;
  std::string device = "cpu";
  const auto read_frame = [&] (const std::string &path) {
    std::ifstream file (path, std::ios::binary);
    settings.frame.assign (std::istreambuf_iterator<char> (file), {});
    return bool (file);
  };
  command_line::read (argc, argv,
                      "usage: features [--device cpu|cuda] [--size WxH] [--bins N] [--in-flight N] "
                      "[--seconds S] [--frame FILE]\n",
                      { { "--device", command_line::text (device, { "cpu", "cuda" }) },
                        { "--size", command_line::size (settings.width, settings.height, 1, 8192) },
                        { "--in-flight", command_line::number (settings.in_flight, 1, 16) },
                        { "--bins", command_line::number (settings.bins, 1, 180) },
                        { "--seconds", command_line::number (settings.seconds, 1e-6) },
                        { "--frame", read_frame } });
  settings.device = device == "cpu" ? Device::cpu : Device::cuda;
  try {
    return run_rows (settings);
  } catch (const std::exception &error) {
    fprintf (stderr, "features: %s\n", error.what ());
    return 1;
  }
}
