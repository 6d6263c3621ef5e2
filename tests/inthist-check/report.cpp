// SPDX-License-Identifier: LGPL-2.1-or-later
#include "report.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>

#include "cases.hpp"
#include "text.hpp"

namespace inthist::check {
namespace {

std::string cpu_model ()
{
  std::ifstream in ("/proc/cpuinfo");
  for (std::string line; std::getline (in, line);)
    if (line.starts_with ("model name"))
      if (const auto colon = line.find (": "); colon != line.npos)
        return line.substr (colon + 2);
  return "unknown";
}

/// "580.159.04"; what CUDA itself reports is the newest CUDA that the driver knows.
[[maybe_unused]] std::string driver_version ()
{
  std::ifstream in ("/proc/driver/nvidia/version");
  for (std::string word; in >> word;)
    if (std::count (word.begin (), word.end (), '.') >= 1
        && word.find_first_not_of ("0123456789.") == word.npos)
      return word;
  return "unknown";
}

std::string quoted (const std::string &plain, const char *quote_inside)
{
  std::string out = "\"";
  for (const char c : plain)
    out += c == '"' ? quote_inside : std::string (1, c);
  return out + '"';
}

std::string in_json (const std::string &plain)
{
  return quoted (plain, "\\\"");
}

std::string in_csv (const std::string &plain)
{
  return quoted (plain, "\"\"");
}

const char *name_of (Content content)
{
  // "powers" as in the measurements' files
  return content == Content::bins ? "bins" : content == Content::weights ? "weights" : "powers";
}

std::string stages_of (const Row &row, const char *between)
{
  std::string all;
  for (const auto &[name, seconds] : row.stages)
    all += text ("%s%s %.1f", all.empty () ? "" : between, name.c_str (), 1e6 * seconds);
  return all;
}

}  // namespace

Machine this_machine ([[maybe_unused]] bool with_gpu)
{
  Machine machine;
  const std::time_t now = std::time (nullptr);
  char date[32];
  std::strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime (&now));
  machine.date = date;
  machine.cpu = text ("%s, %u cores", cpu_model ().c_str (), std::thread::hardware_concurrency ());
#if INTHIST_CUDA
  if (with_gpu) {
    int device = 0, driver = 0, runtime = 0;
    cudaDeviceProp properties;
    CHECK_CUDA (cudaGetDevice (&device));
    CHECK_CUDA (cudaGetDeviceProperties (&properties, device));
    CHECK_CUDA (cudaDriverGetVersion (&driver));
    CHECK_CUDA (cudaRuntimeGetVersion (&runtime));
    machine.gpu = text ("%s, %d SMs, L2 %d MB", properties.name, properties.multiProcessorCount,
                        properties.l2CacheSize >> 20);
    machine.driver =
        text ("%s (CUDA %d.%d)", driver_version ().c_str (), driver / 1000, driver % 1000 / 10);
    machine.runtime = text ("CUDA %d.%d", runtime / 1000, runtime % 1000 / 10);
  }
#endif
  return machine;
}

Report::Report (Format format, std::FILE *out, Machine machine)
    : format_ (format), out_ (out), machine_ (std::move (machine))
{
  if (format_ == Format::csv)
    std::fprintf (
        out_, "date,cpu,gpu,driver,runtime,device,content,width,height,planes,pixel,counter,"
              "picture,name,mode,tile,threads,laps,"
              "median_us,p5_us,p95_us,frames_per_s,useful_bytes_per_s,share_of_ceiling,stages\n");
  if (format_ != Format::table)
    return;
  std::fprintf (out_, "%s\nCPU: %s\n", machine_.date.c_str (), machine_.cpu.c_str ());
  if (!machine_.gpu.empty ())
    std::fprintf (out_, "GPU: %s; driver %s, runtime %s\n", machine_.gpu.c_str (),
                  machine_.driver.c_str (), machine_.runtime.c_str ());
}

void Report::add (const std::vector<Row> &rows)
{
  if (format_ == Format::table)
    print_table (rows);
  if (format_ == Format::csv)
    print_csv (rows);
  rows_.insert (rows_.end (), rows.begin (), rows.end ());
}

void Report::finish ()
{
  if (format_ == Format::json)
    print_json ();
  std::fflush (out_);
}

