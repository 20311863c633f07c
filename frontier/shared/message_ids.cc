#include "frontier/shared/message_ids.h"

#include <cstring>

#include "trawl/fingerprint.h"

#include "base/big_endian.h"

namespace trawl {

MessageIds::MessageIds() {
  const KeyedHash::Key random = KeyedHash::random().key();
  std::memcpy(&session_, random.data(), sizeof(session_));
}

MessageId MessageIds::next() {
  MessageId id;
  store_big_endian(store_big_endian(id.data(), session_), ++number_);
  return id;
}

}  // namespace trawl
