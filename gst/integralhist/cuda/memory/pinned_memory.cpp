// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A GstAllocator of pinned host memory, for buffer pools. It gives out plain system memory, with
// the pinned block as qdata so that is_pinned () finds it.
#include "pinned_memory.hpp"

#include <cstring>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/in_context.hpp>

namespace integralhist {
namespace {

struct Block {
  InContext<inthist::cuda::PinnedMemory> memory;
  std::size_t bytes;
};

/// Allocates pinned host memory. The error is `no_memory` if the system can pin no more.
Expected<inthist::cuda::PinnedMemory> pin (const CudaContext &context, std::size_t bytes)
{
  return with_context (context, [&] () -> Expected<inthist::cuda::PinnedMemory> {
    auto made = inthist::cuda::make_pinned_memory (bytes);
    if (made)
      return std::move (*made);
    return error (made.error ().code == cudaErrorMemoryAllocation ? Error::Kind::no_memory
                                                                  : Error::Kind::failed,
                  "CUDA: ", made.error ().what ());
  });
}

GQuark block_quark ()
{
  static const GQuark quark = g_quark_from_static_string ("integralhist-pinned-block");
  return quark;
}

struct IntegralHistPinnedAllocator {
  GstAllocator parent;
  std::shared_ptr<CudaContext> *context;
};

struct IntegralHistPinnedAllocatorClass {
  GstAllocatorClass parent_class;
};

GType integral_hist_pinned_allocator_get_type ();
G_DEFINE_TYPE (IntegralHistPinnedAllocator, integral_hist_pinned_allocator, GST_TYPE_ALLOCATOR)

GstMemory *integral_hist_pinned_allocator_alloc (GstAllocator *allocator, gsize size,
                                                 GstAllocationParams *params)
{
  const auto &context = *reinterpret_cast<IntegralHistPinnedAllocator *> (allocator)->context;
  const gsize maxsize = params->prefix + size + params->padding;
  auto made = pin (*context, maxsize + params->align);
  if (!made) {
    GST_WARNING_OBJECT (allocator, "no pinned memory (%s): frames will be copied once more",
                        made.error ().message.c_str ());
    return gst_allocator_alloc (nullptr, size, params);
  }
  inthist::cuda::PinnedMemory memory = std::move (*made);
  auto *const bytes = reinterpret_cast<guint8 *> (
      (reinterpret_cast<guintptr> (memory.get ()) + params->align) & ~guintptr (params->align));
  if (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
    std::memset (bytes, 0, params->prefix);
  if (params->flags & GST_MEMORY_FLAG_ZERO_PADDED)
    std::memset (bytes + params->prefix + size, 0, params->padding);
  auto *const block = new Block{ { context, std::move (memory) }, maxsize + params->align };
  GstMemory *const wrapped =
      gst_memory_new_wrapped (params->flags, bytes, maxsize, params->prefix, size, block,
                              [] (gpointer b) { delete static_cast<Block *> (b); });
  gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (wrapped), block_quark (), block, nullptr);
  return wrapped;
}

void integral_hist_pinned_allocator_finalize (GObject *object)
{
  delete reinterpret_cast<IntegralHistPinnedAllocator *> (object)->context;
  G_OBJECT_CLASS (integral_hist_pinned_allocator_parent_class)->finalize (object);
}

void integral_hist_pinned_allocator_class_init (IntegralHistPinnedAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = integral_hist_pinned_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = integral_hist_pinned_allocator_alloc;
}

void integral_hist_pinned_allocator_init (IntegralHistPinnedAllocator *allocator)
{
  GST_ALLOCATOR_CAST (allocator)->mem_type = "IntegralHistPinned";
}

}  // namespace

Expected<HostMemory> allocate_pinned (std::shared_ptr<CudaContext> context, std::size_t bytes,
                                      const NoMemoryMessage &message)
{
  const Available available = available_memory ();
  if (bytes <= available.bytes) {
    auto made = pin (*context, bytes);
    if (made) {
      const std::shared_ptr<Block> block (new Block{ { context, std::move (*made) }, bytes });
      return HostMemory (block, block->memory->get ());
    }
    if (made.error ().kind != Error::Kind::no_memory)
      return tl::make_unexpected (made.error ());
  }
  return error (Error::Kind::no_memory, message (available));
}

GstAllocator *new_pinned_allocator (std::shared_ptr<CudaContext> context)
{
  auto *const allocator = static_cast<IntegralHistPinnedAllocator *> (
      g_object_new (integral_hist_pinned_allocator_get_type (), nullptr));
  allocator->context = new std::shared_ptr<CudaContext> (std::move (context));
  return GST_ALLOCATOR_CAST (gst_object_ref_sink (allocator));
}

bool is_pinned (GstMemory *memory, const void *data, std::size_t bytes)
{
  GstMemory *const whole = memory->parent ? memory->parent : memory;
  const auto *const block = static_cast<const Block *> (
      gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (whole), block_quark ()));
  const auto *const first = static_cast<const std::byte *> (data);
  return block && first >= block->memory->get ()
         && first + bytes <= block->memory->get () + block->bytes;
}

}  // namespace integralhist
