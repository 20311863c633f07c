// trawl_text and trawl_url: strings that a caller owns.
#pragma once

#include <string>

#include "trawl/trawl.h"
#include "trawl/url.h"

struct trawl_text {
  std::string text;
};

struct trawl_url {
  trawl::Url url;
};
