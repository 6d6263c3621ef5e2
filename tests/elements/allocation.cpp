// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element offers upstream memory that needs no copy, and enough buffers for the frames in
// flight. It reads the CUDA memory of other elements where it lies.
#include "offered_buffers.hpp"
#include "test.hpp"

namespace {

std::string first_allocator (const Query &query)
{
  if (gst_query_get_n_allocation_params (query.get ()) == 0)
    return "";
  g_autoptr (GstAllocator) allocator = nullptr;
  gst_query_parse_nth_allocation_param (query.get (), 0, &allocator, nullptr);
  return allocator ? allocator->mem_type : "";
}

}  // namespace

/// The element offers upstream memory that needs no copy, and buffers for the frames in flight.
SETUP_TEST (offer)
{
  Random random (seed ());
  const bool cuda = g_str_equal (setup.backend, "cuda");
  const std::string caps = caps_of ("I420", 322, 242);
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (setup, "async-depth=5"));
  harness.set_caps (caps);
  const Query query = allocation_of (harness, caps);
  if (!cuda) {
    fail_unless_equals_int (gst_query_get_n_allocation_pools (query.get ()),
                            0);  // as downstream says
    return;
  }
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query.get ()), 1);
  guint size, least, most;
  gst_query_parse_nth_allocation_pool (query.get (), 0, nullptr, &size, &least, &most);
  fail_unless (size >= info.size && least >= 5 && most == 0, "%u bytes, %u to %u buffers", size,
               least, most);
  fail_unless (first_allocator (query) == "IntegralHistPinned", "%s",
               first_allocator (query).c_str ());

  Pool pool (harness, caps, 0);
  fail_unless (pool.offered);
  const guint64 picture = guint64 (info.width) * guint64 (info.height);
  for (guint64 i = 1; i <= 10; i++) {
    GstBuffer *frame = pool.frame (random);
    const Picture pixels = picture_of (frame, info);
    const Buffer out = harness.pass (frame);
    expect_none (complaint (histogram_of (out), pixels, random));
    fail_unless_equals_uint64 (harness.stat_of (setup.element, "bytes-up"), i * picture);
    fail_unless_equals_uint64 (harness.stat_of (setup.element, "bytes-staged"), 0);
  }
  harness.pass (noise (info, 1));
  fail_unless_equals_uint64 (harness.stat_of (setup.element, "bytes-up"), 11 * picture);
  fail_unless_equals_uint64 (harness.stat_of (setup.element, "bytes-staged"), picture);
}

/// A source that asks for buffers writes into the offered ones. On the CPU none are offered.
SETUP_TEST_FROM (source, 1)
{
  Pipeline pipeline (
      snow (setup, "num-buffers=20", "width=322,height=242", "", "wait-on-eos=false"));
  pipeline.set_state (GST_STATE_PLAYING);
  pipeline.wait_for_eos ();
  g_autoptr (GstElement) element = pipeline.element ("hist");
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  double upload = 0, compute = 0;
  fail_unless (gst_structure_get (stats, "upload-us-mean", G_TYPE_DOUBLE, &upload,
                                  "compute-us-mean", G_TYPE_DOUBLE, &compute, nullptr));
  fail_unless_equals_uint64 (stat_of (element, "frames"), 20);
  fail_unless_equals_uint64 (stat_of (element, "bytes-up"), 20 * 322 * 242);
  fail_unless_equals_uint64 (stat_of (element, "bytes-staged"), 0);
  fail_unless (upload > 0 && compute > 0, "no time was measured");
}

/// CUDA memory under caps that do not say so, as cudadownload passes it on: the element reads it
/// where it lies, and its pool learns how many frames are in flight.
SETUP_TEST_FROM (disguised, 1)
{
  Random random (seed ());
  const std::string caps = caps_of ("NV12", 322, 242);
  std::string cuda_caps = caps;
  cuda_caps.replace (0, std::strlen ("video/x-raw"), "video/x-raw(memory:CUDAMemory)");
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (setup, "async-depth=5"));
  harness.set_caps (caps);
  const Query query = allocation_of (harness, cuda_caps);
  if (gst_query_get_n_allocation_pools (query.get ()) == 0) {
    printf ("SKIP: CUDA memory: this build has no libgstcuda\n");
    return;
  }
  guint least = 0;
  gst_query_parse_nth_allocation_pool (query.get (), 0, nullptr, nullptr, &least, nullptr);
  fail_unless (least >= 5, "%u buffers", least);
  Pool pool (harness, cuda_caps, 0);
  for (int i = 0; i < 10; i++) {
    GstBuffer *frame = pool.frame (random);
    const Picture picture = picture_of (frame, info);
    const Buffer out = harness.pass (frame);
    expect_none (complaint (histogram_of (out), picture, random), "frame " + std::to_string (i));
  }
  fail_unless_equals_uint64 (harness.stat_of (setup.element, "frames"), 10);
  fail_unless_equals_uint64 (harness.stat_of (setup.element, "bytes-up"), 0);
}

namespace {

struct OtherAllocator {
  GstAllocator parent;
};
struct OtherAllocatorClass {
  GstAllocatorClass parent_class;
};
GType other_allocator_get_type ();
G_DEFINE_TYPE (OtherAllocator, other_allocator, GST_TYPE_ALLOCATOR)

void other_allocator_class_init (OtherAllocatorClass *) {}

void other_allocator_init (OtherAllocator *allocator)
{
  GST_ALLOCATOR_CAST (allocator)->mem_type = "Other";
}

}  // namespace

/// Upstream gets the memory that an element downstream needs.
SETUP_TEST (others_memory)
{
  const std::string caps = caps_of ("GRAY8", 64, 48);
  Harness harness (line_of (setup, ""));
  auto *other = static_cast<GstAllocator *> (g_object_new (other_allocator_get_type (), nullptr));
  gst_harness_set_propose_allocator (harness.get (),
                                     GST_ALLOCATOR_CAST (gst_object_ref_sink (other)), nullptr);
  harness.set_caps (caps);
  const Query query = allocation_of (harness, caps);
  fail_unless (first_allocator (query) == "Other", "%s", first_allocator (query).c_str ());
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query.get ()), 0);
}
