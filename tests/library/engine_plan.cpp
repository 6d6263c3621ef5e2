// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of an engine. The rules are a table here, from the most special to the most general;
// the test looks up all 1,152 requests in it.
#include <gst/integralhist/factory/engine_plan.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "must.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using inthist::Content;

struct Rule {
  // letters of the conditions: E, A, D for the property compute; b, p, w for the content; and the
  // flags of flags_of (), in upper case if set and in lower case if not
  std::string_view compute, content, flags;
  EnginePlan plan;
};

constexpr EnginePlan kAtOnce = {};
constexpr EnginePlan kCpu = { .on_demand = true, .measures = false };

/// G: on a GPU. L: lists devices. P: in parts. M: limited memory. D: downloads. T: the GPU takes
/// the shape. R: room to turn.
constexpr Rule kRules[] = {
  { "E", "bpw", "", kAtOnce },
  // only the CPU
  { "AD", "bpw", "glpm", kCpu },
  // automatic, with devices: only tensors that stay on one GPU wait
  { "A", "bpw", "g", kAtOnce },
  { "A", "w", "G", kAtOnce },
  { "A", "bp", "GP", kAtOnce },
  { "A", "bp", "GM", kAtOnce },
  { "A", "bp", "GD", kAtOnce },
  { "A", "bp", "Gt", kAtOnce },
  { "A", "bp", "Gr", kAtOnce },
  { "A", "bp", "GpmdTR", { .on_demand = true, .stays_on_gpu = true, .gpu_assists = true } },
  // on demand, with devices
  { "D", "bp", "g", { .on_demand = true, .has_whole_engine = true } },
  { "D", "w", "g", { .on_demand = true } },
  { "D", "bp", "GPT", { .on_demand = true, .has_whole_engine = true } },
  { "D", "bp", "GMT", { .on_demand = true, .has_whole_engine = true } },
  { "D", "bpw", "GP", { .on_demand = true } },
  { "D", "bpw", "GM", { .on_demand = true } },
  { "D",
    "bp",
    "GpmT",
    { .on_demand = true, .stays_on_gpu = true, .gpu_assists = true, .has_whole_engine = true } },
  { "D", "w", "GpmT", { .on_demand = true, .stays_on_gpu = true, .gpu_assists = true } },
  { "D", "bpw", "Gpm", { .on_demand = true, .gpu_assists = true } },
};

struct Flag {
  char letter;
  bool EngineRequest::*value;
};
constexpr Flag kFlags[] = { { 'G', &EngineRequest::on_gpu },
                            { 'L', &EngineRequest::lists_devices },
                            { 'P', &EngineRequest::in_parts },
                            { 'M', &EngineRequest::is_limited },
                            { 'D', &EngineRequest::downloads },
                            { 'T', &EngineRequest::gpu_takes_shape },
                            { 'R', &EngineRequest::has_room_to_change_mode } };

bool applies (const Rule &rule, char compute, char content, const EngineRequest &request)
{
  const auto holds = [&] (char letter) {
    const bool wanted = g_ascii_isupper (letter);
    const auto flag = std::ranges::find (kFlags, g_ascii_toupper (letter), &Flag::letter);
    fail_unless (flag != std::end (kFlags));
    return request.*flag->value == wanted;
  };
  return rule.compute.find (compute) != rule.compute.npos
         && rule.content.find (content) != rule.content.npos
         && std::ranges::all_of (rule.flags, holds);
}

}  // namespace

TEST (every_request)
{
  int n = 0, used[std::size (kRules)] = {};
  for (const auto &[compute, c] : { std::pair (Compute::eager, 'E'),
                                    { Compute::automatic, 'A' },
                                    { Compute::on_demand, 'D' } })
    for (const auto &[content, k] :
         { std::pair (Content::bins, 'b'), { Content::sums, 'p' }, { Content::weights, 'w' } })
      for (unsigned flags = 0; flags < 1u << std::size (kFlags); flags++) {
        EngineRequest request = { .compute = compute, .content = content };
        for (std::size_t i = 0; i < std::size (kFlags); i++)
          request.*kFlags[i].value = flags >> i & 1;
        const auto rule = std::ranges::find_if (
            kRules, [&, c = c, k = k] (const Rule &r) { return applies (r, c, k, request); });
        fail_unless (rule != std::end (kRules), "no rule for %c %c %x", c, k, flags);
        used[rule - kRules]++;
        fail_unless (choose_engines (request) == rule->plan, "rule %d, of %c %c %x",
                     int (rule - kRules), c, k, flags);
        n++;
      }
  fail_unless_equals_int (n, 3 * 3 * 128);
  for (std::size_t i = 0; i < std::size (kRules); i++)
    fail_unless (used[i] > 0, "rule %zu is never used", i);
}

TEST (eager_engines)
{
  EngineRequest request;
  for (const unsigned room : { 0u, 1u, 5u })
    fail_unless (choose_eager (request, room, 2) == EagerEngine::cpu);
  for (const auto devices : { &EngineRequest::on_gpu, &EngineRequest::lists_devices }) {
    request = {};
    request.*devices = true;
    fail_unless (choose_eager (request, 0, 2) == EagerEngine::sharded);  // not even one fits
    fail_unless (choose_eager (request, 1, 2) == EagerEngine::one_device);
    request.is_limited = true;
    fail_unless (choose_eager (request, 1, 2) == EagerEngine::sharded);
    fail_unless (choose_eager (request, 2, 2) == EagerEngine::one_device);
    request.in_parts = true;
    fail_unless (choose_eager (request, 5, 2) == EagerEngine::sharded);
  }
}
