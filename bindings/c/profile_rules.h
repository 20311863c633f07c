// profile_of(): rules by name.
#pragma once

#include <cstddef>

#include "trawl/canonical_profile.h"

#include "bindings/c/call_guard.h"

namespace trawl::c {

// The profile with the `count` rules named.
tl::expected<Profile, Failure> profile_of(const trawl_str* rules, std::size_t count);

}  // namespace trawl::c
