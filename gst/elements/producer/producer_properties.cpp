// SPDX-License-Identifier: LGPL-2.1-or-later
#include "producer_properties.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

#include <kernels/registry.hpp>
#include <kernels/tiles.hpp>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/api/c_api.hpp>
#include <gst/integralhist/base/regular_file.hpp>

namespace integralhist {
namespace {

using inthist::Content, inthist::kMaxBins, inthist::Type;

constexpr guint kMaxAsyncDepth = 64, kMaxTuningTime = 60000, kMaxTaskBins = 256;

GType backend_get_type ()
{
  static constexpr GEnumValue values[] = {
    { int (Backend::automatic), "CUDA if a device is available, else the CPU", "auto" },
    { int (Backend::cuda), "CUDA; an error if no device is available", "cuda" },
    { int (Backend::cpu), "The CPU", "cpu" },
  };
  return enum_type<values> ("GstCudaIntegralBackend");
}

/// Returns whether an algorithm refuses some shapes of tensors, so that its blurb names a limit.
bool is_limited (const inthist::Strategy &strategy, inthist::Content content)
{
  constexpr int kLong = 1 << 20;  // pixels
  const bool is_histogram = content == Content::bins;
  for (const auto &[width, height] :
       { std::pair (8192, 8192), std::pair (kLong, 3), std::pair (3, kLong) })
    for (const int planes : { 1, is_histogram ? 32 : 1, is_histogram ? 256 : 2 })
      for (const Type counter : { Type::u32, is_histogram ? Type::u16 : Type::u32 })
        if (!inthist::accepts (strategy, { width, height, planes, counter, content, Type::u8 }))
          return true;
  return false;
}

/// Returns the values of the property `strategy`: 0 is auto, n is row n - 1 of the strategies.
std::vector<GEnumValue> strategy_values (const inthist::Shape &example)
{
  std::vector<GEnumValue> values = {
    { 0, "The built-in choice, or the fastest if tuning-time is set", "auto" }
  };
  inthist::Shape tiled = example;
  tiled.counter = inthist::Type::u8_tiled;
  int row = 0;
  for (const inthist::Strategy &strategy : inthist::strategies ()) {
    row++;
    if (!inthist::accepts (strategy, example) && !inthist::accepts (strategy, tiled))
      continue;
    const std::string limit =
        is_limited (strategy, example.content) ? joined (" (limit: ", strategy.limit, ")") : "";
    values.push_back (
        { row, g_intern_string ((strategy.description + limit).c_str ()), strategy.name });
  }
  values.push_back ({ 0, nullptr, nullptr });
  return values;
}

GType strategy_get_type (inthist::Content content)
{
  static const std::vector<GEnumValue> of_histograms =
      strategy_values ({ 640, 480, 32, Type::u32, Content::bins, Type::u8 });
  static const std::vector<GEnumValue> of_images =
      strategy_values ({ 640, 480, 1, Type::u32, Content::sums, Type::u8 });
  static const GType histograms =
      g_enum_register_static ("GstCudaIntegralHistStrategy", of_histograms.data ());
  static const GType images =
      g_enum_register_static ("GstCudaIntegralImageStrategy", of_images.data ());
  return content == Content::bins ? histograms : images;
}

GType download_get_type ()
{
  static constexpr GEnumValue values[] = {
    { int (Download::lazy), "When a caller asks for the whole tensor in host memory", "lazy" },
    { int (Download::eager), "Right after the computation", "eager" },
    { int (Download::never), "Never; regions and other questions still work", "never" },
  };
  return enum_type<values> ("GstCudaIntegralDownload");
}

GType compute_get_type ()
{
  static constexpr GEnumValue values[] = {
    { int (Compute::automatic),
      "On demand or at once, by what consumers ask and where frames are; see docs/pipelines.md",
      "auto" },
    { int (Compute::eager), "At once, while the frame goes downstream", "eager" },
    { int (Compute::on_demand), "When a consumer asks, and only the part that it asks for",
      "on-demand" },
  };
  return enum_type<values> ("GstCudaIntegralCompute");
}

const inthist::Strategy *strategy_of (int value)
{
  return value == 0 ? nullptr : &inthist::strategies ()[value - 1];
}

int value_of (const inthist::Strategy *strategy)
{
  return strategy ? int (strategy - inthist::strategies ().data ()) + 1 : 0;
}

void add_feature (PropertyTable<ProducerProperties> &table, Content content)
{
  const bool is_histogram = content == Content::bins;
  table.choice ("feature", FIELD (feature), GST_TYPE_INTEGRAL_HISTOGRAM_FEATURE, kReady,
                is_histogram
                    ? "Value of each pixel to count; see docs/features.md"
                    : "Value of each pixel to add up, or to look up in lut; see docs/features.md");
  table.text ("quantization", FIELD (quantization), kReady,
              "Parts of each value of a joint feature (rgb, ycbcr, hue-saturation, hsv), such as "
              "\"16,4,4\"; empty = the feature's own; see docs/features.md");
  table.parsed (
      "lut", FIELD (lut), is_histogram ? kReady : kPlaying,
      is_histogram
          ? "Bin of each value of the feature, from value 0 on, separated by commas; a "
            "number that is not below bins means no bin; set bins too; see docs/features.md"
          : "Score (0 to 255) of each value of the feature, separated by commas, from "
            "value 0 on; see docs/features.md",
      [content] (const std::string &text) {
        return text.empty () ? ParsedLut () : parse_lut (text, "lut", content);
      });
  table.text ("lut-location", FIELD (lut_location), kReady,
              "File with the numbers of lut, read when the element goes to PAUSED");
}

void add_device_properties (PropertyTable<ProducerProperties> &table, Content content)
{
  const bool is_histogram = content == Content::bins;
  table.choice ("backend", FIELD (backend), backend_get_type (), kReady,
                "Device that computes: a GPU or the CPU");
  table.add (
      choice_spec ("strategy",
                   is_histogram ? "Algorithm to use; all give the same counts"
                                : "Algorithm to use; all give the same sums",
                   strategy_get_type (content), 0, kReady),
      [] (ProducerProperties &p, const GValue *value) {
        p.options.strategy = strategy_of (g_value_get_enum (value));
      },
      [] (const ProducerProperties &p, GValue *value) {
        g_value_set_enum (value, value_of (p.options.strategy));
      });
  table.number<int> ("cuda-device-id", FIELD (cuda_device_id), -1, G_MAXINT, kReady,
                     "CUDA device to compute on; -1 = that of the input's memory, else the device "
                     "that the fewest elements use");
  table.choice ("download", FIELD (options.download), download_get_type (), kReady,
                "When to copy a tensor from the GPU to host memory");
}

void add_compute_properties (PropertyTable<ProducerProperties> &table, Content content)
{
  const bool is_histogram = content == Content::bins;
  table.choice ("compute", FIELD (options.compute), compute_get_type (), kReady,
                "When to compute tensors; see docs/pipelines.md");
  table.number<guint> ("async-depth", FIELD (options.async_depth), 1, kMaxAsyncDepth, kReady,
                       "Frames that may be computed at the same time, each with a tensor; the next "
                       "frame waits for the oldest");
  table.number<guint> ("max-tensors", FIELD (options.max_tensors), 0, G_MAXUINT, kReady,
                       "Maximum tensors of one frame size at once; at the limit the element waits "
                       "until one is released; 0 = no limit");
  table.flag ("sync", FIELD (sync), kPlaying,
              "Wait for each tensor before pushing its frame; no effect with compute=on-demand");
  table.number<guint> ("interval", FIELD (interval), 1, G_MAXINT, kPlaying,
                       "Compute every n-th frame; the others pass without the meta");
  table.parsed ("regions", FIELD (regions), kPlaying,
                is_histogram
                    ? "Post the histograms of these regions as messages integral-histogram: "
                      "\"x,y,width,height;...\" in pixels"
                    : "Post the sums of these regions as messages integral-image: "
                      "\"x,y,width,height;...\" in pixels",
                [] (const std::string &text) { return parse_regions (text); });
  table.number<guint> ("tuning-time", FIELD (options.tuning_time), 0, kMaxTuningTime, kReady,
                       "Milliseconds to measure which strategy is fastest, at each new frame size; "
                       "0 = take the built-in choice");
  table.add (
      g_param_spec_boolean (
          "qos", nullptr,
          "Let late frames pass without a tensor; until it is set, only those of live sources",
          TRUE, flags_of (kPlaying)),
      [] (ProducerProperties &p, const GValue *value) { p.qos = g_value_get_boolean (value); },
      [] (const ProducerProperties &p, GValue *value) {
        g_value_set_boolean (value, p.qos.value_or (true));
      });
}

void add_bin_properties (PropertyTable<ProducerProperties> &table)
{
  table.number<guint> ("bins", FIELD (bins), 1, kMaxBins, kReady,
                       "Number of bins, at most 180 with hue and gradients, 255 with lut or soft; "
                       "ignored, with a warning, if feature has its own number");
  table.number<guint> ("first-bin", FIELD (first_bin), 0, kMaxBins - 1, kReady,
                       "First bin to compute, if several processes share the bins of a frame; see "
                       "docs/several-gpus.md");
  table.number<guint> (
      "n-bins", FIELD (n_bins), 0, kMaxBins, kReady,
      "Number of bins to compute, from first-bin on; 0 = all of them; see docs/several-gpus.md");
}

void add_weight_properties (PropertyTable<ProducerProperties> &table)
{
  table.choice ("weight", FIELD (weight), GST_TYPE_INTEGRAL_HISTOGRAM_WEIGHT, kReady,
                "Amount that each pixel adds to its bin: 1, or the strength of the edge there");
  table.flag ("soft", FIELD (soft), kReady,
              "Share each pixel between its two nearest bins, in parts of 1/256; not with "
              "patterns, labels, joint features or a lut");
  table.choice ("counter", FIELD (counter), GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER, kReady,
                "Type of the tensor's elements; answers for regions are exact with all types");
}

void add_sharing_properties (PropertyTable<ProducerProperties> &table)
{
  table.parsed ("cuda-device-ids", FIELD (cuda_device_ids), kReady,
                "CUDA devices that share the bins of each frame, such as \"0,1,2,3\", instead of "
                "cuda-device-id; see docs/several-gpus.md",
                parse_device_ids);
  table.number<guint64> (
      "max-device-memory", FIELD (options.max_device_memory), 0, G_MAXUINT64, kReady,
      "Maximum bytes on each device for tensors and working memory; 0 = all free "
      "memory; see docs/several-gpus.md");
  table.number<guint> ("task-bins", FIELD (options.task_bins), 0, kMaxTaskBins, kReady,
                       "Maximum bins of a frame that a device computes at once; 0 = automatic; see "
                       "docs/several-gpus.md");
}

/// Makes the table of a producer's properties, in the order in which gst-inspect-1.0 lists them.
PropertyTable<ProducerProperties> make_table (Content content,
                                              const ProducerProperties &by_default = {})
{
  PropertyTable<ProducerProperties> table (by_default);
  add_device_properties (table, content);
  add_compute_properties (table, content);
  if (content == Content::bins)
    add_bin_properties (table);
  else
    table.flag ("squared", FIELD (squared), kReady,
                "Add a table of the squares of the values or scores, so that messages of regions "
                "have the variance");
  add_feature (table, content);
  if (content == Content::bins) {
    add_weight_properties (table);
    add_sharing_properties (table);
  }
  return table;
}

}  // namespace

const PropertyTable<ProducerProperties> &producer_properties (Content content)
{
  static const auto of_histograms = make_table (Content::bins);
  static const auto of_images = make_table (Content::sums);
  return content == Content::bins ? of_histograms : of_images;
}

const PropertyTable<ProducerProperties> &shared_producer_properties ()
{
  static const auto shared = [] {
    ProducerProperties by_default;
    by_default.options.compute = Compute::on_demand;
    auto table = make_table (Content::bins, by_default);
    table.keep ({ "backend", "cuda-device-id", "cuda-device-ids", "download", "compute",
                  "async-depth", "max-tensors", "max-device-memory", "sync", "interval",
                  "tuning-time", "qos" });
    return table;
  }();
  return shared;
}

/// Returns an error for users if first-bin and n-bins reach beyond the histogram's bins.
static Expected<> check_bin_range (const ProducerProperties &properties)
{
  const guint all = guint (properties.all_bins ()), first_bin = properties.first_bin,
              n_bins = properties.n_bins;
  const inthist::Feature feature = properties.feature;
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  const bool are_set = properties.has_lut () || !has_own_bins (feature);
  const std::string whole =
      are_set
          ? joined ("bins=", all)
          : joined ("feature=", info.nick,
                    info.is_joint () ? " quantization=" + text_of (properties.spec ().quantization)
                                     : "",
                    " (", all, " bins)");
  if (first_bin >= all)
    return error (Error::Kind::bad_setting, "first-bin=", first_bin, " is beyond ", whole,
                  ": set first-bin=", all - 1, " or less");
  if (n_bins > all - first_bin)
    return error (Error::Kind::bad_setting, "first-bin=", first_bin, " n-bins=", n_bins,
                  " reach beyond ", whole, ": set n-bins=", all - first_bin,
                  " or less, or 0 for all from first-bin on");
  return {};
}

Expected<> ProducerProperties::check (Content content) const
{
  TRY (producer_properties (content).check (*this));
  if (!TRY (cuda_device_ids.value).empty () && cuda_device_id >= 0)
    return error (Error::Kind::bad_setting, "cuda-device-id=", cuda_device_id,
                  " and cuda-device-ids=\"", cuda_device_ids.text,
                  "\" are both set: set only one of them");
  TRY (parse_quantization (quantization, feature));
  if (!lut.text.empty () && !lut_location.empty ())
    return error (Error::Kind::bad_setting, "lut=\"", lut.text.substr (0, 32),
                  "\" and lut-location=\"", lut_location, "\" are both set: set only one of them");
  if (content != Content::bins)
    return {};
  if (has_lut () && bins > inthist::kNoValue)
    return error (Error::Kind::bad_setting, "bins=", bins, " with lut: at most ",
                  int (inthist::kNoValue), " are possible, as bin ", int (inthist::kNoValue),
                  " is for pixels in no bin; set bins=", int (inthist::kNoValue), " or less");
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  if (is_weighted () && counter != GST_INTEGRAL_HISTOGRAM_COUNTER_U32)
    return error (Error::Kind::bad_setting, soft ? "soft=true" : "weight=gradient",
                  " needs elements of 32 bits: set counter=u32");
  if (soft && (has_lut () || !info.can_be_shared ()))
    return error (Error::Kind::bad_setting, "soft=true with ",
                  has_lut () ? "lut" : joined ("feature=", info.nick),
                  ": these bins have no order in which two are neighbours. Set soft=false");
  if (soft && bins > guint (inthist::SoftBins::kMax))
    return error (Error::Kind::bad_setting, "soft=true with bins=", bins,
                  " has too many bins: set bins=", int (inthist::SoftBins::kMax), " or less");
  const auto most = guint (info.n_values);
  if (info.bins == 0 && bins > most && !has_lut ())
    return error (Error::Kind::bad_setting, "feature=", info.nick, " has at most ", most,
                  " bins, not ", bins, ": set bins=", most, " or less");
  return check_bin_range (*this);
}

HistogramSpec ProducerProperties::spec () const
{
  return { .feature = feature,
           .quantization =
               parse_quantization (quantization, feature).value_or (inthist::Quantization{}),
           .weight = weight,
           .soft = soft,
           .has_lut = has_lut (),
           .range = {} };
}

inthist::PixelFormat ProducerProperties::format (Content content, const GstVideoInfo &info) const
{
  const bool reads_values = content != Content::bins || has_lut ();
  return pixel_format_of (info, spec (),
                          reads_values ? inthist::info_of (feature).n_values : all_bins ());
}

std::string ProducerProperties::describe_ignored_bins () const
{
  if (has_lut () || !has_own_bins (feature) || bins == ProducerProperties ().bins
      || int (bins) == all_bins ())
    return "";
  const HistogramSpec used = spec ();
  return joined ("bins=", bins, " is ignored: feature=", inthist::info_of (used.feature).nick,
                 " has ", all_bins (), " bins. Leave bins out",
                 text_of (used.quantization).empty () ? "" : ", or set quantization", ".");
}

std::string ProducerProperties::describe_gray (const GstVideoInfo &info) const
{
  const inthist::FeatureInfo &counted = inthist::info_of (feature);
  if (!GST_VIDEO_INFO_IS_GRAY (&info) || !counted.is_chroma)
    return "";
  return joined ("feature=", counted.nick, " finds no colours in ",
                 gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (&info)),
                 " frames: all pixels have the same value, or none. Use feature=luma, or frames of "
                 "another format.");
}

