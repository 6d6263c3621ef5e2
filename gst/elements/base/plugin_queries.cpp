// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin_queries.hpp"

namespace integralhist {

static const char *const kProducerQuery = "GstIntegralHistogramProducer";
static const char *const kTrackerQuery = "GstIntegralHistogramTracker";
static const char *const kFoundField = "found";

std::optional<Producer> find_producer (GstPad *sink_pad, const std::string &feature,
                                       inthist::Content content)
{
  if (content == inthist::Content::weights)
    content = inthist::Content::bins;
  g_autoptr (GstQuery) query = gst_query_new_custom (
      GST_QUERY_CUSTOM,
      gst_structure_new (kProducerQuery, "feature", G_TYPE_STRING, feature.c_str (), "content",
                         G_TYPE_INT, int (content), nullptr));
  Producer producer;
  if (!gst_pad_peer_query (sink_pad, query)
      || !gst_structure_get (gst_query_get_structure (query), "interval", G_TYPE_UINT,
                             &producer.interval, "attached", G_TYPE_UINT64, &producer.attached,
                             nullptr))
    return std::nullopt;
  return producer;
}

bool answer_producer_query (GstQuery *query, inthist::Content content, const char *feature,
                            const Producer &producer)
{
  gint wanted_content;
  if (GST_QUERY_TYPE (query) != GST_QUERY_CUSTOM
      || !gst_structure_has_name (gst_query_get_structure (query), kProducerQuery)
      || !gst_structure_get_int (gst_query_get_structure (query), "content", &wanted_content)
      || wanted_content != int (content))
    return false;
  const char *const wanted = gst_structure_get_string (gst_query_get_structure (query), "feature");
  if (wanted && *wanted && !g_str_equal (wanted, feature))
    return false;
  gst_structure_set (gst_query_writable_structure (query), "interval", G_TYPE_UINT,
                     producer.interval, "attached", G_TYPE_UINT64, producer.attached, nullptr);
  return true;
}

bool finds_tracker (GstPad *pad)
{
  g_autoptr (GstQuery) query =
      gst_query_new_custom (GST_QUERY_CUSTOM, gst_structure_new_empty (kTrackerQuery));
  return gst_pad_peer_query (pad, query)
         && gst_structure_has_field (gst_query_get_structure (query), kFoundField);
}

bool answer_tracker_query (GstQuery *query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_CUSTOM
      || !gst_structure_has_name (gst_query_get_structure (query), kTrackerQuery))
    return false;
  gst_structure_set (gst_query_writable_structure (query), kFoundField, G_TYPE_BOOLEAN, TRUE,
                     nullptr);
  return true;
}

}  // namespace integralhist
