#include "crawler/cli/live_screen.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace trawl::cli {

namespace {

// Errors are ignored: a closed terminal ends the view by SIGHUP.
void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  TerminalSize found;
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return found;
  if (size.ws_col >= 20) found.columns = size.ws_col;
  if (size.ws_row >= 5) found.rows = size.ws_row;
  return found;
}

bool is_full_terminal(int descriptor) {
  const char* const term = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

bool wants_colour(int descriptor) {
  const char* const none = std::getenv("NO_COLOR");
  return is_full_terminal(descriptor) && (none == nullptr || *none == '\0');
}

LiveScreen::LiveScreen() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH})
    sigaddset(&handled, number);
  ::pthread_sigmask(SIG_BLOCK, &handled, &former_mask_);
  signals_ = FileDescriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

LiveScreen::~LiveScreen() {
  leave();
  ::pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
}

void LiveScreen::enter() {
  raw_ = ::tcgetattr(STDIN_FILENO, &former_) == 0;
  if (raw_) {
    termios keys = former_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  put("\x1b[?1049h\x1b[?25l\x1b[2J");  // the other screen, no cursor
}

void LiveScreen::leave() {
  put("\x1b[0m\x1b[?25h\x1b[?1049l");
  if (raw_) ::tcsetattr(STDIN_FILENO, TCSANOW, &former_);
}

TerminalSize LiveScreen::size() const {
  return terminal_size(STDOUT_FILENO);
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  const std::size_t rows = size().rows;
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < lines.size() && i < rows; ++i) {
    if (i > 0) frame += "\r\n";
    frame += lines[i] + "\x1b[K";
  }
  put(frame + "\x1b[J");
}

LiveScreen::Event LiveScreen::wait(std::chrono::milliseconds most) {
  pollfd polled[] = {{signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  if (::poll(polled, raw_ ? 2 : 1, static_cast<int>(most.count())) <= 0) return Event::kTime;
  signalfd_siginfo signal{};
  if (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo == SIGWINCH) return Event::kResized;
    if (signal.ssi_signo != SIGTSTP) return Event::kQuit;
    leave();
    ::raise(SIGSTOP);
    enter();
    return Event::kResized;
  }
  char key = 0;
  if ((polled[1].revents & (POLLIN | POLLHUP)) == 0) return Event::kTime;
  if (::read(STDIN_FILENO, &key, 1) != 1) return Event::kQuit;
  if (key == 'q' || key == 'Q' || key == 4) return Event::kQuit;
  return key == 'p' || key == 'P' ? Event::kPause : Event::kResized;
}

}  // namespace trawl::cli