std::string ProducerProperties::describe_wait (unsigned most) const
{
  const bool set = options.max_tensors == most, memory = options.max_device_memory > 0;
  return joined (
      "Every tensor that ",
      set ? joined ("max-tensors=", most, " allows")
          : joined ("fits ", memory ? "max-device-memory" : "the devices", " (", most, ")"),
      " is held downstream: waiting for one. A sink keeps its last frame; set its "
      "enable-last-sample=false, or ",
      set      ? "raise max-tensors"
      : memory ? "raise max-device-memory, or lower it so that tensors go to host memory"
               : "lower bins",
      ".");
}

int ProducerProperties::all_bins () const
{
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  if (has_lut ())
    return int (bins);
  if (info.bins > 0)
    return info.bins;
  if (!info.is_joint ())
    return int (bins);
  int n = 1;
  for (const int parts : spec ().quantization)
    n *= std::max (parts, 1);
  return n;
}

BinRange ProducerProperties::range () const
{
  const int all = all_bins (), first = int (first_bin);
  return { first, n_bins > 0 ? int (n_bins) : all - first, all };
}

static Expected<std::string> read_lut_file (const std::string &path)
{
  constexpr std::size_t kMaxBytes = 64 << 10;
  const auto refuse = [&path] (const auto &...why) {
    g_autofree gchar *name = g_filename_display_name (path.c_str ());
    return error (Error::Kind::bad_setting, "lut-location=\"", name, "\": ", why...,
                  "; name a file with up to 256 numbers, separated by commas");
  };
  const auto text = read_regular_file (path, kMaxBytes);
  if (!text)
    return refuse (text.error ().message);
  if (!*text)
    return refuse (g_strerror (ENOENT));
  return **text;
}

