// SPDX-License-Identifier: LGPL-2.1-or-later
#include "query.hpp"

namespace inthist {

std::size_t answer_bytes (const Shape &shape, const Query &query)
{
  const std::size_t n = query.windows.size ();
  switch (query.kind) {
    case QueryKind::counts: return n * shape.bins * sizeof (std::uint32_t);
    case QueryKind::sums: return n * shape.bins * sizeof (std::uint64_t);
    case QueryKind::totals: return query.n_totals () * sizeof (std::uint64_t);
    case QueryKind::likelihoods:
    case QueryKind::quantiles:
    case QueryKind::votes: break;
  }
  return n * sizeof (float);
}

std::size_t carried_bytes (const Query &query)
{
  const std::size_t n = query.windows.size ();
  if (query.kind == QueryKind::quantiles)
    return n * sizeof (std::int64_t);
  return n * query.n_models () * state_size (query.measure) * sizeof (float);
}

}  // namespace inthist
