// The checksum of RocksDB's log, by the processor's instruction.
#pragma once

namespace trawl {

// Has the linker take log_checksum.cc; does nothing.
void link_log_checksum() noexcept;

}  // namespace trawl
