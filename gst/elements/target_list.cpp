// SPDX-License-Identifier: LGPL-2.1-or-later
#include "target_list.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "counted.hpp"
#include "parse.hpp"

GST_DEBUG_CATEGORY_EXTERN (integralhisttrack_debug);
#define GST_CAT_DEFAULT integralhisttrack_debug

namespace integralhist {

static constexpr guint kMaxTargets = 1000;
// Shares of both boxes, or of the smaller one, from which on a detection is a target's.
static constexpr double kCovers = 0.3, kContains = 0.7;

/// A target, and what the list knows of it.
struct TargetList::Followed {
  const guint id;
  const gint parent;  // the detection that started it, or -1
  const bool configured;
  std::variant<Target, CorrelationTarget> target;
  GstClockTime first_seen, last_seen;
  guint lost_frames = 0;

  TargetBox box () const
  {
    return std::visit ([] (const auto &its) { return its.box (); }, target);
  }
  bool is_lost () const
  {
    return std::visit ([] (const auto &its) { return its.is_lost (); }, target);
  }
  bool is_empty () const
  {
    return std::visit ([] (const auto &its) { return its.is_empty (); }, target);
  }
  double confidence () const
  {
    return std::visit ([] (const auto &its) { return its.confidence (); }, target);
  }
  void restart (const TargetBox &at)
  {
    std::visit ([&] (auto &its) { its.restart (at); }, target);
  }
  /// Returns the target as one of this kind; it starts again if it was of the other.
  template <class Kind>
  Kind &as ()
  {
    Kind *const its = std::get_if<Kind> (&target);
    return its ? *its : target.emplace<Kind> (box ());
  }
};

static double area_of (const GstVideoRectangle &box)
{
  return double (box.w) * box.h;
}

/// Returns the area that two boxes share, in pixels.
static double shared_area (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  const double w = std::min (a.x + double (a.w), b.x + double (b.w)) - std::max (a.x, b.x);
  const double h = std::min (a.y + double (a.h), b.y + double (b.h)) - std::max (a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0;
}

static bool is_covered (const GstVideoRectangle &detection, const GstVideoRectangle &target)
{
  const double both = shared_area (detection, target);
  const double a = area_of (detection), b = area_of (target);
  return both > kCovers * (a + b - both) || both > kContains * std::min (a, b);
}

TargetList::TargetList (gpointer element) : element_ (element) {}

TargetList::~TargetList () = default;

void TargetList::add (const GstVideoRectangle &box, gint parent, bool configured,
                      const TargetFrame &frame)
{
  if (followed_.size () >= kMaxTargets) {
    if (!std::exchange (excess_warned_, true))
      GST_WARNING_OBJECT (element_, "%u targets are the most: others are not followed",
                          kMaxTargets);
    return;
  }
  const guint id = next_id_++;
  GST_INFO_OBJECT (element_, "target %u starts at %d,%d %dx%d", id, box.x, box.y, box.w, box.h);
  followed_.push_back (std::make_unique<Followed> (
      Followed{ id, parent, configured, Target (frame.in_tensor (box)), frame.time, frame.time }));
}

Expected<> TargetList::configure (const std::string &text, const TargetFrame &frame)
{
  if (configured_ == text)
    return {};
  const auto boxes = TRY (parse_regions (text, "targets"));
  std::erase_if (followed_, [] (const auto &followed) { return followed->configured; });
  for (const GstVideoRectangle &box : boxes) {
    if (frame.clip (box).w == 0)
      return error (Error::Kind::bad_setting, "targets=\"", text, "\": ", box.x, ",", box.y, ",",
                    box.w, ",", box.h, " lies outside of the ", frame.width, "x", frame.height,
                    " frame: set targets that lie in it, x,y,width,height");
    add (box, -1, true, frame);
  }
  configured_ = text;
  empty_warned_ = false;
  return {};
}

void TargetList::detect (const Detection &detection, const TargetFrame &frame)
{
  const GstVideoRectangle box = frame.clip (detection.box);
  Followed *lost = nullptr;
  for (const auto &followed : followed_)
    if (is_covered (box, frame.in_frame (followed->box ()))) {
      if (!followed->is_lost ())
        return;
      lost = followed.get ();
    }
  if (box.w == 0)
    return;
  if (lost)
    lost->restart (frame.in_tensor (box));
  else
    add (box, detection.id, false, frame);
}

void TargetList::start (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (frame.clip (box).w > 0)
    add (box, -1, false, frame);
}

void TargetList::drop_at (double x, double y, const TargetFrame &frame)
{
  std::erase_if (followed_, [&] (const auto &followed) {
    const GstVideoRectangle box = frame.in_frame (followed->box ());
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
  });
}

void TargetList::warn_of_empty (const Followed &followed, const TargetFrame &frame)
{
  if (std::exchange (empty_warned_, true))
    return;
  const GstVideoRectangle box = frame.in_frame (followed.box ());
  GST_ELEMENT_WARNING (
      element_, RESOURCE, SETTINGS,
      ("Target %u has no pixel that counts, and is lost: set targets to a box that "
       "has some, or feature of cudaintegralhist to one that counts its pixels, as "
       "hue-saturation counts gray ones, which have no hue.",
       followed.id),
      ("it is at %d,%d,%d,%d, and counted is %s", box.x, box.y, box.w, box.h,
       settings_of (counted_of (frame.histogram)).c_str ()));
}

Expected<> TargetList::follow (const TrackOptions &options, const TargetFrame &frame)
{
  std::vector<Target *> targets;
  for (const auto &followed : followed_)
    targets.push_back (&followed->as<Target> ());
  TRY (integralhist::follow (frame.histogram, options, targets));
  note_followed (frame);
  return {};
}

Expected<> TargetList::follow (const FrameTensors &tensors, unsigned lost_after,
                               const TargetFrame &frame)
{
  for (const auto &followed : followed_)
    TRY (followed->as<CorrelationTarget> ().follow (tensors, lost_after));
  note_followed (frame);
  return {};
}

void TargetList::note_followed (const TargetFrame &frame)
{
  for (const auto &followed : followed_)
    if (followed->is_lost ()) {
      if (followed->is_empty ())
        warn_of_empty (*followed, frame);
      followed->lost_frames++;
    } else {
      followed->lost_frames = 0;
      followed->last_seen = frame.time;
    }
}

void TargetList::forget (guint frames)
{
  if (frames > 0)
    std::erase_if (followed_, [&] (const auto &followed) {
      return !followed->configured && followed->lost_frames > frames;
    });
}

std::vector<Track> TargetList::tracks (const TargetFrame &frame) const
{
  std::vector<Track> tracks;
  for (const auto &followed : followed_)
    tracks.push_back ({ followed->id, followed->parent,
                        frame.clip (frame.in_frame (followed->box ())), followed->confidence (),
                        followed->is_lost (), followed->first_seen, followed->last_seen });
  return tracks;
}

void TargetList::clear ()
{
  followed_.clear ();
  configured_.reset ();
}

void TargetList::reset ()
{
  clear ();
  next_id_ = 1;
}

}  // namespace integralhist
