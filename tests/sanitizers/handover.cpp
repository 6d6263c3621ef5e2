// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells ThreadSanitizer what it cannot see. GLib and TBB are not instrumented and do not call
// pthreads: their locks and queues are atomic operations and futexes. So these functions say which
// calls hand memory from thread to thread. Linked to test programs, whose functions come before
// those of the libraries, only in builds with -Db_sanitize=thread.
#include <cstddef>
#include <cstring>
#include <dlfcn.h>

#include <gst/gst.h>
#include <tbb/parallel_for.h>

extern "C" void __tsan_acquire (void *address);
extern "C" void __tsan_release (void *address);

namespace {

/// The library's own function. Two threads may look it up at once, and find the same.
template <class Function>
Function *next (const char *name, Function *)
{
  return reinterpret_cast<Function *> (dlsym (RTLD_NEXT, name));
}

}  // namespace

#define NEXT(function) static auto *const real = next (#function, function)

// GLib: work before a mutex is unlocked has happened before the mutex is locked again. GRecMutex
// and GRWLock use pthreads.

extern "C" {

void g_mutex_lock (GMutex *mutex)
{
  NEXT (g_mutex_lock);
  real (mutex);
  __tsan_acquire (mutex);
}

gboolean g_mutex_trylock (GMutex *mutex)
{
  NEXT (g_mutex_trylock);
  const gboolean locked = real (mutex);
  if (locked)
    __tsan_acquire (mutex);
  return locked;
}

void g_mutex_unlock (GMutex *mutex)
{
  NEXT (g_mutex_unlock);
  __tsan_release (mutex);
  real (mutex);
}

void g_cond_wait (GCond *cond, GMutex *mutex)
{
  NEXT (g_cond_wait);
  __tsan_release (mutex);
  real (cond, mutex);
  __tsan_acquire (mutex);
}

gboolean g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end)
{
  NEXT (g_cond_wait_until);
  __tsan_release (mutex);
  const gboolean signalled = real (cond, mutex, end);
  __tsan_acquire (mutex);
  return signalled;
}

// objects that are initialised once
#undef g_once_init_enter
#undef g_once_init_leave

gboolean g_once_init_enter (volatile void *location);
void g_once_init_leave (volatile void *location, gsize result);

gboolean g_once_init_enter (volatile void *location)
{
  NEXT (g_once_init_enter);
  const gboolean first = real (location);
  __tsan_acquire (const_cast<void *> (location));
  return first;
}

void g_once_init_leave (volatile void *location, gsize result)
{
  NEXT (g_once_init_leave);
  __tsan_release (const_cast<void *> (location));
  real (location, result);
}

}  // extern "C"

// GStreamer: work on a buffer or a histogram before a reference to it is dropped has happened
// before it is freed.

extern "C" {

void gst_mini_object_unref (GstMiniObject *object)
{
  NEXT (gst_mini_object_unref);
  __tsan_release (object);
  if (GST_IS_SAMPLE (object))
    if (GstBuffer *const buffer = gst_sample_get_buffer (GST_SAMPLE_CAST (object)))
      __tsan_release (buffer);
  real (object);
}

}  // extern "C"

namespace {

/// The functions that our one kind of meta, and the histogram that it refers to, registered.
GstMetaFreeFunction free_meta;
GstMetaTransformFunction transform_meta;
GstMiniObjectFreeFunction free_histogram;

}  // namespace

extern "C" {

void gst_mini_object_init (GstMiniObject *object, guint flags, GType type,
                           GstMiniObjectCopyFunction copy, GstMiniObjectDisposeFunction dispose,
                           GstMiniObjectFreeFunction free)
{
  NEXT (gst_mini_object_init);
  if (!std::strcmp (g_type_name (type), "GstIntegralHistogram")) {
    free_histogram = free;
    free = [] (GstMiniObject *histogram) {
      __tsan_acquire (histogram);
      free_histogram (histogram);
    };
  }
  real (object, flags, type, copy, dispose, free);
}

const GstMetaInfo *gst_meta_register (GType api, const char *name, gsize bytes,
                                      GstMetaInitFunction init, GstMetaFreeFunction free,
                                      GstMetaTransformFunction transform)
{
  NEXT (gst_meta_register);
  if (!std::strcmp (name, "GstIntegralHistogramMeta")) {
    free_meta = free;
    transform_meta = transform;
    free = [] (GstMeta *meta, GstBuffer *buffer) {
      __tsan_acquire (buffer);
      free_meta (meta, buffer);
    };
    transform = [] (GstBuffer *target, GstMeta *meta, GstBuffer *buffer, GQuark type,
                    gpointer data) {
      const gboolean done = transform_meta (target, meta, buffer, type, data);
      __tsan_release (buffer);  // GStreamer itself drops it behind a copy
      return done;
    };
  }
  return real (api, name, bytes, init, free, transform);
}

}  // extern "C"

