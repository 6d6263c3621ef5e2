// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formats that the elements take.
#pragma once

constexpr const char *kFormats[] = { "GRAY8",      "GRAY16_LE", "NV12", "NV21", "I420",
                                     "YV12",       "Y42B",      "Y444", "YUY2", "UYVY",
                                     "RGB",        "BGR",       "RGBx", "BGRx", "xRGB",
                                     "xBGR",       "RGBA",      "BGRA", "ARGB", "ABGR",
                                     "RGB10A2_LE", "BGR10A2_LE" };
