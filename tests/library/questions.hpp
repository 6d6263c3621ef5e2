// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the tests of questions: frames that come out of pipelines, questions, and the right
// answers.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "formulas.hpp"
#include "measures.hpp"
#include "pipelines.hpp"

using Measure = GstIntegralHistogramMeasure;
using Grid = GstIntegralHistogramGrid;
using Best = GstIntegralHistogramBest;
using Search = GstIntegralHistogramSearch;
using Rectangle = GstVideoRectangle;
using Model = std::vector<gfloat>;

constexpr struct Source {
  const char *pattern;
  int width, height;
  guint bins;
  const char *counter;
  bool has_uncounted = false;  // pixels that are in no bin

  /// Returns the bin of each value, 255 for none.
  std::array<guint8, 256> table () const
  {
    std::array<guint8, 256> table;
    for (guint value = 0; value < 256; value++)
      table[value] = guint8 (has_uncounted && value % 96 < 40 ? 255 : value * bins / 256);
    return table;
  }
} kSources[] = {
  { "snow", 97, 61, 16, "u32" },
  { "smpte", 320, 240, 32, "u16" },  // which has windows of more than 65535 pixels
  { "snow", 133, 97, 7, "u16" },
  { "smpte", 211, 330, 16, "u8-tiled" },
  { "ball", 160, 120, 256, "u32" },
  { "snow", 1, 1, 3, "u32" },
  { "gradient", 64, 48, 1, "u16" },
  { "snow", 97, 61, 16, "u32", true },
  { "gradient", 211, 130, 5, "u8-tiled", true },
};

/// A frame that has come out of a pipeline.
class Frame {
public:
  /// `element` may have others before it.
  Frame (const Source &source, const char *backend, const char *element = "cudaintegralhist")
      : sample_ (sample (source, backend, element)), table_ (source.table ()),
        picture (picture_of (sample_)), histogram (meta_of (sample_)->histogram),
        bins (gst_integral_histogram_get_bins (histogram))
  {
  }

  /// The part of a window that is inside the frame.
  Rectangle clip (gint64 x, gint64 y, int width, int height) const
  {
    const gint64 left = std::max<gint64> (x, 0), top = std::max<gint64> (y, 0);
    const gint64 right = std::min<gint64> (x + width, picture.width),
                 bottom = std::min<gint64> (y + height, picture.height);
    return right > left && bottom > top
               ? Rectangle{ int (left), int (top), int (right - left), int (bottom - top) }
               : Rectangle{};
  }

  /// Counts the pixels of each bin in a window.
  Sums count (const Rectangle &clipped) const
  {
    return count_pixels (picture.luma, picture.width, clipped, int (bins), std::span (table_));
  }

  /// Returns each bin's share of the pixels in a window.
  Weights histogram_of (const Rectangle &clipped) const
  {
    return shares_of_pixels (count (clipped), guint64 (clipped.w) * guint64 (clipped.h));
  }

  /// Models to look for: a window of the picture, counted and not divided by anything; a few bins
  /// of all; and all alike.
  std::vector<Model> models (Random &random) const
  {
    const Sums seen = count (clip (picture.width / 4, picture.height / 4, picture.width / 3 + 1,
                                   picture.height / 3 + 1));
    Model few (bins), even (bins, 0.7f);
    few[random () % bins] += 30;
    few[random () % bins] += 10;
    return { { seen.begin (), seen.end () }, few, even };
  }

private:
  static Sample sample (const Source &source, const char *backend, const std::string &element)
  {
    std::string line =
        std::string ("videotestsrc num-buffers=1 pattern=") + source.pattern
        + " ! video/x-raw,format=" + (element.find ("cudaupload") == 0 ? "I420" : "GRAY8")
        + ",width=" + std::to_string (source.width) + ",height=" + std::to_string (source.height)
        + " ! " + element + " backend=" + backend;
    if (element.ends_with ("cudaintegralhist"))
      line += " bins=" + std::to_string (source.bins) + " counter=" + source.counter;
    if (source.has_uncounted) {
      line += " lut=";
      for (const int bin : source.table ())
        line += (line.back () == '=' ? "\"" : ",") + std::to_string (bin);
      line += "\"";
    }
    return sample_of (line + " ! appsink name=sink");
  }

