// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Writes the measurements as a table for people (a part after each shape) or as CSV or JSON for
// programs (at the end).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "options.hpp"
#include "rig.hpp"

namespace inthist::check {

/// The machine, on which the figures depend.
struct Machine {
  std::string date, cpu, gpu, driver, runtime;  // the latter three are empty without a GPU
};

Machine this_machine (bool with_gpu);

struct Row {
  Device device;
  Shape shape;
  std::string picture, name, mode;
  Tuning tuning;
  std::size_t laps;
  double median, p5, p95;  // seconds a frame
  double useful_bytes;     // a frame: the pixels read and the elements written
  double share;            // the ceiling's median over this one
  std::vector<std::pair<std::string, double>> stages;  // seconds a frame
};

class Report {
public:
  Report (Format format, std::FILE *out, Machine machine);

  void add (const std::vector<Row> &rows);
  void finish ();

private:
  void print_table (const std::vector<Row> &rows) const;
  void print_csv (const std::vector<Row> &rows) const;
  void print_json () const;

  const Format format_;
  std::FILE *const out_;
  const Machine machine_;
  std::vector<Row> rows_;
};

}  // namespace inthist::check
