// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The headers that most files include, parsed once for each library and test program instead of
// once for each file. Only builds with sanitizers use it (-Db_pch=true of .ci/run): other builds
// compile each file with only its own headers, and so find missing ones.
#ifndef INTEGRALHIST_PCH
#define INTEGRALHIST_PCH

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gst/gst.h>
#include <gst/video/video.h>

#endif