  const Sample sample_;
  const std::array<guint8, 256> table_;

public:
  const Picture picture;
  GstIntegralHistogram *const histogram;
  const guint bins;
};

/// Grids of several sizes, over the borders of the frame and nowhere near it.
inline std::vector<Grid> grids_of (const Picture &picture)
{
  const int w = picture.width, h = picture.height;
  return { { w / 4 + 1, h / 3 + 1, 0, 0, 1 + w / 9, 1 + h / 7, 7, 5 },
           { w / 2 + 1, h / 2 + 1, -w, -h, w / 5 + 1, h / 2 + 1, 11, 5 },
           { w, h, 0, 0, 1, 1, 1, 1 },
           { 1, 1, w - 3, h - 2, 1, 1, 7, 4 },
           { 9, 6, -7, -9, 3, 2, 13, 9 } };
}

inline std::vector<Rectangle> rectangles_of (const Picture &picture, int n, Random &random)
{
  const int w = picture.width, h = picture.height;
  std::vector<Rectangle> rectangles = {
    { 0, 0, w, h }, { -5, -7, w + 20, h + 20 }, { w, 0, 5, 5 }, { 3, 3, 0, 4 }, { w / 2, 0, w, h }
  };
  while (int (rectangles.size ()) < n)
    rectangles.push_back ({ between (random, -w / 2, w), between (random, -h / 2, h),
                            between (random, 0, w), between (random, 0, h) });
  return rectangles;
}

/// The windows of these grids inside the frame, one grid after another.
inline std::vector<Rectangle> windows_of (const Frame &frame, const std::vector<Grid> &grids)
{
  std::vector<Rectangle> windows;
  for (const Grid &grid : grids)
    for (int j = 0; j < grid.rows; j++)
      for (int i = 0; i < grid.columns; i++)
        windows.push_back (frame.clip (grid.x + gint64 (i) * grid.step_x,
                                       grid.y + gint64 (j) * grid.step_y, grid.window_width,
                                       grid.window_height));
  return windows;
}

/// Memory for answers, with bytes behind it that must stay.
template <class Answer>
class Room {
public:
  explicit Room (std::size_t n) : n_ (n), all_ (n + kBehind)
  {
    std::memset (static_cast<void *> (all_.data ()), 0xa5, all_.size () * sizeof (Answer));
  }
  ~Room ()
  {
    const auto *const end = reinterpret_cast<const guint8 *> (all_.data () + n_);
    fail_unless (std::all_of (end, end + kBehind * sizeof (Answer),
                              [] (guint8 byte) { return byte == 0xa5; }),
                 "wrote behind the answers");
  }

  Answer *data () { return all_.data (); }
  const Answer &operator[] (std::size_t i) const { return all_[i]; }

private:
  static constexpr std::size_t kBehind = 16;
  const std::size_t n_;
  std::vector<Answer> all_;
};

/// Checks that a question of these arguments fails, and that the message says `why`.
template <class Question, class... Arguments>
void expect_failure (GstIntegralHistogramError code, const char *why, Question &&question,
                     Arguments... arguments)
{
  g_autoptr (GError) error = nullptr;
  fail_unless (!question (arguments..., &error), "answered, and must say: %s", why);
  fail_unless (error, "no error, and must say: %s", why);
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR, code)
                   && strstr (error->message, why),
               "%s %d: %s; must say: %s", g_quark_to_string (error->domain), error->code,
               error->message, why);
  question (arguments..., nullptr);
}

