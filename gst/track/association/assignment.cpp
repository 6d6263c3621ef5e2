// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Hungarian method (H. W. Kuhn, "The Hungarian method for the assignment problem", Naval
// Research Logistics 2, 1955), by shortest augmenting paths (R. Jonker and A. Volgenant, "A
// shortest augmenting path algorithm for dense and sparse linear assignment problems", Computing
// 38, 1987).
//
// Rows are added one after another. For each row, the method finds the cheapest chain of pairs to
// change that ends at a free column. Potentials of rows and columns keep all costs at 0 or above,
// so this is Dijkstra's algorithm. It takes at most rows^2 x columns steps. Rows and columns that
// no chain of gains connects do not compete, so each connected group is solved separately: in a
// frame most groups have a few rows.
#include "assignment.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace integralhist {
namespace {

/// Solves the assignment problem for one connected group of rows and columns. Columns without a
/// gain are added until every row gets one. A pair without a gain costs 0, and leaves its row
/// alone.
std::vector<int> assign_group (std::span<const double> gains, std::size_t rows, std::size_t columns)
{
  const std::size_t width = std::max (rows, columns);
  const auto gain = [&] (std::size_t row, std::size_t column) {
    const double value = column < columns ? gains[row * columns + column] : 0;
    return value > 0 ? value : 0;
  };
  // Rows and columns of the matrix are counted from 1. Index 0 means "no row" or "no column".
  std::vector<double> row_potential (rows + 1, 0), column_potential (width + 1, 0),
      least (width + 1);
  std::vector<std::size_t> row_of (width + 1, 0), previous (width + 1, 0);
  std::vector<char> visited (width + 1);
  // Finds the cheapest chain of pairs from a row to a free column. Writes the chain to `previous`,
  // and moves the potentials. Returns the free column.
  const auto shortest_chain = [&] (std::size_t row) {
    std::ranges::fill (least, std::numeric_limits<double>::infinity ());
    std::ranges::fill (visited, 0);
    std::size_t column = 0;
    row_of[0] = row;
    do {
      visited[column] = 1;
      const std::size_t from = row_of[column];
      double step = std::numeric_limits<double>::infinity ();
      std::size_t next = 0;
      for (std::size_t c = 1; c <= width; c++) {
        if (visited[c])
          continue;
        if (const double cost = -gain (from - 1, c - 1) - row_potential[from] - column_potential[c];
            cost < least[c]) {
          least[c] = cost;
          previous[c] = column;
        }
        if (least[c] < step) {
          step = least[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= width; c++)
        if (visited[c]) {
          row_potential[row_of[c]] += step;
          column_potential[c] -= step;
        } else {
          least[c] -= step;
        }
      column = next;
    } while (row_of[column] != 0);
    return column;
  };
  for (std::size_t row = 1; row <= rows; row++)
    for (std::size_t column = shortest_chain (row); column != 0; column = previous[column])
      row_of[column] = row_of[previous[column]];
  std::vector<int> column_of (rows, -1);
  for (std::size_t c = 1; c <= columns; c++)
    if (row_of[c] > 0 && gain (row_of[c] - 1, c - 1) > 0)
      column_of[row_of[c] - 1] = int (c - 1);
  return column_of;
}

}  // namespace

std::vector<int> assign (std::span<const double> gains, std::size_t rows, std::size_t columns)
{
  std::vector<std::vector<std::size_t>> columns_of (rows), rows_of (columns);
  for (std::size_t row = 0; row < rows; row++)
    for (std::size_t column = 0; column < columns; column++)
      if (gains[row * columns + column] > 0) {
        columns_of[row].push_back (column);
        rows_of[column].push_back (row);
      }
  std::vector<int> column_of (rows, -1);
  std::vector<char> has_row (rows, 0), has_column (columns, 0);
  for (std::size_t first = 0; first < rows; first++) {
    if (has_row[first] || columns_of[first].empty ())
      continue;
    std::vector<std::size_t> group_rows{ first }, group_columns;
    has_row[first] = 1;
    for (std::size_t i = 0; i < group_rows.size (); i++)
      for (const std::size_t column : columns_of[group_rows[i]]) {
        if (std::exchange (has_column[column], 1))
          continue;
        group_columns.push_back (column);
        for (const std::size_t row : rows_of[column])
          if (!std::exchange (has_row[row], 1))
            group_rows.push_back (row);
      }
    std::ranges::sort (group_rows);
    std::ranges::sort (group_columns);
    std::vector<double> group_gains;
    for (const std::size_t row : group_rows)
      for (const std::size_t column : group_columns)
        group_gains.push_back (gains[row * columns + column]);
    const auto pairs = assign_group (group_gains, group_rows.size (), group_columns.size ());
    for (std::size_t i = 0; i < pairs.size (); i++)
      if (pairs[i] >= 0)
        column_of[group_rows[i]] = int (group_columns[std::size_t (pairs[i])]);
  }
  return column_of;
}

}  // namespace integralhist
