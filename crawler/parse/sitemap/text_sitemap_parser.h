// TextSitemapParser: the lines of a text sitemap.
#pragma once

#include <string>
#include <string_view>

#include "crawler/parse/sitemap/entry_collector.h"

namespace trawl {

// Takes a text in pieces and passes its lines, ended by "\n", "\r\n" or "\r", to the collector.
class TextSitemapParser {
 public:
  explicit TextSitemapParser(EntryCollector& collector) : collector_(collector) {}

  // Returns false once the limit of entries is reached.
  bool feed(std::string_view text);
  bool finish();

 private:
  void append(std::string_view text);
  bool end_line();

  EntryCollector& collector_;
  std::string line_;
  bool cut_ = false;
};

}  // namespace trawl
