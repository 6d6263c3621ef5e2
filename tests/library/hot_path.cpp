// SPDX-License-Identifier: LGPL-2.1-or-later
//
// For each frame the element asks little of CUDA, as CUPTI sees it. Nothing is allocated or freed,
// no thread waits for a device or a stream, nothing runs on the legacy default stream, and nothing
// is copied from or to memory that is not pinned.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "pipelines.hpp"
#include "test.hpp"

#if HAVE_CUPTI
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>

namespace {

constexpr int kDepth = 3, kFrames = 1000;
/// A pool frees the buffers that two times 256 frames did not need.
constexpr int kWarmUp = 600;

/// Counts all calls between begin () and end (), of all threads.
class Calls {
public:
  /// Returns null, and prints that, if CUPTI is not available.
  static Calls *get ()
  {
    static Calls calls;
    return calls.subscribed_ ? &calls : nullptr;
  }

  void begin ()
  {
    const std::lock_guard lock (mutex_);
    names_.clear ();
    host_memory_.clear ();
    legacy_.clear ();
    counting_ = true;
  }
  void end ()
  {
    const std::lock_guard lock (mutex_);
    counting_ = false;
  }

  /// The number of calls by name, of the driver and of the runtime.
  const std::map<std::string, int> &names () const { return names_; }
  const std::set<const void *> &host_memory () const { return host_memory_; }
  const std::set<std::string> &on_legacy_stream () const { return legacy_; }

private:
  Calls ()
  {
    void *library = nullptr;
    for (const char *name : { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                              "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" })
      if (!library)
        library = dlopen (name, RTLD_NOW);
    if (!library) {
      printf ("SKIP: hot path: no libcupti.so: set LD_LIBRARY_PATH to the CUDA toolkit's "
              "extras/CUPTI/lib64\n");
      return;
    }
    const auto subscribe =
        reinterpret_cast<decltype (&cuptiSubscribe)> (dlsym (library, "cuptiSubscribe"));
    const auto enable =
        reinterpret_cast<decltype (&cuptiEnableDomain)> (dlsym (library, "cuptiEnableDomain"));
    CUpti_SubscriberHandle handle;
    const auto callback = [] (void *calls, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data) {
      static_cast<Calls *> (calls)->note (domain, id,
                                          static_cast<const CUpti_CallbackData *> (data));
    };
    subscribed_ = subscribe && enable && subscribe (&handle, callback, this) == CUPTI_SUCCESS
                  && enable (1, handle, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS
                  && enable (1, handle, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS;
    if (!subscribed_)
      printf ("SKIP: hot path: CUPTI does not work here\n");
  }

  void note (CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *data)
  {
    if (data->callbackSite != CUPTI_API_ENTER)
      return;
    const std::lock_guard lock (mutex_);
    if (!counting_)
      return;
    names_[data->functionName]++;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
      return;
    const void *const params = data->functionParams;
    const auto on_stream = [&] (CUstream stream) {
      if (!stream || stream == CU_STREAM_LEGACY)
        legacy_.insert (data->functionName);
    };
    if (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2) {
      const auto *const copy = static_cast<const cuMemcpyHtoDAsync_v2_params *> (params);
      host_memory_.insert (copy->srcHost);
      on_stream (copy->hStream);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2) {
      const auto *const copy = static_cast<const cuMemcpyDtoHAsync_v2_params *> (params);
      host_memory_.insert (copy->dstHost);
      on_stream (copy->hStream);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2) {
      const auto *const copy = static_cast<const cuMemcpy2DAsync_v2_params *> (params);
      if (copy->pCopy->srcMemoryType == CU_MEMORYTYPE_HOST)
        host_memory_.insert (copy->pCopy->srcHost);
      on_stream (copy->hStream);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync) {
      on_stream (static_cast<const cuMemcpyAsync_params *> (params)->hStream);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) {
      on_stream (static_cast<const cuLaunchKernelEx_params *> (params)->config->hStream);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
      on_stream (static_cast<const cuLaunchKernel_params *> (params)->hStream);
    }
  }

  bool subscribed_ = false;
  std::mutex mutex_;  // guards all below
  bool counting_ = false;
  std::map<std::string, int> names_;
  std::set<const void *> host_memory_;
  std::set<std::string> legacy_;
};

/// Says why a call is not allowed; null if it is.
const char *objection (const std::string &name)
{
  const auto has = [&] (const char *part) { return name.find (part) != std::string::npos; };
  const bool async = has ("Async");
  if (has ("Alloc") || has ("cudaMalloc") || has ("Free") || has ("HostRegister"))
    return "allocates or frees";
  if (has ("DeviceSynchronize") || has ("CtxSynchronize") || has ("StreamSynchronize"))
    return "waits for all that a stream or a device has";
  if ((has ("Memcpy") || has ("Memset")) && !async)
    return "copies and waits";
  if (has ("Create") || has ("Destroy") || has ("ModuleLoad") || has ("LibraryLoad"))
    return "makes or destroys something";
  return nullptr;
}

struct Way {
  const char *memory, *features, *download;
};

constexpr Way kWays[] = {
  { "plain", "", "never" },
  { "plain", "", "eager" },
  { "pinned", "", "never" },
  { "pinned", "", "eager" },
  { "CUDA", "(memory:CUDAMemory)", "never" },
};

/// Filled buffers, of the pool that the element offers or of plain memory.
std::vector<GstBuffer *> frames_of (const Harness &harness, const Way &way,
                                    const std::string &caps_text, GstBufferPool **pool)
{
  constexpr int kBuffers = 12;
  const GstVideoInfo info = info_of (caps_text);
  std::vector<GstBuffer *> buffers;
  g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text.c_str ());
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  gst_pad_peer_query (harness.get ()->srcpad, query);
  guint size = 0;
  if (gst_query_get_n_allocation_pools (query) == 0 && g_str_equal (way.memory, "CUDA")) {
    printf ("SKIP: hot path, CUDA memory: this build has no libgstcuda\n");
    return {};
  }
  fail_unless (gst_query_get_n_allocation_pools (query) > 0, "no pool is offered");
  gst_query_parse_nth_allocation_pool (query, 0, pool, &size, nullptr, nullptr);
  if (g_str_equal (way.memory, "plain")) {
    gst_object_unref (*pool);
    *pool = gst_video_buffer_pool_new ();
  }
  GstStructure *config = gst_buffer_pool_get_config (*pool);
  gst_buffer_pool_config_set_params (config, caps, size, kBuffers, 0);
  fail_unless (gst_buffer_pool_set_config (*pool, config)
               && gst_buffer_pool_set_active (*pool, TRUE));
  for (int i = 0; i < kBuffers; i++) {
    GstBuffer *buffer = nullptr;
    fail_unless_equals_int (gst_buffer_pool_acquire_buffer (*pool, &buffer, nullptr), GST_FLOW_OK);
    GstVideoFrame frame;
    fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE),
                 "a %s frame cannot be written", way.memory);
    std::memset (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0), 10 * i,
                 gsize (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0)) * info.height);
    gst_video_frame_unmap (&frame);
    buffers.push_back (buffer);
  }
  return buffers;
}

