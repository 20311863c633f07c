// By how much less a test does where a sanitizer slows it down.
#pragma once

namespace trawl::test {

#ifdef __SANITIZE_THREAD__
inline constexpr int kSlowdown = 16;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kSlowdown = 4;
#else
inline constexpr int kSlowdown = 1;
#endif

}  // namespace trawl::test
