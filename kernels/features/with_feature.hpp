// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Maps the number of a feature (enum Feature) to the type with the feature's function.
#pragma once

#include "gradient.hpp"
#include "joint.hpp"
#include "lbp.hpp"

namespace inthist {

/// The feature whose value is the byte of the first plane, such as luma or a label.
struct PlainPixel {
  static constexpr Reads kReads = Reads::luma;

  HOST_DEVICE static std::uint8_t value_of (const Pixel &pixel)
  {
    return std::uint8_t (pixel.luma[1][1]);
  }
};

/// Calls the function `body` with an object of the type that has the feature's function.
template <class Body>
auto with_feature (Feature feature, Body &&body)
{
  switch (feature) {
    case Feature::luma:
    case Feature::labels: return body (PlainPixel{});
    case Feature::red: return body (OneColour<0>{});
    case Feature::green:
    case Feature::cb: return body (OneColour<1>{});
    case Feature::blue:
    case Feature::cr: return body (OneColour<2>{});
    case Feature::hue: return body (Hue{});
    case Feature::saturation: return body (Saturation{});
    case Feature::value: return body (Value{});
    case Feature::rgb:
    case Feature::ycbcr: return body (JointColour{});
    case Feature::hue_saturation: return body (HueSaturation{});
    case Feature::hsv: return body (JointHsv{});
    case Feature::gradient: return body (Gradient<false>{});
    case Feature::signed_gradient: return body (Gradient<true>{});
    case Feature::lbp: return body (Lbp{});
    case Feature::uniform_lbp: break;
  }
  return body (UniformLbp{});
}

}  // namespace inthist
