// SPDX-License-Identifier: LGPL-2.1-or-later
//
// OpenCV's cv::integral makes tables of u8, with or without squares, and a row and a column of
// zeros before a plane. It knows no bins: of a histogram it sums a mask a bin. Masks are 255, and
// their sums 255 times ours.
#include <cstring>
#include <thread>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "../text.hpp"
#include "peers.hpp"

namespace inthist::check {
namespace {

using Frame = std::function<void (const Slot &)>;

/// Adds the frame with one thread, and with all.
void add_frames (std::vector<Candidate> &list, const std::string &what, const Frame &frame,
                 const std::function<std::string (const Bytes &)> &wrong)
{
  std::vector<int> thread_counts = { 1 };
  if (const int cores = int (std::thread::hardware_concurrency ()); cores > 1)
    thread_counts.push_back (cores);
  for (const int threads : thread_counts)
    list.push_back (
        { .name = "opencv",
          .mode = text ("%s%d thread%s", what.c_str (), threads, threads == 1 ? "" : "s"),
          .frame =
              [=] (const Slot &slot) {
                if (cv::getNumThreads () != threads)
                  cv::setNumThreads (threads);
                frame (slot);
              },
          .wrong = wrong });
}

void add_histogram (Rig &rig, std::vector<Candidate> &list)
{
  const Shape &shape = rig.shape;
  const Layout layout = rig.layout_with_border ();
  const auto masks = std::make_shared<std::vector<cv::Mat>> (shape.bins);
  const auto frame = [=, &rig] (const Slot &slot) {
    const cv::Mat image (shape.height, shape.width, CV_8U, rig.images[slot.lane].get ());
    cv::parallel_for_ (cv::Range (0, shape.bins), [&] (const cv::Range &range) {
      for (int b = range.start; b < range.end; b++) {
        const int low = (b * 256 + shape.bins - 1) / shape.bins,
                  high = ((b + 1) * 256 - 1) / shape.bins;
        cv::Mat sums (shape.height + 1, shape.width + 1, CV_32S,
                      slot.tensor + b * layout.plane_pitch, layout.row_pitch);
        cv::inRange (image, low, high, (*masks)[b]);
        cv::integral ((*masks)[b], sums, CV_32S);
      }
    });
  };
  add_frames (list, "", frame, [=, &rig] (const Bytes &slot) {
    return rig.input.truth.difference_with_border ({ slot, 0, layout }, 255);
  });
}

/// Squares are of s32, or of f64, OpenCV's own choice, which takes the room of two planes.
void add_table (Rig &rig, std::vector<Candidate> &list)
{
  const Shape &shape = rig.shape;
  const Layout layout = rig.layout_with_border ();
  const auto frame_of = [&] (int squares) {
    return [=, &rig] (const Slot &slot) {
      const int rows = shape.height + 1, columns = shape.width + 1;
      const cv::Mat image (shape.height, shape.width, CV_8U, rig.images[slot.lane].get (),
                           rig.input.c.stride ());
      cv::Mat sums (rows, columns, CV_32S, slot.tensor, layout.row_pitch);
      if (shape.bins == 1)
        return cv::integral (image, sums, CV_32S);
      cv::Mat second (rows, columns, squares, slot.tensor + layout.plane_pitch,
                      layout.row_pitch * (squares == CV_64F ? 2 : 1));
      cv::integral (image, sums, second, CV_32S, squares);
    };
  };
  add_frames (list, shape.bins == 1 ? "" : "s32, ", frame_of (CV_32S),
              [=, &rig] (const Bytes &slot) {
                return rig.input.truth.difference_with_border ({ slot, 0, layout }, 1);
              });
  if (shape.bins == 2)
    add_frames (list, "f64, ", frame_of (CV_64F), [=, &rig] (const Bytes &slot) {
      Bytes words = slot;
      for (int y = 0; y <= shape.height; y++)
        for (int x = 0; x <= shape.width; x++) {
          double square;
          std::memcpy (&square, &slot[layout.plane_pitch + 2 * y * layout.row_pitch + x * 8], 8);
          const auto word = std::uint32_t (std::uint64_t (square));
          std::memcpy (&words[layout.plane_pitch + y * layout.row_pitch + x * 4], &word, 4);
        }
      return rig.input.truth.difference_with_border ({ words, 0, layout }, 1);
    });
}

}  // namespace

void add_opencv (Rig &rig, std::vector<Candidate> &list)
{
  rig.shape.content == Content::bins ? add_histogram (rig, list) : add_table (rig, list);
}

}  // namespace inthist::check
