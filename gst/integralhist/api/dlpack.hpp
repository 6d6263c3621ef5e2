// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The structs of DLPack's binary interface, version 1.0 and the older one without a version. This
// file declares them because a distribution's dlpack.h may have only the older ones.
#pragma once

#include <cstdint>

namespace integralhist::dlpack {

enum DeviceType : std::int32_t { cpu = 1, cuda = 2 };
enum TypeCode : std::uint8_t { signed_integer = 0, unsigned_integer = 1, floating_point = 2 };

struct Device {
  std::int32_t type, id;
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

/// DLPack's DLTensor: an array whose memory another object owns. Strides are in elements.
struct Array {
  void *data;
  Device device;
  std::int32_t n_dimensions;
  DataType type;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};

/// DLPack's DLManagedTensor: an array, and the function that releases it.
struct Unversioned {
  Array array;
  void *owner;
  void (*deleter) (Unversioned *self);
};

/// DLPack's DLManagedTensorVersioned: like DLManagedTensor, with a version and flags.
struct Versioned {
  static constexpr std::uint32_t kMajor = 1, kMinor = 0;
  static constexpr std::uint64_t kReadOnly = 1;

  struct {
    std::uint32_t major, minor;
  } version;
  void *owner;
  void (*deleter) (Versioned *self);
  std::uint64_t flags;
  Array array;
};

}  // namespace integralhist::dlpack