void Report::print_table (const std::vector<Row> &rows) const
{
  if (rows.empty ())
    return;
  std::fprintf (out_, "\n%s on %s, %s\n%-26s %-24s %5s %8s %11s %11s %11s %11s %9s %8s  %s\n",
                check::name_of (rows.front ().shape).c_str (),
                check::name_of (rows.front ().device), rows.front ().picture.c_str (), "what",
                "how", "tile", "threads", "median us", "p5", "p95", "frames/s", "GB/s", "ceiling",
                "stages, us");
  const auto parameter = [] (int value) { return value ? std::to_string (value) : "-"; };
  for (const Row &row : rows)
    std::fprintf (out_, "%-26s %-24s %5s %8s %11.1f %11.1f %11.1f %11.1f %9.1f %8s  %s\n",
                  row.name.c_str (), row.mode.c_str (), parameter (row.tuning.tile).c_str (),
                  parameter (row.tuning.threads).c_str (), 1e6 * row.median, 1e6 * row.p5,
                  1e6 * row.p95, 1 / row.median, row.useful_bytes / row.median / 1e9,
                  row.share > 0 ? text ("%.1f%%", 100 * row.share).c_str () : "-",
                  stages_of (row, " + ").c_str ());
  std::fflush (out_);
}

void Report::print_csv (const std::vector<Row> &rows) const
{
  for (const Row &row : rows) {
    for (const std::string &word :
         { machine_.date, machine_.cpu, machine_.gpu, machine_.driver, machine_.runtime })
      std::fprintf (out_, "%s,", in_csv (word).c_str ());
    std::fprintf (
        out_, "%s,%s,%d,%d,%d,%s,%s,%s,%s,%s,%d,%d,%zu,%.3f,%.3f,%.3f,%.3f,%.0f,%.4f,%s\n",
        check::name_of (row.device), name_of (row.shape.content), row.shape.width, row.shape.height,
        row.shape.bins, inthist::name_of (row.shape.pixel), inthist::name_of (row.shape.counter),
        row.picture.c_str (), in_csv (row.name).c_str (), in_csv (row.mode).c_str (),
        row.tuning.tile, row.tuning.threads, row.laps, 1e6 * row.median, 1e6 * row.p5,
        1e6 * row.p95, 1 / row.median, row.useful_bytes / row.median, row.share,
        in_csv (stages_of (row, ";")).c_str ());
  }
  std::fflush (out_);
}

void Report::print_json () const
{
  std::fprintf (out_,
                "{\n  \"date\": %s,\n  \"cpu\": %s,\n  \"gpu\": %s,\n  \"driver\": %s,\n  "
                "\"runtime\": %s,\n  \"results\": [",
                in_json (machine_.date).c_str (), in_json (machine_.cpu).c_str (),
                in_json (machine_.gpu).c_str (), in_json (machine_.driver).c_str (),
                in_json (machine_.runtime).c_str ());
  const char *between = "\n";
  for (const Row &row : rows_) {
    std::fprintf (out_,
                  "%s    { \"device\": \"%s\", \"content\": \"%s\", \"width\": %d, \"height\": %d, "
                  "\"planes\": %d, \"pixel\": \"%s\", "
                  "\"counter\": \"%s\", \"picture\": \"%s\", \"name\": %s, \"mode\": %s, \"tile\": "
                  "%d, \"threads\": %d, \"laps\": %zu, "
                  "\"median_us\": %.3f, "
                  "\"p5_us\": %.3f, \"p95_us\": %.3f, \"frames_per_s\": %.3f, "
                  "\"useful_bytes_per_s\": %.0f, \"share_of_ceiling\": %.4f, "
                  "\"stages\": [",
                  between, check::name_of (row.device), name_of (row.shape.content),
                  row.shape.width, row.shape.height, row.shape.bins,
                  inthist::name_of (row.shape.pixel), inthist::name_of (row.shape.counter),
                  row.picture.c_str (), in_json (row.name).c_str (), in_json (row.mode).c_str (),
                  row.tuning.tile, row.tuning.threads, row.laps, 1e6 * row.median, 1e6 * row.p5,
                  1e6 * row.p95, 1 / row.median, row.useful_bytes / row.median, row.share);
    const char *comma = "";
    for (const auto &[name, seconds] : row.stages) {
      std::fprintf (out_, "%s{ \"name\": %s, \"us\": %.3f }", comma, in_json (name).c_str (),
                    1e6 * seconds);
      comma = ", ";
    }
    std::fprintf (out_, "] }");
    between = ",\n";
  }
  std::fprintf (out_, "\n  ]\n}\n");
}

}  // namespace inthist::check
