// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu_tensor.hpp"

#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

Expected<> answer_on_host (const inthist::TensorView &tensor, std::span<const Query> queries)
{
  for (Query query : queries) {
    HostMemory unwanted;
    if (!query.answers && !query.has_bins_after (tensor.shape)) {
      const std::size_t bytes = inthist::answer_bytes (tensor.shape, query);
      unwanted = TRY (allocate_on_host (bytes, [bytes] (const Available &available) {
        return no_memory_text ("an answer", bytes, available)
               + ": ask for fewer windows in each call";
      }));
      query.answers = unwanted.get ();
    }
    TRY (check_host (inthist::cpu::answer (tensor, query)));
  }
  return {};
}

Expected<std::unique_ptr<EngineTensor>> CpuTensor::create (const Shape &shape, unsigned alive)
{
  const auto message = [&] (const Available &available) {
    return no_memory_for_tensor (shape, available, alive);
  };
  HostMemory memory = TRY (allocate_on_host (inthist::tensor_bytes (shape), message));
  return std::unique_ptr<EngineTensor> (new CpuTensor (shape, std::move (memory)));
}

Expected<> CpuTensor::ask (std::span<const Query> queries)
{
  TRY (wait (GST_CLOCK_TIME_NONE));
  return answer_on_host ({ shape, layout, memory_.get () }, queries);
}

Expected<const void *> CpuTensor::host ()
{
  TRY (wait (GST_CLOCK_TIME_NONE));
  return memory_.get ();
}

}  // namespace integralhist
