// The c-ares channel of a Resolver: its settings and name servers.
#pragma once

#include <memory>
#include <string>

#include <ares.h>

#include "trawl/result.h"

#include "crawler/http/resolver.h"

namespace trawl {

struct DnsChannelDelete {
  void operator()(ares_channel channel) const noexcept { ares_destroy(channel); }
};
using DnsChannel = std::unique_ptr<ares_channeldata, DnsChannelDelete>;

// Uses the servers of the options, else those of resolv.conf, else (if that cannot be read)
// 127.0.0.1. `on_state` is called with `self` when the interest in a descriptor changes. Errors:
// kInvalidArgument for a server of the options that is not an address; kIo.
Result<DnsChannel> open_dns_channel(const ResolverOptions& options, ares_sock_state_cb on_state,
                                    void* self);

// The address of the channel's server; empty if it has several: c-ares does not say which answered.
std::string address_of_server(ares_channel channel);

}  // namespace trawl
