// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The logarithm of the odds that a target exists and is not a false box of the detector. Each
// detection of the target raises the odds, and each run of the detector that misses the target
// lowers the odds, because false boxes come less regularly (D. Musicki, R. Evans and S. Stankovic,
// "Integrated probabilistic data association", IEEE Transactions on Automatic Control 39, 1994).
#pragma once

#include <algorithm>

namespace integralhist {

class Existence {
public:
  /// Notes a detection of the target. A weak one, which is not sure, raises the odds less.
  void hit (bool is_sure) { log_odds_ = std::min (log_odds_ + (is_sure ? kHit : kWeakHit), kMax); }
  void miss (unsigned runs) { log_odds_ = std::max (log_odds_ - runs * kMiss, kMin); }
  void make_reportable () { log_odds_ = std::max (log_odds_, kReportable); }

  bool is_reportable () const { return log_odds_ >= kReportable; }
  /// Returns whether nearly all of the detector's last runs have found the target.
  bool is_certain () const { return log_odds_ >= kCertain; }
  bool is_likely () const { return log_odds_ >= 0; }
  bool is_hopeless () const { return log_odds_ <= kHopeless; }

private:
  // all in log odds
  static constexpr double kHit = 1, kWeakHit = 0.3, kMiss = 0.8;
  static constexpr double kReportable = 0.5, kHopeless = -2, kMin = -3, kMax = 5, kCertain = 4;

  double log_odds_ = -kHit;
};

}  // namespace integralhist
