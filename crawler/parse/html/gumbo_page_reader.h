// GumboPageReader: reports the elements of a page from Gumbo's tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/links.h"

#include "crawler/parse/html/element.h"
#include "crawler/parse/html/gumbo_sandbox.h"
#include "crawler/parse/html/gumbo_text.h"
#include "crawler/parse/html/reference_collector.h"

namespace trawl {

class GumboPageReader {
 public:
  // Uses the limits of `options`.
  explicit GumboPageReader(const LinkOptions& options)
      : limits_{.max_depth = options.max_depth,
                .max_memory = options.max_memory,
                .max_time = options.max_time} {}

  // Parses `html`, UTF-8 or other bytes, and reports its elements to `collector` in the order of
  // their start tags in the source. Leaves out elements without a start tag, copies of elements,
  // and the contents of HTML <template>s. Reports nothing unless it returns kParsed. The values
  // reported are valid until the next read() or the reader's destruction; `html` may be freed
  // earlier.
  GumboSandbox::Verdict read(std::string_view html, ReferenceCollector& collector);

  // Bytes used for building and reading the tree.
  std::size_t memory_used() const noexcept { return memory_used_; }

 private:
  // An element to report.
  struct Found {
    const char* place;  // in Gumbo's copy of the source
    const GumboElement* element;
    MarkupSpace space;
    Element name;
  };
  static bool is_anchor(const Found& found) noexcept {
    return found.name == Element::kA && found.space != MarkupSpace::kMathMl;
  }

  bool find_elements(const GumboNode& document, const ReferenceCollector& collector);
  void look_at(const GumboNode& node, const ReferenceCollector& collector);
  void report(const Found& found, ReferenceCollector& collector);
  std::string_view inside_anchor(std::size_t index);
  std::string_view text_of(const GumboElement& element);

  const GumboSandbox::Limits limits_;
  GumboText characters_;
  std::optional<GumboSandbox> sandbox_;
  std::vector<Found> found_;
  ElementAttributes attributes_;
  std::deque<std::string> texts_;  // restored texts, see GumboText
  std::size_t memory_used_ = 0;
};

}  // namespace trawl
