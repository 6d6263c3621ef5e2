// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Events that change the scores of cudaintegralimage. The truth is the sum of the scores of the
// pixels, one by one.
#include <array>
#include <cstdio>
#include <random>
#include <thread>

#include "tables.hpp"
#include "test.hpp"

namespace {

using Lut = std::array<guint8, 256>;

constexpr int kWidth = 40, kHeight = 30;

Lut some_lut (unsigned seed)
{
  std::mt19937 random (seed);
  Lut lut;
  for (guint8 &score : lut)
    score = guint8 (random () >> 24);
  return lut;
}

/// Sends a frame of noise, whose sums must be those of the scores, and whose seqnum must be
/// `seqnum`.
void expect (GstHarness *h, unsigned seed, const Lut &lut, guint32 seqnum)
{
  const GstVideoInfo info = gray (kWidth, kHeight);
  GstBuffer *in = noise (info, seed);
  auto scores = luma (info, in, 0, 0);
  for (guint8 &score : scores)
    score = lut[score];
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
  check_sums ("scores", out, scores, 2);
  fail_unless_equals_int (int (gst_integral_histogram_get_lut_seqnum (tables_of (out))),
                          int (seqnum));
}

std::string text_of (const Lut &lut)
{
  std::string text;
  for (const guint8 score : lut)
    text += std::to_string (score) + " ";
  return text;
}

}  // namespace

TEST (made_and_read)
{
  const Lut lut = some_lut (1);
  g_autoptr (GstEvent) event = gst_integral_image_lut_event_new (lut.data ());
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_CUSTOM_UPSTREAM);
  fail_unless (gst_event_has_name (event, GST_INTEGRAL_IMAGE_LUT_EVENT));
  g_autoptr (GError) error = nullptr;
  g_autoptr (GBytes) scores = gst_integral_image_lut_event_parse (event, &error);
  fail_unless (scores && !error);
  gsize n = 0;
  const gconstpointer read = g_bytes_get_data (scores, &n);
  fail_unless (n == lut.size () && memcmp (read, lut.data (), n) == 0);

  g_autoptr (GstEvent) other = gst_event_new_eos ();
  fail_unless (!gst_integral_image_lut_event_parse (other, &error));
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION)
               && strstr (error->message, "the event has no LUT"));
}

/// The scores of an event hold from the next frame on, until another event or the property comes.
BACKEND_TEST (from_the_next_frame_on)
{
  for (const char *compute : { "auto", "eager", "on-demand" })
    for (const char *sync : { "false", "true" }) {
      const Lut first = some_lut (2);
      Harness h (std::string ("cudaintegralimage name=image squared=true tuning-time=0 backend=")
                     + backend + " compute=" + compute + " sync=" + sync + " lut=\""
                     + text_of (first) + "\"",
                 kGray40x30);
      expect (h, 3, first, GST_SEQNUM_INVALID);
      for (unsigned i = 0; i < 20; i++) {
        const Lut lut = some_lut (100 + i);
        GstEvent *event = gst_integral_image_lut_event_new (lut.data ());
        const guint32 seqnum = gst_event_get_seqnum (event);
        fail_unless (gst_harness_push_upstream_event (h, event));
        expect (h, 4 + i, lut, seqnum);
        expect (h, 5 + i, lut, seqnum);
      }
      g_autoptr (GstElement) image = gst_harness_find_element (h, "cudaintegralimage");
      g_object_set (image, "lut", text_of (first).c_str (), nullptr);
      expect (h, 6, first, GST_SEQNUM_INVALID);
    }
}

/// cudaintegralhist lets the event pass upstream; cudaintegralimage takes it.
TEST (other_elements)
{
  for (const bool hist : { false, true }) {
    Harness h (hist ? "cudaintegralhist backend=cpu" : "cudaintegralimage backend=cpu", kGray40x30);
    const Lut lut = some_lut (7);
    gst_harness_push_upstream_event (h, gst_integral_image_lut_event_new (lut.data ()));
    bool passed = false;
    while (GstEvent *event = gst_harness_try_pull_upstream_event (h)) {
      passed |= bool (gst_event_has_name (event, GST_INTEGRAL_IMAGE_LUT_EVENT));
      gst_event_unref (event);
    }
    fail_unless_equals_int (passed, hist);
  }
}

/// Another thread sends events while frames pass: each frame has the scores that its seqnum says,
/// from the first pixel to the last.
TEST (from_another_thread)
{
  Harness h ("cudaintegralimage squared=true tuning-time=0 backend=cpu", kGray40x30);
  constexpr unsigned kEvents = 200;
  std::vector<std::pair<guint32, Lut>> sent (1);
  for (int value = 0; value < 256; value++)
    sent[0].second[std::size_t (value)] = guint8 (value);
  sent[0].first = GST_SEQNUM_INVALID;
  std::vector<GstEvent *> events;
  for (unsigned i = 0; i < kEvents; i++) {
    const Lut lut = some_lut (i);
    events.push_back (gst_integral_image_lut_event_new (lut.data ()));
    sent.emplace_back (gst_event_get_seqnum (events.back ()), lut);
  }
  std::thread sender ([&] {
    for (GstEvent *event : events) {
      gst_harness_push_upstream_event (h, event);
      g_usleep (200);
    }
  });
  const GstVideoInfo info = gray (kWidth, kHeight);
  std::size_t last = 0;
  for (unsigned i = 0; i < 300; i++) {
    GstBuffer *in = noise (info, i);
    auto scores = luma (info, in, 0, 0);
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    const guint32 seqnum = gst_integral_histogram_get_lut_seqnum (tables_of (out));
    while (last < sent.size () && sent[last].first != seqnum)
      last++;
    fail_unless (last < sent.size (), "frame %u goes back to other scores", i);
    for (guint8 &score : scores)
      score = sent[last].second[score];
    check_sums ("scores", out, scores, 2);
  }
  sender.join ();
}
