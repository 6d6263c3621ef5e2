// SPDX-License-Identifier: LGPL-2.1-or-later
#include "target_list.hpp"

#include <algorithm>
#include <utility>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/api/histogram_spec.hpp>
#include <gst/track/association/appearance.hpp>
#include <gst/track/association/detection_matching.hpp>
#include <gst/track/association/motion.hpp>
#include <gst/track/base/log.hpp>

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {

static constexpr guint kMaxTargets = 1000;
// How far a target may be from where it is expected, in sides of its box: at once, more with each
// frame, and at most.
static constexpr double kGate = 0.5, kGateGrowth = 0.1, kMaxGate = 3;
// How far a target may come from where its velocity takes it in one frame, likewise.
static constexpr double kMotionSpread = 0.5;
static constexpr guint kMaxShared = 5;  // frames on one spot

/// A target, and what the list knows of it.
struct TargetList::TrackedTarget {
  const guint id;
  const gint parent;  // the detection that started it, or -1
  const bool configured;
  std::unique_ptr<Target> target;  // null before it is followed
  GstClockTime first_seen, last_seen;
  guint lost_frames = 0;

  bool is_detected = false;          // some detection was its
  bool is_matched = false;           // one of this frame is
  bool waits = false;                // lost, and only a detection brings it back,
  bool waits_for_detector = false;   // as long as there is a detector,
  TargetBox place = {};              // to here; where it starts, before it is followed
  guint misses = 0;                  // frames of the detector in a row
  guint shares = 0;                  // frames in a row on one spot with another
  bool yields = false;               // to that one: it is lost as long as they are there
  bool is_hidden = false;            // no pixel of the frame shows it: it is lost so long
  double shared_confidence = 0;      // the sum of its confidence there
  std::vector<guint> together = {};  // ids of those on whose spot it started: that was wanted
  std::string kind = {};             // of the last detection,
  std::optional<double> sure = {};   // and its confidence
  std::optional<guint> mtd = {};     // of this frame's detection
  Appearance appearance = {};        // when it was detected last
  Motion motion = {};

  TargetBox box () const { return waits || !target ? place : target->box (); }
  /// Returns whether nothing is followed.
  bool is_gone () const { return waits || (target && target->is_lost ()); }
  bool is_lost () const { return yields || is_hidden || is_gone (); }
  bool is_empty () const { return !waits && target && target->is_empty (); }
  double own_confidence () const { return target ? target->confidence () : 1; }
  double confidence () const { return is_lost () ? 0 : own_confidence (); }
  bool began_with (const TrackedTarget &other) const
  {
    return std::ranges::count (together, other.id) > 0;
  }
  void wait (bool for_detector = false)
  {
    if (!waits)
      place = box ();
    waits = true;
    waits_for_detector = for_detector;
  }
  void restart (const TargetBox &at)
  {
    waits = is_hidden = false;
    if (target)
      target->restart (at);
    else
      place = at;
  }
  /// Returns the target as one of this method. If it was of another it starts again, or waits where
  /// it is lost: nothing is known by which to look for it. Null while it waits.
  Target *of (const TrackingMethod &method)
  {
    if (!waits && (!target || target->method != &method)) {
      if (is_gone ())
        wait ();
      else
        target = method.make_target (box ());
    }
    return waits ? nullptr : target.get ();
  }
  /// Returns what its detections tell of how it moves.
  ExpectedMotion expected_motion () const
  {
    if (!motion.has_velocity () || is_lost ())
      return {};
    const TargetBox now = box (), next = motion.expected (now);
    return { next.x - now.x, next.y - now.y, kMotionSpread };
  }
  /// Returns how far it may be from where it is expected, in sides of its box.
  double reach () const
  {
    return std::min (kGate + kGateGrowth * (is_lost () ? motion.unseen () : motion.undetected ()),
                     kMaxGate);
  }
};

TargetList::TargetList (gpointer logged_as, Warn warn)
    : logged_as_ (logged_as), warn_ (std::move (warn))
{
}

TargetList::~TargetList () = default;

TargetList::TrackedTarget *TargetList::add (const GstVideoRectangle &box, gint parent,
                                            bool configured, const TargetFrame &frame)
{
  if (targets_.size () >= kMaxTargets) {
    if (!std::exchange (excess_warned_, true))
      GST_WARNING_OBJECT (logged_as_, "%u targets are the most: others are not followed",
                          kMaxTargets);
    return nullptr;
  }
  const guint id = next_id_++;
  GST_INFO_OBJECT (logged_as_, "target %u starts at %d,%d %dx%d", id, box.x, box.y, box.w, box.h);
  auto tracked = std::make_unique<TrackedTarget> (
      TrackedTarget{ id, parent, configured, nullptr, frame.time, frame.time });
  tracked->place = frame.in_tensor (box);
  const auto seen =
      [&] (const TrackedTarget &its) {  // a named box may be far larger than the frame
        return frame.in_tensor (frame.clip (frame.in_frame (its.box ())));
      };
  for (const auto &other : targets_)
    if (!other->is_gone () && are_on_one_spot (seen (*other), seen (*tracked)))
      tracked->together.push_back (other->id);
  return targets_.emplace_back (std::move (tracked)).get ();
}

namespace {

bool are_equal (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

/// Returns boxes as users write them, "x,y,width,height;...".
std::string text_of (const std::vector<GstVideoRectangle> &boxes)
{
  std::string text;
  for (const GstVideoRectangle &box : boxes)
    text += joined (text.empty () ? "" : ";", box.x, ",", box.y, ",", box.w, ",", box.h);
  return text;
}

}  // namespace

Expected<> TargetList::configure (const ListOptions &options, const TargetFrame &frame)
{
  options_ = options;
  if (configured_ && std::ranges::equal (*configured_, options.targets, are_equal))
    return {};
  std::erase_if (targets_, [] (const auto &tracked) { return tracked->configured; });
  for (const GstVideoRectangle &box : options.targets) {
    if (frame.clip (box).w == 0)
      return error (Error::Kind::bad_setting, "targets=\"", text_of (options.targets),
                    "\": ", text_of ({ box }), " lies outside of the ", frame.width, "x",
                    frame.height, " frame: set targets that lie in it, x,y,width,height");
    add (box, -1, true, frame);
  }
  configured_ = options.targets;
  empty_warned_ = false;
  return {};
}

bool TargetList::is_in_area (const GstVideoRectangle &box) const
{
  const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
  return options_.area.empty ()
         || std::ranges::any_of (options_.area, [&] (const GstVideoRectangle &part) {
              return x >= part.x && x < double (part.x) + part.w && y >= part.y
                     && y < double (part.y) + part.h;
            });
}

void TargetList::fit (GstIntegralHistogram *colours, const TargetFrame &frame)
{
  const int width = int (gst_integral_histogram_get_width (frame.histogram)),
            height = int (gst_integral_histogram_get_height (frame.histogram));
  if (width_ > 0 && (width != width_ || height != height_)) {
    const double x = double (width) / width_, y = double (height) / height_;
    for (const auto &tracked : targets_) {
      tracked->place = resized (tracked->place, x, y);
      if (tracked->target)
        tracked->target->resize (x, y);
      tracked->motion.forget_places ();
    }
  }
  width_ = width;
  height_ = height;
  if (spec_ && *spec_ != spec_of (colours))
    for (const auto &tracked : targets_)
      tracked->appearance.clear ();
  spec_ = spec_of (colours);
}

namespace {

/// Returns the detections inside of the frame, in pixels of the tensor. Of several on one spot the
/// surest counts, or the first.
std::vector<std::pair<const Detection *, SoughtDetection>>
sought (const std::vector<Detection> &detections, const TargetFrame &frame)
{
  std::vector<std::pair<const Detection *, SoughtDetection>> kept;
  std::vector<const Detection *> order;
  for (const Detection &detection : detections)
    order.push_back (&detection);
  std::ranges::stable_sort (order, std::ranges::greater{}, [] (const Detection *its) {
    const double unsaid = its->bad_confidence.empty () ? 1 : -G_MAXDOUBLE;
    return its->confidence.value_or (unsaid);
  });
  for (const Detection *const detection : order) {
    if (kept.size () == kMaxTargets)
      break;  // the least sure
    const GstVideoRectangle part = frame.clip (detection->box);
    const TargetBox box = frame.in_tensor (part);
    if (part.w > 0 && std::ranges::none_of (kept, [&] (const auto &other) {
          return are_on_one_spot (box, other.second.box);
        }))
      kept.push_back ({ detection, { box, {}, detection->kind } });
  }
  return kept;
}

}  // namespace

void TargetList::warn_of_confidence (const std::vector<Detection> &detections)
{
  const auto bad = std::ranges::find_if (
      detections, [] (const Detection &its) { return !its.bad_confidence.empty (); });
  if (bad == detections.end () || std::exchange (confidence_warned_, true))
    return;
  warn_ ({ TrackWarning::Kind::bad_confidence,
           joined ("The confidence of a detection is no finite number but ", bad->bad_confidence,
                   ": such a detection counts as the least sure. Let the detector write a number, "
                   "such as confidence=(double)0.75."),
           joined ("it is at ", text_of ({ bad->box })) });
}

Expected<> TargetList::detect (const std::vector<Detection> &all, GstIntegralHistogram *colours,
                               const TargetFrame &frame)
{
  for (const auto &tracked : targets_) {
    tracked->is_matched = false;
    tracked->mtd.reset ();
  }
  const unsigned looks = pace_.note (!all.empty ());
  if (!pace_.is_known ())
    for (const auto &tracked : targets_)
      if (std::exchange (tracked->waits_for_detector, false))
        tracked->waits = false;
  warn_of_confidence (all);
  const auto kept = sought (all, frame);
  std::vector<SoughtDetection> detections;
  std::vector<TargetBox> boxes;
  for (const auto &[its, detection] : kept) {
    detections.push_back (detection);
    boxes.push_back (detection.box);
  }
  const auto appearances = TRY (appearances_of (colours, boxes));
  for (std::size_t d = 0; d < detections.size (); d++)
    detections[d].appearance = appearances[d];
  std::vector<SoughtTarget> targets;
  if (!detections.empty ())
    for (const auto &tracked : targets_)
      targets.push_back ({ { tracked->motion.expected (tracked->box ()),
                             tracked->motion.expected_by_detections (tracked->box ()) },
                           tracked->is_detected && !tracked->is_lost () && tracked->misses == 0,
                           tracked->reach (),
                           tracked->appearance,
                           tracked->kind });
  const std::vector<int> detection_of = match_detections (targets, detections);

  const auto take = [&] (TrackedTarget &tracked, std::size_t d) {
    tracked.is_detected = tracked.is_matched = true;
    tracked.yields = false;
    tracked.misses = 0;
    tracked.kind = kept[d].first->kind;
    tracked.sure = kept[d].first->confidence;
    tracked.mtd = kept[d].first->mtd;
    tracked.appearance = appearances[d];
    tracked.motion.detect (boxes[d]);
  };
  std::vector<char> taken (detections.size ());
  for (std::size_t t = 0; t < detection_of.size (); t++)
    if (const int d = detection_of[t]; d >= 0) {
      targets_[t]->restart (boxes[std::size_t (d)]);
      take (*targets_[t], std::size_t (d));
      taken[std::size_t (d)] = 1;
    }
  for (const auto &tracked : targets_)
    if (tracked->is_detected && !tracked->is_matched)
      tracked->misses += looks;
  // a second box of what is there already starts nothing
  const auto is_there = [&] (std::size_t d) {
    return std::ranges::any_of (targets_, [&] (const auto &tracked) {
      return !tracked->is_lost () && are_on_one_spot (tracked->box (), boxes[d]);
    });
  };
  for (std::size_t d = 0; d < detections.size (); d++)
    if (const GstVideoRectangle box = frame.clip (kept[d].first->box);
        !taken[d] && is_in_area (box) && !is_there (d))
      if (TrackedTarget *const tracked = add (box, kept[d].first->id, false, frame))
        take (*tracked, d);
  return {};
}

void TargetList::start (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (frame.clip (box).w > 0)
    add (box, -1, false, frame);
}

void TargetList::drop_at (double x, double y, const TargetFrame &frame)
{
  std::erase_if (targets_, [&] (const auto &tracked) {
    const GstVideoRectangle box = frame.in_frame (tracked->box ());
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
  });
}

void TargetList::warn_of_empty (const TrackedTarget &tracked, const TargetFrame &frame)
{
  if (std::exchange (empty_warned_, true))
    return;
  const GstVideoRectangle box = frame.in_frame (tracked.box ());
  warn_ ({ TrackWarning::Kind::empty_target,
           joined ("Target ", tracked.id,
                   " has no pixel that counts, and is lost: set targets to a box that has some, or "
                   "feature of cudaintegralhist to one that counts its pixels, as hue-saturation "
                   "counts gray ones, which have no hue."),
           joined ("it is at ", text_of ({ box }), ", and counted is ",
                   settings_of (spec_of (frame.histogram))) });
}

Expected<> TargetList::follow (TrackingMethod &method, const TargetFrame &frame)
{
  std::vector<TrackingMethod::Step> steps;
  for (const auto &tracked : targets_)
    if (Target *const target = tracked->of (method))
      steps.push_back ({ target, tracked->expected_motion () });
  TRY (method.follow (steps));
  note_tracked (frame);
  return {};
}

void TargetList::note_tracked (const TargetFrame &frame)
{
  for (const auto &tracked : targets_) {
    tracked->is_hidden = frame.clip (frame.in_frame (tracked->box ())).w == 0;
    if (tracked->is_lost ()) {
      if (tracked->is_empty ())
        warn_of_empty (*tracked, frame);
      tracked->lost_frames++;
      tracked->motion.miss ();
      // the detector tells better than a search of the frame where it is
      if (tracked->is_detected && pace_.is_known () && !tracked->waits)
        tracked->wait (true);
    } else {
      tracked->lost_frames = 0;
      tracked->last_seen = frame.time;
      if (!tracked->is_matched)
        tracked->motion.follow (tracked->box ());
    }
  }
}

/// Ends one of two targets that are on one spot for some frames: the one that the detector has not
/// seen for longer, or else the younger.
void TargetList::end_on_one_spot ()
{
  const auto may_go = [] (const TrackedTarget &its) { return its.is_detected && !its.configured; };
  std::vector<char> shares (targets_.size ());
  for (std::size_t i = 0; i < targets_.size (); i++)
    for (std::size_t j = i + 1; j < targets_.size (); j++) {
      const TrackedTarget &a = *targets_[i], &b = *targets_[j];
      if (a.is_lost () || b.is_lost () || (a.is_matched && b.is_matched)
          || !are_on_one_spot (a.box (), b.box ()))
        continue;
      if (may_go (a) && (a.misses > b.misses || !may_go (b)))
        shares[i] = 1;
      else if (may_go (b))
        shares[j] = 1;
    }
  for (std::size_t i = 0; i < targets_.size (); i++)
    if (TrackedTarget &tracked = *targets_[i]; may_go (tracked)) {
      tracked.shares = shares[i] ? tracked.shares + 1 : 0;
      if (tracked.shares >= kMaxShared)
        tracked.wait ();
    }
}

/// Has a target yield to a more confident one on its spot, of those that no detector has seen, and
/// so cannot bring back. It is lost as long as it is there, give or take some frames, and is
/// followed on.
void TargetList::yield_on_one_spot ()
{
  std::vector<TrackedTarget *> all;
  for (const auto &tracked : targets_)
    if (!tracked->is_detected && !tracked->is_gone ())
      all.push_back (tracked.get ());
    else
      tracked->yields = false;
  const auto share = [] (const TrackedTarget *a, const TrackedTarget *b) {
    return a != b && are_on_one_spot (a->box (), b->box ()) && !a->began_with (*b)
           && !b->began_with (*a);
  };
  for (TrackedTarget *const its : all)
    if (std::ranges::any_of (all,
                             [&] (const TrackedTarget *other) { return share (its, other); })) {
      its->shares = std::min (its->shares + 1, 2 * kMaxShared);
      its->shared_confidence += its->own_confidence ();
    } else if (its->shares > 0 && --its->shares == 0) {
      its->shared_confidence = 0;
    }
  // who yields stays behind, else the most confident one comes first
  std::ranges::stable_sort (all, {}, [] (const TrackedTarget *its) {
    return std::pair (its->yields, -its->shared_confidence);
  });
  std::vector<const TrackedTarget *> staying;
  for (TrackedTarget *const its : all) {
    its->yields =
        its->shares >= kMaxShared
        && (its->yields || std::ranges::any_of (staying, [&] (const TrackedTarget *other) {
              return share (its, other);
            }));
    if (!its->yields)
      staying.push_back (its);
  }
}

void TargetList::end (const TargetFrame &frame)
{
  for (const auto &tracked : targets_)
    if (options_.max_misses > 0 && tracked->misses >= options_.max_misses)
      tracked->wait ();
  end_on_one_spot ();
  yield_on_one_spot ();
  std::erase_if (targets_, [&] (const auto &tracked) {
    return !is_in_area (frame.in_frame (tracked->box ()))
           || (options_.forget_after > 0 && !tracked->configured
               && tracked->lost_frames > options_.forget_after);
  });
}

std::vector<TrackedBox> TargetList::tracks (const TargetFrame &frame) const
{
  std::vector<TrackedBox> tracks;
  for (const auto &tracked : targets_)
    tracks.push_back (
        { { tracked->id, tracked->parent, frame.nearest (frame.in_frame (tracked->box ())),
            tracked->confidence (), tracked->is_lost (), tracked->kind, tracked->sure },
          tracked->first_seen,
          tracked->last_seen,
          tracked->mtd });
  return tracks;
}

void TargetList::clear ()
{
  targets_.clear ();
  configured_.reset ();
  pace_ = {};
}

void TargetList::reset ()
{
  clear ();
  next_id_ = 1;
  confidence_warned_ = false;
}

}  // namespace integralhist
