// LiveScreen: a full-screen view that is drawn again and again on a terminal, which is restored
// whichever way the command ends, except by SIGKILL.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <termios.h>

#include "base/file_io.h"

namespace trawl::cli {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
TerminalSize terminal_size(int descriptor);

// Whether `descriptor` is a terminal that understands escapes (TERM is set, and is not "dumb").
bool is_full_terminal(int descriptor);
// Whether colours are wanted there: not with NO_COLOR.
bool wants_colour(int descriptor);

class LiveScreen {
 public:
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  TerminalSize size() const;
  // Lines beyond the height are left out. The text must be safe.
  void draw(const std::vector<std::string>& lines);

  enum class Event { kTime, kResized, kPause, kQuit };
  // Waits for a key or a signal.
  Event wait(std::chrono::milliseconds most);

 private:
  void enter();
  void leave();

  FileDescriptor signals_;
  sigset_t former_mask_{};
  termios former_{};
  bool raw_ = false;
};

}  // namespace trawl::cli
