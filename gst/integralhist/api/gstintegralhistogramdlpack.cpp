// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors as DLPack arrays, which PyTorch, CuPy and NumPy read in place.
#include <gst/integralhist/gstintegralhistogramdlpack.h>

#include <dlfcn.h>

#include "c_api.hpp"
#include "dlpack.hpp"
#include "histogram.hpp"

namespace integralhist {
namespace {

/// A DLPack array with its shape, and a reference to the histogram that owns the data.
template <class Managed>
struct ArrayOwner {
  Managed managed = {};
  std::int64_t shape[3] = {}, strides[3] = {};
  GstIntegralHistogram *histogram = nullptr;

  /// The deleter of a DLPack array. Any thread may call it, even while the process ends, so it uses
  /// neither Python nor a log.
  static void release (Managed *managed)
  {
    auto *const owner = static_cast<ArrayOwner *> (managed->owner);
    if (managed->array.device.type == dlpack::cuda)
      if (const auto tensor = owner->histogram->tensor->device_tensor (); tensor && *tensor)
        (*tensor)->add_all_readers ();
    gst_integral_histogram_unref (owner->histogram);
    delete owner;
  }
};

Expected<> check_one_piece (Tensor &tensor)
{
  const auto shards = TRY (tensor.shards ());
  if (shards.size () > 1)
    return error (Error::Kind::bad_question, "the tensor is in ", shards.size (),
                  " shards, and an array is in one piece: take each by get_shard (), or have all "
                  "copied to host memory (GST_INTEGRAL_HISTOGRAM_DLPACK_HOST; in Python numpy ())");
  return {};
}

Expected<dlpack::DataType> type_of (const inthist::Shape &shape, bool is_signed)
{
  const auto code = is_signed ? dlpack::signed_integer : dlpack::unsigned_integer;
  if (shape.counter == inthist::Type::u8_tiled)
    return error (Error::Kind::bad_question,
                  "the tensor is in tiles (counter=u8-tiled), and an array is not: ask regions (), "
                  "read get_element (), or set counter to u32 or u16");
  return dlpack::DataType{ code, std::uint8_t (8 * inthist::bytes_of (shape.counter)), 1 };
}

/// Returns a tensor's device and address. On a GPU, `stream` then waits until it is computed.
Expected<dlpack::Array> place_of (Tensor &tensor, guint flags, gint64 stream)
{
  dlpack::Array array = {};
  if (!(flags & GST_INTEGRAL_HISTOGRAM_DLPACK_HOST)) {
    TRY (check_one_piece (tensor));
    // If device_tensor () fails, the code goes on to host () below, which returns the error.
    const auto device = tensor.device_tensor ();
    if (device && *device) {
      const CudaView view = (*device)->cuda ();
      if (!view.is_primary)
        return error (
            Error::Kind::bad_question,
            "the tensor is in the CUDA context of another element, and "
            "kernels of PyTorch, CuPy and Numba, which use the primary one of device ",
            view.device,
            ", cannot read it: give the pipeline the primary context (GST_MESSAGE_NEED_CONTEXT, "
            "gst_cuda_context_new_wrapped ()), or take a copy in host memory "
            "(GST_INTEGRAL_HISTOGRAM_DLPACK_HOST; in Python numpy ())");
      if (stream != -1)
        TRY ((*device)->wait_on (reinterpret_cast<inthist::Stream> (stream)));
      array.data = reinterpret_cast<void *> (view.pointer);
      array.device = { dlpack::cuda, view.device };
      return array;
    }
  }
  array.data = const_cast<void *> (TRY (tensor.host ()));
  array.device = { dlpack::cpu, 0 };
  return array;
}

/// Returns a histogram's tensor as a DLPack array, which the consumer releases by its deleter.
template <class Managed>
Expected<void *> make_array (GstIntegralHistogram *histogram, guint flags, gint64 stream)
{
  Tensor &tensor = *histogram->tensor;
  const inthist::Shape &shape = tensor.shape;
  const inthist::Layout &layout = tensor.layout;
  const dlpack::DataType type = TRY (type_of (shape, flags & GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED));
  if (stream == 0 || stream < -1)
    return error (
        Error::Kind::bad_question, "there is no stream ", stream,
        ": pass 1 for the legacy default stream, 2 for the per-thread one, or -1 for none");
  dlpack::Array array = TRY (place_of (tensor, flags, stream));

  using Owner = ArrayOwner<Managed>;
  const auto element = std::int64_t (inthist::bytes_of (shape.counter));
  auto *const owner = new Owner{ {},
                                 { shape.bins, shape.height, shape.width },
                                 { std::int64_t (layout.plane_pitch) / element,
                                   std::int64_t (layout.row_pitch) / element, 1 },
                                 gst_integral_histogram_ref (histogram) };
  array.n_dimensions = 3;
  array.type = type;
  array.shape = owner->shape;
  array.strides = owner->strides;
  owner->managed.array = array;
  owner->managed.owner = owner;
  owner->managed.deleter = Owner::release;
  if constexpr (std::is_same_v<Managed, dlpack::Versioned>) {
    owner->managed.version = { Managed::kMajor, Managed::kMinor };
    owner->managed.flags = Managed::kReadOnly;
  }
  return static_cast<void *> (&owner->managed);
}

Expected<dlpack::Device> device_of (Tensor &tensor)
{
  TRY (check_one_piece (tensor));
  const CudaView view = cuda_view_of (tensor);
  return view.pointer ? dlpack::Device{ dlpack::cuda, view.device }
                      : dlpack::Device{ dlpack::cpu, 0 };
}

/// The destructor of a Python capsule that holds a DLPack array. Calls the array's deleter, unless
/// a consumer has taken the array and renamed the capsule.
template <class Managed>
void release_array_of (void *capsule, const char *name)
{
  using IsValid = int (void *, const char *);
  using GetPointer = void *(void *, const char *);
  const auto is_valid = reinterpret_cast<IsValid *> (dlsym (RTLD_DEFAULT, "PyCapsule_IsValid"));
  const auto get_pointer =
      reinterpret_cast<GetPointer *> (dlsym (RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (!is_valid || !get_pointer || !is_valid (capsule, name))
    return;
  auto *const managed = static_cast<Managed *> (get_pointer (capsule, name));
  managed->deleter (managed);
}

}  // namespace
}  // namespace integralhist

GType gst_integral_histogram_dlpack_flags_get_type (void)
{
  static const GFlagsValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_DLPACK_NONE, "Versioned, of where the tensor lies", "none" },
    { GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED, "As before DLPack 1.0", "unversioned" },
    { GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED, "Signed integers", "signed" },
    { GST_INTEGRAL_HISTOGRAM_DLPACK_HOST, "In host memory", "host" },
    { 0, nullptr, nullptr },
  };
  static const GType type = g_flags_register_static ("GstIntegralHistogramDLPackFlags", values);
  return type;
}

gpointer gst_integral_histogram_get_dlpack (GstIntegralHistogram *histogram,
                                            GstIntegralHistogramDLPackFlags flags, gint64 stream,
                                            GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  using namespace integralhist;
  return to_c (flags & GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED
                   ? make_array<dlpack::Unversioned> (histogram, flags, stream)
                   : make_array<dlpack::Versioned> (histogram, flags, stream),
               error);
}

gint gst_integral_histogram_get_dlpack_device (GstIntegralHistogram *histogram, gint *id,
                                               GError **error)
{
  g_return_val_if_fail (histogram, 0);
  const auto device = integralhist::to_c (integralhist::device_of (*histogram->tensor), error);
  integralhist::store (id, device.id);
  return device.type;
}

void gst_integral_histogram_dlpack_capsule_free (gpointer capsule)
{
  using namespace integralhist;
  release_array_of<dlpack::Versioned> (capsule, "dltensor_versioned");
  release_array_of<dlpack::Unversioned> (capsule, "dltensor");
}