Expected<BinLut> ProducerProperties::lut_of_content (Content content) const
{
  if (soft)
    return BinLut{ inthist::uniform_lut (256) };  // the frame's values are bins
  if (!has_lut ()) {
    if (content == Content::bins)
      return BinLut{ inthist::lut_of_feature (feature, int (bins)) };
    // Without a LUT, the scores are the feature's values; pixels without a value add nothing.
    BinLut values = {};
    for (int value = 0; value < inthist::info_of (feature).n_values; value++)
      values.lut[value] = std::uint8_t (value);
    return values;
  }
  const char *const name = lut_location.empty () ? "lut" : "lut-location";
  const ParsedLut parsed =
      TRY (lut_location.empty () ? lut.value
                                 : parse_lut (TRY (read_lut_file (lut_location)), name, content));
  if (content != Content::bins)
    return BinLut{ parsed.lut };
  const std::span numbers (parsed.lut.data (), std::size_t (parsed.n));
  const auto outside =
      std::ranges::count_if (numbers, [this] (int bin) { return bin >= int (bins); });
  if (outside == parsed.n)
    return error (Error::Kind::bad_setting, name, ": no number is below bins=", bins,
                  ", so no pixel is in a bin. Write bins from 0 to ", bins - 1,
                  ", or raise bins above the numbers, to at most ", int (inthist::kNoValue));
  return BinLut{ parsed.lut, int (outside) };
}

