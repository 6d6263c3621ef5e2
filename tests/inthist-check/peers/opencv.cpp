// SPDX-License-Identifier: LGPL-2.1-or-later
//
// OpenCV's cv::integral knows one plane and sums, not bins: a mask a bin. Its masks are 255, its
// sums 255 times ours, and it puts a row and a column of zeros before a plane.
#include <thread>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "../text.hpp"
#include "peers.hpp"

namespace inthist::check {

void add_opencv (Rig &rig, std::vector<Candidate> &list)
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
  std::vector<int> thread_counts = { 1 };
  if (const int cores = int (std::thread::hardware_concurrency ()); cores > 1)
    thread_counts.push_back (cores);
  for (const int threads : thread_counts)
    list.push_back (
        { .name = "opencv",
          .mode = text ("%d thread%s", threads, threads == 1 ? "" : "s"),
          .frame =
              [=] (const Slot &slot) {
                if (cv::getNumThreads () != threads)
                  cv::setNumThreads (threads);
                frame (slot);
              },
          .wrong =
              [=, &rig] (const Bytes &slot) {
                return rig.input.truth.difference_with_border ({ slot, 0, layout }, 255);
              } });
}

}  // namespace inthist::check
