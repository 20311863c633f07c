// ListeningSocket: the TCP socket of the status server. It is opened before the crawl, so that an
// address in use ends the command before anything is created; connections wait meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "trawl/result.h"

#include "base/file_io.h"
#include "crawler/config/listen_address.h"

namespace trawl {

class ListeningSocket {
 public:
  // Errors: kInUse, kPermission, kIo.
  static Result<ListeningSocket> open(const ListenAddress& address);

  int descriptor() const { return socket_.get(); }
  // With the port that was chosen.
  const ListenAddress& address() const { return address_; }
  // "http://127.0.0.1:8088/"; for an address of all interfaces, that of this machine's loopback.
  std::string url() const;

 private:
  ListeningSocket(FileDescriptor socket, ListenAddress address)
      : socket_(std::move(socket)), address_(std::move(address)) {}
  FileDescriptor socket_;
  ListenAddress address_;
};

}  // namespace trawl