void run (const Way &way)
{
  const Setup setup = { "cudaintegralhist", "bins=32", "", "cuda" };
  if (!have ("cuda"))
    return;
  Calls *const calls = Calls::get ();
  if (!calls)
    return;
  const std::string caps = "video/x-raw" + std::string (way.features)
                           + ",format=NV12,width=640,height=480,framerate=30/1";
  Harness harness (
      line_of (setup, "async-depth=" + std::to_string (kDepth) + " download=" + way.download));
  harness.set_caps (caps);
  g_autoptr (GstBufferPool) pool = nullptr;
  const auto buffers = frames_of (harness, way, caps, &pool);
  if (buffers.empty ())
    return;
  for (GstBuffer *buffer : buffers)
    gst_buffer_unref (buffer);
  const auto pass = [&] {
    GstBuffer *buffer = nullptr;
    fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr), GST_FLOW_OK);
    Buffer out = harness.pass (buffer);
    fail_unless (gst_buffer_get_integral_histogram_meta (out.get ()) != nullptr);
    return out;
  };
  // as many tensors as there can be at once: first eager ones, then on-demand ones, as no question
  // came
  for (int round = 0; round < 2; round++) {
    std::vector<Buffer> held;
    for (int i = 0; i <= 2 * kDepth; i++)
      held.push_back (pass ());
    held.clear ();
    for (int i = 0; i < kWarmUp; i++)
      pass ();
  }
  calls->begin ();
  for (int i = 0; i < kFrames; i++)
    pass ();
  calls->end ();

  int all = 0, launches = 0;
  printf ("calls for each of %d frames, %s memory, download=%s:\n", kFrames, way.memory,
          way.download);
  for (const auto &[name, n] : calls->names ()) {
    printf ("  %7.3f  %s\n", double (n) / kFrames, name.c_str ());
    all += n;
    launches += name.find ("Launch") != std::string::npos ? n : 0;
  }
  fail_unless (launches >= kFrames, "%d calls were seen, %d launches", all, launches);
  for (const auto &[name, n] : calls->names ())
    if (const char *what = objection (name))
      fail ("%s, which %s, was called %d times in %d frames", name.c_str (), what, n, kFrames);
  for (const std::string &name : calls->on_legacy_stream ())
    fail ("%s was called on the legacy stream", name.c_str ());
  for (const void *memory : calls->host_memory ()) {
    cudaPointerAttributes attributes = {};
    fail_unless (cudaPointerGetAttributes (&attributes, memory) == cudaSuccess
                     && attributes.type == cudaMemoryTypeHost,
                 "%p was copied from or to, and is not pinned", memory);
  }
  const bool copies = !g_str_equal (way.memory, "CUDA") || g_str_equal (way.download, "eager");
  fail_unless (calls->host_memory ().empty () != copies, "%zu places in host memory were seen",
               calls->host_memory ().size ());
  gst_buffer_pool_set_active (pool, FALSE);
}

}  // namespace

TEST_EACH (hot_path, std::size (kWays))
{
  run (kWays[__i__]);
}

#else

TEST (hot_path)
{
  printf ("SKIP: hot path: built without CUPTI's header, cupti.h\n");
}

#endif
