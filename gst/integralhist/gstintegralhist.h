/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/integralhist/gstintegralhistogram.h>
#include <gst/integralhist/gstintegralhistogramdlpack.h>
#include <gst/integralhist/gstintegralhistogramlut.h>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/integralhist/gstintegralhistogramquery.h>
#include <gst/integralhist/gstintegralhistogramregionsmeta.h>
#include <gst/integralhist/gstintegralhistogramtracksmeta.h>
