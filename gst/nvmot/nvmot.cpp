// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The functions that nvtracker of NVIDIA DeepStream looks up in its low-level tracker library. They
// run integralhisttrack's tracker with the features of cudatrackfeatures.
//
// nvtracker calls Init and then Query, Process for each batch, RemoveStreams and UpdateParams
// between batches, and DeInit, from several threads. A second Init without DeInit makes a second
// context. All state is in contexts.
//
// nvtracker catches no exceptions. All other files are compiled without exceptions and would let
// std::bad_alloc of the standard library pass. This file is compiled with exceptions, so that an
// exception ends the process at a `noexcept` function.
#include <cstring>
#include <string>

#include "context.hpp"
#include "log.hpp"

using namespace integralhist;
using namespace integralhist::nvmot;

#define EXPORT extern "C" __attribute__ ((visibility ("default")))

static std::string path_of (const char *text, guint16 length)
{
  return text ? std::string (text, strnlen (text, length)) : "";
}

/// Writes an error to the log and to the console, because users of DeepStream seldom have a log.
static Status report (const Error &error, const char *doing)
{
  GST_ERROR ("%s: %s %s", doing, error.message.c_str (), error.detail.c_str ());
  g_printerr ("integralhist_nvmot: %s: %s\n", doing, error.message.c_str ());
  return Status::error;
}

template <class T>
static Status reported (const Expected<T> &outcome, const char *doing)
{
  return outcome ? Status::ok : report (outcome.error (), doing);
}

/// Initializes GStreamer if necessary. Reports an error and returns false if that fails.
static bool has_gstreamer (const char *doing)
{
  GError *problem = nullptr;
  if (gst_init_check (nullptr, nullptr, &problem))
    return true;
  const std::string why = problem ? problem->message : "it gives no reason";
  g_clear_error (&problem);
  report ({ Error::Kind::failed, "GStreamer cannot start: " + why }, doing);
  return false;
}

/// Returns the options for NvMOT_Query: those of the query's context, or else of the key file.
static Expected<LibraryOptions> options_of (const Capabilities &query, const std::string &path,
                                            bool &is_missing)
{
  if (query.context)
    return static_cast<Context *> (query.context)->options ();
  return read_options (path, is_missing);
}

EXPORT Status NvMOT_Init (const Config *config, void **handle, ConfigResponse *response) noexcept
{
  if (handle)
    *handle = nullptr;
  if (!config || !handle || !response)
    return Status::error;
  *response = {};
  const auto refuse = [response] (ConfigStatus &part, ConfigStatus why) {
    response->summary = ConfigStatus::error;
    part = why;
    return Status::error;
  };
  if (!has_gstreamer ("Init"))
    return refuse (response->other, ConfigStatus::error);
  bool is_missing = false;
  auto options = read_options (path_of (config->path, config->path_length), is_missing);
  if (!options) {
    report (options.error (), "Init");
    return refuse (response->file, ConfigStatus::invalid);
  }
  auto context = Context::make (*config, std::move (*options));
  if (!context) {
    report (context.error (), "Init");
    return refuse (response->other, ConfigStatus::error);
  }
  *handle = context->release ();
  return Status::ok;
}

EXPORT void NvMOT_DeInit (void *handle) noexcept
{
  delete static_cast<Context *> (handle);
}

EXPORT Status NvMOT_Query (guint16 path_length, const char *path, Capabilities *query) noexcept
{
  if (!query || !has_gstreamer ("Query"))
    return Status::error;
  bool is_missing = false;
  const auto options = options_of (*query, path_of (path, path_length), is_missing);
  if (!options) {
    report (options.error (), "Query");
    return is_missing ? Status::invalid_path : Status::error;
  }
  const auto cuda = uses_cuda (*options->backend.value);
  if (!cuda)
    return reported (cuda, "Query");
  query->compute = *cuda ? kComputeGpu | kComputeCpu : kComputeCpu;
  query->n_transforms = 1;
  query->colour_format = kNv12;
  // The memory type of Jetson boards is not used, because it has no address that CUDA can use.
  query->memory = *cuda ? kDeviceMemory : kPinnedMemory;
  query->max_targets = options->max_targets;
  query->batch_mode = kBatches;
  return Status::ok;
}

EXPORT Status NvMOT_Process (void *handle, const ProcessParams *params,
                             OutputBatch *output) noexcept
{
  if (!handle || !params || !output)
    return Status::error;
  return reported (static_cast<Context *> (handle)->process (*params, *output), "Process");
}

/// Removes one video stream by its id. NVIDIA's header calls the id a mask, so that 0, the first
/// stream, would mean all streams, but nvtracker passes the id of one stream.
EXPORT Status NvMOT_RemoveStreams (void *handle, guint64 stream) noexcept
{
  if (!handle)
    return Status::error;
  static_cast<Context *> (handle)->remove_stream (stream);
  return Status::ok;
}

EXPORT Status NvMOT_UpdateParams (void *handle, const std::string &text) noexcept
{
  if (!handle)
    return Status::error;
  return reported (static_cast<Context *> (handle)->update (text), "UpdateParams");
}
