// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shards.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {
namespace {

Expected<HostMemory> allocate_bytes (std::size_t n)
{
  return allocate_on_host (n, [n] (const Available &available) {
    return no_memory_text ("a question to the shards", n, available)
           + ": ask for fewer windows in each call";
  });
}

/// Returns whether a shard can answer for its bins alone: the query asks for counts or sums.
bool is_per_bin (const Query &query)
{
  return query.kind == QueryKind::counts || query.kind == QueryKind::sums;
}

/// The sums that a query about all bins carries from shard to shard, and the totals that it divides
/// by.
struct Carried {
  HostMemory values, totals;
};

/// Allocates the carried values. If the query divides weights by the total of all bins, first adds
/// up these totals over all shards.
Expected<Carried> carried_by (Query query, const Shape &whole, std::span<const Shard> shards)
{
  Carried carried;
  if (is_per_bin (query))
    return carried;
  carried.values = TRY (allocate_bytes (inthist::carried_bytes (query)));
  if (whole.content != Content::weights)
    return carried;
  query.kind = QueryKind::totals;
  query.best = nullptr;
  const std::size_t n = query.n_totals (), size = inthist::answer_bytes (whole, query);
  carried.totals = TRY (allocate_bytes (size));
  const HostMemory shard_totals = TRY (allocate_bytes (size));
  auto *const sums = reinterpret_cast<std::uint64_t *> (carried.totals.get ());
  const auto *const of_shard = reinterpret_cast<const std::uint64_t *> (shard_totals.get ());
  std::fill_n (sums, n, 0);
  query.answers = shard_totals.get ();
  for (const Shard &shard : shards) {
    TRY (shard.tensor->ask ({ &query, 1 }));
    std::transform (sums, sums + n, of_shard, sums, std::plus<> ());
  }
  return carried;
}

/// The memory that a query to one shard points to: for its answers, or for its models.
struct ShardMemory {
  HostMemory answers;
  std::vector<float> models;
};

/// Returns a query as one shard gets it: with memory for the answers about the shard's bins, or
/// with the models of these bins and what other shards have carried so far.
Expected<Query> query_to (const Shard &shard, const Shape &whole, Query query,
                          const Carried &carried, ShardMemory &memory)
{
  const Shape &shape = shard.tensor->shape;
  if (is_per_bin (query)) {
    memory.answers = TRY (allocate_bytes (inthist::answer_bytes (shape, query)));
    query.answers = memory.answers.get ();
    return query;
  }
  for (int model = 0; model < query.n_models (); model++) {
    const float *const bins = query.models + std::size_t (model) * whole.bins + shard.first_bin;
    memory.models.insert (memory.models.end (), bins, bins + shape.bins);
  }
  query.models = memory.models.data ();
  query.carried = carried.values.get ();
  query.totals = reinterpret_cast<const std::uint64_t *> (carried.totals.get ());
  query.first_bin = shard.first_bin;
  query.all_bins = whole.bins;
  return query;
}

/// Copies counts or sums of a shard's bins to `answers`, which has those of all bins.
void put_answers (const Shard &shard, const Shape &whole, const Query &of_shard, void *answers)
{
  const std::size_t windows = of_shard.windows.size (),
                    bytes = inthist::answer_bytes (shard.tensor->shape, of_shard) / windows,
                    bin_bytes = bytes / shard.tensor->shape.bins;
  for (std::size_t window = 0; window < windows; window++)
    std::memcpy (static_cast<std::byte *> (answers)
                     + (window * whole.bins + shard.first_bin) * bin_bytes,
                 static_cast<const std::byte *> (of_shard.answers) + window * bytes, bytes);
}

}  // namespace

Expected<> ask_shards (const Shape &whole, std::span<const Shard> shards,
                       std::span<const Query> queries)
{
  const std::size_t n = queries.size ();
  std::vector<Carried> carried (n);
  for (std::size_t i = 0; i < n; i++)
    carried[i] = TRY (carried_by (queries[i], whole, shards));
  for (const Shard &shard : shards) {
    std::vector<ShardMemory> memory (n);
    std::vector<Query> of_shard (n);
    for (std::size_t i = 0; i < n; i++)
      of_shard[i] = TRY (query_to (shard, whole, queries[i], carried[i], memory[i]));
    TRY (shard.tensor->ask (of_shard));
    for (std::size_t i = 0; i < n; i++)
      if (is_per_bin (queries[i]) && queries[i].answers)
        put_answers (shard, whole, of_shard[i], queries[i].answers);
  }
  return {};
}

}  // namespace integralhist
