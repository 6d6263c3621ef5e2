// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistoverlay draws trails behind tracks.
#include <functional>

#include "drawn.hpp"
#include "test.hpp"

namespace {

/// A track that goes ten pixels to the right in each frame, on row 50, in a box of two pixels.
class Walk {
public:
  explicit Walk (const std::string &properties) : overlay_ (properties, caps_of ("GRAY8", 300, 100))
  {
  }

  /// Sends a frame with the track, or without it if `seen` is false.
  void step (bool seen = true, const char *type = "track")
  {
    GstBuffer *in = overlay_.even (20);
    if (seen)
      add_roi (in, type, 1, { 10 * frames_ + 9, 49, 2, 2 });
    frames_++;
    bytes_ = overlay_.bytes (in);
  }
  /// Brightness of the trail between the centres in frames `i` and `i + 1`.
  int between (int i) const { return bytes_[gsize (50 * 300 + 10 * i + 15)] - 20; }
  bool is_empty () { return overlay_.leaves_alone (overlay_.even (20)); }
  Overlay &overlay () { return overlay_; }

private:
  Overlay overlay_;
  int frames_ = 0;
  std::vector<guint8> bytes_;
};

}  // namespace

TEST (trails_grow)
{
  Walk walk ("trail=5");
  for (int n = 0; n < 12; n++) {
    walk.step ();
    // five points have four gaps between them, the oldest the faintest
    for (int i = 0; i < n; i++) {
      fail_unless_equals_int (walk.between (i) > 0, i >= n - 4);
      if (i > n - 4)
        fail_unless (walk.between (i) > walk.between (i - 1) + 10, "frame %d, gap %d: %d after %d",
                     n, i, walk.between (i), walk.between (i - 1));
    }
  }
  walk.overlay ().set ("trail", 2);
  walk.step ();
  fail_unless (walk.between (11) > 0 && walk.between (10) == 0);
  walk.overlay ().set ("trail", 0);
  walk.step ();
  fail_unless_equals_int (walk.between (12), 0);
}

/// Two ids have a trail each, and other types have none.
TEST (trails_by_id)
{
  Overlay overlay ("trail=9", caps_of ("GRAY8", 100, 100));
  std::vector<guint8> bytes;
  for (int i = 0; i < 3; i++) {
    GstBuffer *in = overlay.even (20);
    add_roi (in, "track", 1, { 19 + 20 * i, 19, 2, 2 });
    add_roi (in, "track", 2, { 19 + 20 * i, 79, 2, 2 });
    add_roi (in, "track", 2, { 60, 90, 2, 2 });  // a second track of that id changes nothing
    add_roi (in, "face", 3, { 19 + 20 * i, 59, 2, 2 });
    bytes = overlay.bytes (in);
  }
  for (int y = 0; y < 100; y++)
    fail_unless_equals_int (bytes[gsize (100 * y + 50)] > 20,
                            y == 19 || y == 20 || y == 79 || y == 80);
}

TEST (trails_end)
{
  // a track that is gone fades for as many frames as its trail has points
  Walk walk ("trail=4");
  for (int i = 0; i < 4; i++)
    walk.step ();
  int before = walk.between (2);
  for (int i = 0; i < 3; i++) {
    walk.step (false);
    fail_unless (walk.between (2) > 0 && walk.between (2) < before, "after %d frames: %d", i + 1,
                 walk.between (2));
    before = walk.between (2);
  }
  fail_unless (walk.is_empty ());
  walk.step ();
  fail_unless (walk.between (3) == 0, "the new trail has points of the old");

  const std::pair<const char *, std::function<void (Overlay &)>> breaks[] = {
    { "nothing", [] (Overlay &) {} },
    { "the same caps",
      [] (Overlay &overlay) {
        g_autoptr (GstCaps) caps = gst_caps_from_string (caps_of ("GRAY8", 300, 100).c_str ());
        gst_harness_push_event (overlay.get (), gst_event_new_caps (caps));
      } },
    { "other caps",
      [] (Overlay &overlay) {
        g_autoptr (GstCaps) caps = gst_caps_from_string (caps_of ("GRAY8", 300, 102).c_str ());
        gst_harness_push_event (overlay.get (), gst_event_new_caps (caps));
        overlay.info = info_of (caps_of ("GRAY8", 300, 102));
      } },
    { "a segment", [] (Overlay &overlay) { overlay.push_segment (GST_SECOND); } },
    { "a flush", [] (Overlay &overlay) { overlay.flush (); } },
    { "a second run",
      [] (Overlay &overlay) {
        gst_element_set_state (overlay.get ()->element, GST_STATE_READY);
        gst_harness_play (overlay.get ());
        overlay.set_caps (caps_of ("GRAY8", 300, 100));
        overlay.push_segment ();
      } },
  };
  for (const auto &[name, interrupt] : breaks) {
    Walk other ("trail=9");
    for (int i = 0; i < 3; i++)
      other.step ();
    interrupt (other.overlay ());
    fail_unless (other.is_empty ()
                     == (std::string (name) != "nothing" && std::string (name) != "the same caps"),
                 "%s", name);
  }
}
