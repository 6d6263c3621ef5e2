// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shards.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

using inthist::QueryKind;
using inthist::Shape;

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

/// For queries about weights that divide by the total of all bins, returns these totals, added up
/// over all shards. Returns null for other queries.
Expected<HostMemory> totals_of (const Shape &whole, std::span<const Shard> shards, Query query)
{
  if (whole.content != inthist::Content::weights || is_per_bin (query))
    return HostMemory ();
  query.kind = QueryKind::totals;
  query.best = nullptr;
  const std::size_t n = query.n_totals (), size = inthist::answer_bytes (whole, query);
  HostMemory totals = TRY (allocate_bytes (size));
  const HostMemory part = TRY (allocate_bytes (size));
  auto *const sums = reinterpret_cast<std::uint64_t *> (totals.get ());
  const auto *const of_shard = reinterpret_cast<const std::uint64_t *> (part.get ());
  std::fill_n (sums, n, 0);
  query.answers = part.get ();
  for (const Shard &shard : shards) {
    TRY (shard.tensor->ask ({ &query, 1 }));
    std::transform (sums, sums + n, of_shard, sums, std::plus<> ());
  }
  return totals;
}

/// Returns the part of `rows` models of `all` bins that a shard needs: `n` bins from `first` on.
std::vector<float> models_of_shard (const float *numbers, int rows, int all, int first, int n)
{
  std::vector<float> part;
  part.reserve (std::size_t (rows) * n);
  for (int row = 0; row < rows; row++, numbers += all)
    part.insert (part.end (), numbers + first, numbers + first + n);
  return part;
}

}  // namespace

Expected<> ask_shards (const Shape &whole, std::span<const Shard> shards,
                       std::span<const Query> queries)
{
  std::vector<HostMemory> carried (queries.size ());  // data that queries carry between shards
  std::vector<HostMemory> totals (queries.size ());
  for (std::size_t i = 0; i < queries.size (); i++) {
    totals[i] = TRY (totals_of (whole, shards, queries[i]));
    if (!is_per_bin (queries[i]))
      carried[i] = TRY (allocate_bytes (inthist::carried_bytes (queries[i])));
  }

  for (const auto &[first_bin, tensor] : shards) {
    const int bins = tensor->shape.bins;
    std::vector<Query> asked (queries.begin (), queries.end ());
    std::vector<HostMemory> parts (queries.size ());
    std::vector<std::vector<float>> models (queries.size ());
    for (std::size_t i = 0; i < queries.size (); i++) {
      Query &query = asked[i];
      if (is_per_bin (query)) {
        parts[i] = TRY (allocate_bytes (inthist::answer_bytes (tensor->shape, query)));
        query.answers = parts[i].get ();
      } else {
        models[i] = models_of_shard (query.models, query.n_models (), whole.bins, first_bin, bins);
        query.models = models[i].data ();
        query.carried = carried[i].get ();
        query.totals = reinterpret_cast<const std::uint64_t *> (totals[i].get ());
        query.first_bin = first_bin;
        query.all_bins = whole.bins;
      }
    }
    TRY (tensor->ask (asked));

    for (std::size_t i = 0; i < queries.size (); i++)
      if (is_per_bin (queries[i]) && queries[i].answers) {
        const std::size_t windows = queries[i].windows.size (),
                          part = inthist::answer_bytes (tensor->shape, asked[i]) / windows,
                          bin = part / bins;
        for (std::size_t window = 0; window < windows; window++)
          std::memcpy (static_cast<std::byte *> (queries[i].answers)
                           + (window * whole.bins + first_bin) * bin,
                       parts[i].get () + window * part, part);
      }
  }
  return {};
}

}  // namespace integralhist
