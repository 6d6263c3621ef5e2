// SPDX-License-Identifier: LGPL-2.1-or-later
//
// INTEGRALHIST_FAULT, a fault for tests, is refused if its value is not a possible fault.
#include <gst/integralhist/sharded/fault.hpp>

#include "alone.hpp"
#include "must.hpp"
#include "test.hpp"

using namespace integralhist;

TEST (faults)
{
  fail_unless (!must (parse_fault ("")));
  const Fault first = { 0, 1 }, other = { 12, 345 };
  fail_unless (*must (parse_fault ("0:1")) == first);
  fail_unless (*must (parse_fault ("12:345")) == other);
  for (const char *text :
       { "garbage", "1", "1:", ":1", "1:0", "-1:1", "1:-1", "1:2x", "1:2:3", " 1:2", "1: 2", "+1:2",
         "99999999999:1", "1:99999999999", "1;2", "0x1:1" }) {
    const auto fault = parse_fault (text);
    fail_unless (!fault && fault.error ().kind == Error::Kind::bad_setting, "\"%s\" is taken",
                 text);
    fail_unless (fault.error ().message.find ("INTEGRALHIST_FAULT=\"" + std::string (text) + "\"")
                 != std::string::npos);
  }
  g_setenv ("INTEGRALHIST_FAULT", "garbage", TRUE);
  {
    Alone alone ("cudaintegralhist backend=cpu cuda-device-ids=0,1 bins=8",
                 caps_of ("GRAY8", 64, 48));
    expect_parts (alone.refusal (gst_buffer_new_allocate (nullptr, 64 * 48, nullptr), "a fault",
                                 GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
                  { "INTEGRALHIST_FAULT=\"garbage\"", "DEVICE:N" });
  }
  // a frame that is not divided into tasks does not read INTEGRALHIST_FAULT
  Alone alone ("cudaintegralhist backend=cpu bins=8 tuning-time=0", caps_of ("GRAY8", 64, 48));
  gst_buffer_unref (alone.pass (gst_buffer_new_allocate (nullptr, 64 * 48, nullptr)));
  g_unsetenv ("INTEGRALHIST_FAULT");
}