/// Checks that a wrong question fails as a wrong question, and that the message says `why`.
template <class Question, class... Arguments>
void expect_refusal (const char *why, Question &&question, Arguments... arguments)
{
  expect_failure (GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION, why, question, arguments...);
}

/// Compares the counts of windows with those of the pixels.
inline void expect_counts (const Frame &frame, const std::vector<Rectangle> &windows,
                           Room<guint32> &counts)
{
  for (std::size_t i = 0; i < windows.size (); i++) {
    const auto &[x, y, w, h] = windows[i];
    fail_unless (std::ranges::equal (frame.count (frame.clip (x, y, w, h)),
                                     std::span (counts.data () + i * frame.bins, frame.bins)),
                 "wrong counts in window %zu, %d,%d %dx%d", i, x, y, w, h);
  }
}

inline void expect_near (Measure measure, const Rectangle &window, double got, double wanted)
{
  fail_unless (std::fabs (got - wanted) <= 1e-5 * std::max (1.0, std::fabs (wanted)),
               "%s of %d,%d %dx%d is %.8g, must be %.8g", name_of (measure), window.x, window.y,
               window.w, window.h, got, wanted);
}

/// Checks that `best` is the best of the answers to a grid, or to a list (null).
inline void expect_best (Measure measure, const Grid *grid, int n, const gfloat *values,
                         const Best &best)
{
  const int truth =
      best_of (name_of (measure), std::span (values, std::size_t (n)), grid ? grid->columns : 0);
  fail_unless (best.index == truth && best.value == values[truth],
               "%s: the best is %d (%g), must be %d (%g)", name_of (measure), best.index,
               best.value, truth, values[truth]);
}

/// Checks the best of each of several grids.
inline void expect_bests (Measure measure, const std::vector<Grid> &grids, const gfloat *maps,
                          const Room<Best> &bests)
{
  for (std::size_t g = 0; g < grids.size (); g++) {
    const int n = grids[g].columns * grids[g].rows;
    expect_best (measure, &grids[g], n, maps, bests[g]);
    maps += n;
  }
}

inline bool same (const Best &a, const Best &b)
{
  return a.value == b.value && a.index == b.index;
}

/// Patches in and around a window, some of no pixels, each with a model.
struct Target {
  std::vector<Rectangle> patches;
  Model models;
  guint rank;

  Target (const Frame &frame, int n, Random &random) : rank (random () % unsigned (n))
  {
    const int w = frame.picture.width, h = frame.picture.height;
    const auto all = frame.models (random);
    for (int p = 0; p < n; p++) {
      patches.push_back ({ between (random, -2, w / 2), between (random, -2, h / 2),
                           between (random, 0, w / 2), between (random, 0, h / 2) });
      const Model &model = all[random () % all.size ()];
      models.insert (models.end (), model.begin (), model.end ());
    }
  }

  Search on (const Grid &grid) const
  {
    return { grid, patches.data (), guint (patches.size ()), models.data (), rank };
  }

  /// The vote for a window with this first pixel.
  double vote (const Frame &frame, Measure measure, gint64 x, gint64 y) const
  {
    Weights votes;
    for (std::size_t p = 0; p < patches.size (); p++) {
      const auto &[dx, dy, w, h] = patches[p];
      const std::span model (models.data () + p * frame.bins, frame.bins);
      votes.push_back (formula (name_of (measure),
                                frame.histogram_of (frame.clip (x + dx, y + dy, w, h)),
                                model_of (name_of (measure), model)));
    }
    std::ranges::sort (votes);
    return is_similarity (name_of (measure)) ? votes[votes.size () - 1 - rank] : votes[rank];
  }
};

/// Returns whether there are a GPU and cudaupload, and prints what is missing.
inline bool have_upload ()
{
  if (!have ("cuda"))
    return false;
  g_autoptr (GstElementFactory) factory = gst_element_factory_find ("cudaupload");
  if (!factory)
    printf ("SKIP: frames in CUDA memory: no element cudaupload\n");
  return factory != nullptr;
}
