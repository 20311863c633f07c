// MessageIds: the names of messages and commands for the owners of buckets.
#pragma once

#include <cstdint>

#include "frontier/shared/bucket_batch.h"

namespace trawl {

// Ids that are never used twice: random bytes of this process, and a number. Not thread-safe.
class MessageIds {
 public:
  MessageIds();
  MessageId next();

 private:
  std::uint64_t session_;
  std::uint64_t number_ = 0;
};

}  // namespace trawl
