// request_reader: what libmicrohttpd knows about a request whose body is still to come.
#pragma once

#include <cstddef>

#include <microhttpd.h>

#include "crawler/status/api_request.h"

namespace trawl {

// Bytes of a refused body that are read, and thrown away, before the reply.
inline constexpr std::size_t kMostDrained = 16 << 20;

// Adds headers and parameters.
void read_request(MHD_Connection* connection, ApiRequest& request);

// Whether the client sends a body, no longer than we want to read, without waiting to be asked.
bool may_drain(MHD_Connection* connection);

}  // namespace trawl
