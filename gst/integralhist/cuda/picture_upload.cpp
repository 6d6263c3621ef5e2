// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_upload.hpp"

namespace integralhist {

using namespace inthist::cuda;

static CudaExpected<> upload (const PictureRows &rows, std::byte *to, cudaStream_t stream)
{
  if (rows.keeps_stride ())
    return check (cudaMemcpyAsync (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes,
                                   cudaMemcpyHostToDevice, stream));
  return check (cudaMemcpy2DAsync (to, rows.pitch, rows.data, std::size_t (rows.stride), rows.bytes,
                                   rows.n, cudaMemcpyHostToDevice, stream));
}

CudaExpected<> upload (const PicturePlanes &planes, std::byte *to, cudaStream_t stream)
{
  for (const PictureRows &rows : planes.all ())
    TRY (upload (rows, to + rows.offset, stream));
  return {};
}

}  // namespace integralhist
