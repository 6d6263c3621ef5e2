// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Stands in for libFuzzer if that is not installed: runs the inputs of the given files and folders,
// then changes them at random. It knows libFuzzer's flags -seed, -runs, -max_total_time and
// -max_len, and ignores others. It does not see which code runs, and so finds less.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput (const std::uint8_t *data, std::size_t size);
extern "C" __attribute__ ((weak)) int LLVMFuzzerInitialize (int *argc, char ***argv);

namespace {

using Input = std::vector<std::uint8_t>;
using Random = std::mt19937;

void read (const std::filesystem::path &path, std::vector<Input> &inputs)
{
  if (std::filesystem::is_directory (path)) {
    for (const auto &entry : std::filesystem::directory_iterator (path))
      read (entry.path (), inputs);
    return;
  }
  std::ifstream file (path, std::ios::binary);
  inputs.emplace_back (std::istreambuf_iterator<char> (file), std::istreambuf_iterator<char> ());
}

/// One change: a byte set, flipped, put in or taken out, or the end of another input.
void change (Input &input, const Input &other, std::size_t most, Random &random)
{
  const std::size_t at = input.empty () ? 0 : random () % input.size ();
  switch (random () % 5) {
    case 0: input.insert (input.begin () + std::ptrdiff_t (at), std::uint8_t (random ())); break;
    case 1:
      if (!input.empty ())
        input.erase (input.begin () + std::ptrdiff_t (at));
      break;
    case 2:
      if (!input.empty ())
        input[at] = std::uint8_t (random ());
      break;
    case 3:
      if (!input.empty ())
        input[at] ^= std::uint8_t (1u << random () % 8);
      break;
    default:
      input.resize (at);
      if (!other.empty ())
        input.insert (input.end (), other.begin () + std::ptrdiff_t (random () % other.size ()),
                      other.end ());
  }
  if (input.size () > most)
    input.resize (most);
}

/// Runs an input in memory of its exact size. A file holds the input, in case the process dies.
void run (const Input &input)
{
  std::ofstream ("last-input", std::ios::binary)
      .write (reinterpret_cast<const char *> (input.data ()), std::streamsize (input.size ()));
  LLVMFuzzerTestOneInput (input.data (), input.size ());
}

}  // namespace

int main (int argc, char **argv)
{
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize (&argc, &argv);
  unsigned long seed = std::random_device{}(), runs = 0, seconds = 0, most = 4096;
  std::vector<Input> inputs;
  for (int i = 1; i < argc; i++) {
    char *const equals = std::strchr (argv[i], '=');
    const std::string name (argv[i],
                            equals ? std::size_t (equals - argv[i]) : std::strlen (argv[i]));
    const unsigned long value = equals ? std::strtoul (equals + 1, nullptr, 0) : 0;
    if (argv[i][0] != '-')
      read (argv[i], inputs);
    else if (name == "-seed")
      seed = value;
    else if (name == "-runs")
      runs = value;
    else if (name == "-max_total_time")
      seconds = value;
    else if (name == "-max_len")
      most = value;
  }
  std::printf ("seed %lu, %zu inputs; libFuzzer is missing, so these are changed blindly\n", seed,
               inputs.size ());
  std::fflush (stdout);
  for (const Input &input : inputs)
    run (input);
  inputs.emplace_back ();

  Random random (seed);
  const auto end = std::chrono::steady_clock::now () + std::chrono::seconds (seconds);
  unsigned long done = 0;
  for (; (runs == 0 || done < runs) && std::chrono::steady_clock::now () < end; done++) {
    Input input = inputs[random () % inputs.size ()];
    for (unsigned changes = 1 + random () % 8; changes > 0; changes--)
      change (input, inputs[random () % inputs.size ()], most, random);
    run (input);
  }
  std::printf ("Done %lu runs\n", done);
  return 0;
}
