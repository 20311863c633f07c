// FetchedPage: a page between its arrival and the end of its lease.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trawl/frontier.h"
#include "trawl/url.h"

#include "crawler/crash/crash_loop_breaker.h"
#include "crawler/http/http_client.h"
#include "crawler/run/page_reader.h"

namespace trawl {

// A lease that is being worked on.
struct OpenLease {
  Lease lease;
  SteadyTime leased_at;
  SystemTime wall_time;
  CrashLoopBreaker::Ticket in_flight = {};  // from the request on
  bool fetched = false;  // its request no longer counts: see Fetcher::note_fetched()
};

// Of one fetcher; UnreadPages says when another thread has it. The ticket is part of the lease: a
// page that crashes its reader is in flight.
struct FetchedPage {
  enum class Reading : std::uint8_t { kNotBegun, kOffered, kDoneHere };

  OpenLease open;
  Url url;
  HttpResponse response;
  ReadPage read;  // what a reader fills
  std::atomic<bool> is_read{false};
  Reading reading = Reading::kNotBegun;  // for the fetcher
  std::size_t thread = 0;                // the fetcher
  std::size_t place = 0;                 // in UnreadPages
};

}  // namespace trawl