// TBB's own allocator also hands memory from one thread to the next. If the allocator cannot be
// loaded, TBB does without it, and ThreadSanitizer sees malloc.

extern "C" {

void *dlopen (const char *name, int flags) noexcept
{
  NEXT (dlopen);
  return name && std::strstr (name, "tbbmalloc") ? nullptr : real (name, flags);
}

}  // extern "C"

// TBB: a task may use data that was written before it was spawned, and a waiting thread data that
// tasks have written. TBB's headers, which are instrumented with our code, count tasks down; the
// library reads the count and hands tasks out.

namespace tbb::detail {
namespace {

/// Stands in for a task, to report that it begins.
class Announced final : public d1::task {
public:
  explicit Announced (d1::task &task) : task_ (task) { __tsan_release (&task_); }

private:
  d1::task *execute (d1::execution_data &data) override
  {
    d1::task &task = begin ();
    return task.execute (data);
  }
  d1::task *cancel (d1::execution_data &data) override
  {
    d1::task &task = begin ();
    return task.cancel (data);
  }
  d1::task &begin ()
  {
    __tsan_acquire (&task_);
    d1::task &task = task_;
    delete this;
    return task;
  }

  d1::task &task_;
};

}  // namespace

namespace r1 {

void spawn (d1::task &task, d1::task_group_context &context)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE",
            static_cast<void (*) (d1::task &, d1::task_group_context &)> (nullptr));
  real (*new Announced (task), context);
}

void spawn (d1::task &task, d1::task_group_context &context, d1::slot_id slot)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt",
            static_cast<void (*) (d1::task &, d1::task_group_context &, d1::slot_id)> (nullptr));
  real (*new Announced (task), context, slot);
}

void execute_and_wait (d1::task &task, d1::task_group_context &context, d1::wait_context &wait,
                       d1::task_group_context &wait_context)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_"
            "12wait_contextES6_",
            static_cast<void (*) (d1::task &, d1::task_group_context &, d1::wait_context &,
                                  d1::task_group_context &)> (nullptr));
  real (task, context, wait, wait_context);
  // the count lies somewhere in it
  for (std::size_t i = 0; i < sizeof wait; i += sizeof (std::uint64_t))
    __tsan_acquire (reinterpret_cast<char *> (&wait) + i);
}

// the memory of tasks goes from thread to thread

void *allocate (d1::small_object_pool *&pool, std::size_t bytes, const d1::execution_data &data)
{
  static auto *const real = next (
      "_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE",
      static_cast<void *(*) (d1::small_object_pool *&, std::size_t, const d1::execution_data &)> (
          nullptr));
  void *const memory = real (pool, bytes, data);
  __tsan_acquire (memory);
  return memory;
}

void *allocate (d1::small_object_pool *&pool, std::size_t bytes)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm",
            static_cast<void *(*) (d1::small_object_pool *&, std::size_t)> (nullptr));
  void *const memory = real (pool, bytes);
  __tsan_acquire (memory);
  return memory;
}

void deallocate (d1::small_object_pool &pool, void *memory, std::size_t bytes,
                 const d1::execution_data &data)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE",
            static_cast<void (*) (d1::small_object_pool &, void *, std::size_t,
                                  const d1::execution_data &)> (nullptr));
  __tsan_release (memory);
  real (pool, memory, bytes, data);
}

void deallocate (d1::small_object_pool &pool, void *memory, std::size_t bytes)
{
  static auto *const real =
      next ("_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm",
            static_cast<void (*) (d1::small_object_pool &, void *, std::size_t)> (nullptr));
  __tsan_release (memory);
  real (pool, memory, bytes);
}

}  // namespace r1
}  // namespace tbb::detail
