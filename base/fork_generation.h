// fork_generation(): which process this is, of those that fork() made.
#pragma once

#include <cstdint>

namespace trawl {

// How often fork() was called between the process that loaded this code and the calling one. What
// was made in another generation may rest on threads that exist only there.
std::uint32_t fork_generation() noexcept;

}  // namespace trawl