Expected<> ProducerProperties::check_shape (const inthist::Shape &shape) const
{
  const inthist::Strategy *const strategy = options.strategy;
  const bool tiled = shape.counter == inthist::Type::u8_tiled;
  if (tiled && !inthist::is_valid (shape))
    return error (Error::Kind::bad_setting, "counter=u8-tiled takes frames of at most ",
                  inthist::kMaxTiledSide, " columns and rows, not ", shape.width, "x", shape.height,
                  ": set counter=u16 or u32");
  if (!strategy || inthist::accepts (*strategy, shape))
    return {};
  const inthist::Strategy *const other = inthist::preferred_strategy (strategy->device, shape);
  return error (Error::Kind::bad_setting, "strategy=", strategy->name, " takes ",
                shape.content == Content::weights && !strategy->takes_weights ? "no weights"
                : tiled && !strategy->makes_tiles ? "no counter=u8-tiled"
                                                  : joined ("only ", strategy->limit),
                ", and this is ", describe (shape), ": set strategy=auto",
                other ? joined (" or ", other->name) : "");
}

int ProducerProperties::first_device () const
{
  const auto &ids = cuda_device_ids.value;
  if (!ids)
    return -1;  // check () reports the error
  return ids->empty () ? cuda_device_id : ids->front ();
}

inthist::Shape ProducerProperties::shape (Content content) const
{
  // Element type for each value of the property `counter`; u16-anchored is an alias of u16.
  constexpr Type kTypes[] = { Type::u32, Type::u16, Type::u16, Type::u8_tiled };
  if (content == Content::bins) {
    const int n = range ().bins;
    if (is_weighted ())
      return { 0, 0, n, Type::u32, Content::weights, Type::u32 };
    return { 0, 0, n, kTypes[counter], content, Type::u8 };
  }
  return { 0, 0, squared ? 2 : 1, Type::u32, content, Type::u8 };
}

}  // namespace integralhist
