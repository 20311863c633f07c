// The implementations of Frontier, for tests that hold of each.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "trawl/embedded_frontier.h"
#include "trawl/frontier.h"
#include "trawl/result.h"

namespace trawl::test {

struct Implementation {
  const char* name;
  // Opens it with those options that it has.
  Result<std::unique_ptr<Frontier>> (*open)(const EmbeddedOptions& options, OpenReport* report);
  // It outlives its process: opened again it is as it was, but that no lease is open.
  bool is_durable;
  // A crash may leave a page queued whose links are admitted already.
  bool ends_follow_links = false;
  // It knows how the fetch of a URL ended.
  bool knows_outcomes = true;

  friend std::ostream& operator<<(std::ostream& out, const Implementation& implementation) {
    return out << implementation.name;
  }
};

// A new one is added here.
const std::vector<Implementation>& implementations();

}  // namespace trawl::test
