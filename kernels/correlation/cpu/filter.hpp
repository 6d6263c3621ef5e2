// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A correlation filter that finds a target in its surroundings: multiplied with the surroundings'
// spectrum, it gives a peak where the target is.
//
// Only cells inside the target's box have a weight, so the surroundings may be large: all shifts of
// them are true examples of what is not the target (H. Kiani Galoogahi, A. Fagg and S. Lucey,
// "Learning background-aware correlation filters for visual tracking", ICCV 2017). The lower the
// learning rate, the nearer a new filter stays to the last filter (F. Li et al., "Learning
// spatial-temporal regularized correlation filters for visual tracking", CVPR 2018). With the
// spectra x of the channels, the wanted response y and the last filter p, a filter v minimises
//
//     | sum x v - y |^2 + mu |v - p|^2     where v has weights only inside the box.
//
// ADMM solves this in rounds (S. Boyd et al., "Distributed optimization and statistical learning
// via the alternating direction method of multipliers", 2011). It adds the penalty rho |v - (g -
// h)|^2. A round computes v, g and h, in this order:
//
//   v   the best weights without a box. Each frequency has a solution in closed form
//   g   v + h without the weights outside of the box
//   h   h + v - g, the scaled dual variable: the sum of all differences of v and g so far
//
// At first g is the last filter, and h is 0. rho grows from round to round. The last g is the new
// filter.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "channels.hpp"
#include "fft.hpp"

namespace inthist::correlation {

/// Returns the spectra of a square's channels, which are stored as [y][x][channel].
ComplexArray spectra_of (std::span<const float> channels);

/// Shifts the channels that spectra belong to by cells, or by fractions of a cell. Cells that leave
/// the square on one side come in on the other.
void shift_spectra (ComplexArray &spectra, double x, double y);
/// Returns the phase factors by which shift_spectra () multiplies frequencies: a complex number for
/// each x up to kGrid / 2, then for each y.
std::vector<std::complex<double>> phase_factors (double x, double y);

/// The response that a filter learns to give to a box in the middle, and the cells in the box. The
/// box's size is in cells.
struct FilterBox {
  FilterBox (double width, double height);

  std::vector<float> wanted;              // spectrum of the wanted response, which is real
  std::vector<float> inside;              // share of each cell in the box, divided by kFilterCells
  std::vector<std::uint8_t> rows_inside;  // whether a row of cells is partly in the box
};

/// The penalty terms that keep the weights v of a frequency near other weights: rho |v - (g - h)|^2
/// + mu |v - last|^2. A null h stands for zeros.
struct ProximalTerms {
  const ComplexArray &g, *h, &last;
  float mu, rho;
};

class CorrelationFilter {
public:
  bool has_started () const { return box_.has_value (); }
  /// Moves the weights by `share`, 0 to 1, towards those of an earlier filter of the target.
  void remember (const CorrelationFilter &before, double share);
  /// Learns from the spectra of the first surroundings, with the target's box in the middle.
  void start (const ComplexArray &spectra, FilterBox box);
  /// Learns from the surroundings in a later frame. The rate is above 0 and at most 1. Another
  /// thread may call respond () at the same time, because responses change only with renew ().
  void learn (const ComplexArray &spectra, double rate);
  void renew () { used_ = v_; }
  /// Returns the response to each shift by whole cells, as [y][x]. An index of kGrid / 2 or more
  /// stands for the negative shift index - kGrid, to the left or up.
  std::vector<float> respond (const ComplexArray &spectra) const;
  /// Returns the weights of all channels as [y][x][channel]. They are mirrored: the cell x cells
  /// left of the middle is at index kGrid / 2 - 1 + x.
  std::vector<float> weights () const;

  // The learned state of the filter, which is copied to a GPU and back.
  const ComplexArray &spectra () const { return v_; }
  const FilterBox &box () const { return *box_; }
  float energy () const { return energy_; }
  void set (FilterBox box, ComplexArray spectra, float energy)
  {
    box_ = std::move (box);
    v_ = std::move (spectra);
    energy_ = energy;
    for (ComplexArray *const spectrum : { &g_, &h_, &last_ })
      if (spectrum->size () == 0)
        *spectrum = ComplexArray (v_.size ());
    renew ();
  }

private:
  void solve (const ComplexArray &spectra, const Penalties &penalties, int rounds);
  void keep_inside (const ComplexArray *more, ComplexArray &weights);

  std::optional<FilterBox> box_;
  float energy_ = 0;  // of the first surroundings
  ComplexArray v_, g_, h_, last_;
  ComplexArray used_;  // as of renew ()
};

}  // namespace inthist::correlation
