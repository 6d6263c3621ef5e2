// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers that cudaintegralhist offers to upstream, and that tests fill with frames.
#pragma once

#include <cstring>
#include <memory>

#include "pipelines.hpp"

constexpr Setup kSetups[] = {
  { "cudaintegralhist", "bins=32", "", "cpu" },
  { "cudaintegralhist", "bins=32", "", "cuda" },
};

using Query = std::unique_ptr<GstQuery, Unref>;

/// Asks the element about buffers for these caps.
inline Query allocation_of (const Harness &harness, const std::string &caps_text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text.c_str ());
  Query query (gst_query_new_allocation (caps, TRUE));
  gst_pad_peer_query (harness.get ()->srcpad, query.get ());
  return query;
}

/// The pool that the element offers, with at most `most` buffers, or a pool of plain memory if the
/// element offers none.
class Pool {
public:
  Pool (const Harness &harness, const std::string &caps_text, guint most)
  {
    const Query query = allocation_of (harness, caps_text);
    guint size = guint (info_of (caps_text).size);
    if (gst_query_get_n_allocation_pools (query.get ()) > 0)
      gst_query_parse_nth_allocation_pool (query.get (), 0, &pool_, &size, nullptr, nullptr);
    offered = pool_;
    if (!pool_)
      pool_ = gst_video_buffer_pool_new ();
    GstStructure *config = gst_buffer_pool_get_config (pool_);
    g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text.c_str ());
    gst_buffer_pool_config_set_params (config, caps, size, 1, most);
    fail_unless (gst_buffer_pool_set_config (pool_, config)
                 && gst_buffer_pool_set_active (pool_, TRUE));
  }
  ~Pool ()
  {
    gst_buffer_pool_set_active (pool_, FALSE);
    gst_object_unref (pool_);
  }
  Pool (const Pool &) = delete;

  /// Returns a buffer of the pool, filled with noise.
  GstBuffer *frame (Random &random)
  {
    GstBuffer *buffer = nullptr;
    GstBufferPoolAcquireParams params = {};
    params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
    for (int ms = 0; gst_buffer_pool_acquire_buffer (pool_, &buffer, &params) != GST_FLOW_OK;
         ms++) {
      fail_unless (ms < 2000, "a buffer does not come back");
      g_usleep (1000);
    }
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
    for (gsize i = 0; i + 4 <= map.size; i += 4) {
      const guint32 word = random ();
      std::memcpy (map.data + i, &word, 4);
    }
    gst_buffer_unmap (buffer, &map);
    return buffer;
  }

  bool offered;

private:
  GstBufferPool *pool_ = nullptr;
};

/// A test of each available `setup`. SETUP_TEST_FROM (name, 1) leaves out the CPU, number 0.
#define SETUP_TEST(name) SETUP_TEST_FROM (name, 0)
#define SETUP_TEST_FROM(name, first) \
  static void name##_of (const Setup &setup); \
  TEST_RANGE (name, first, std::size (kSetups)) \
  { \
    if (have (kSetups[__i__].backend)) \
      name##_of (kSetups[__i__]); \
  } \
  static void name##_of ([[maybe_unused]] const Setup &setup)
