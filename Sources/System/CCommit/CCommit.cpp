// Embeds the current commit. SwiftPM caches `Context.gitInformation` beyond the next commit, and a plugin would be one
// more program to build and trust. So the compiler reads the log of HEAD: `#embed` makes that a dependency of this
// file, which is therefore recompiled after a commit. Only the last line's commit gets into the program. C++, for
// constexpr.
#include "CCommit.h"

#ifdef __has_embed
#if __has_embed("../../../.git/logs/HEAD")
#define REEL_HAS_LOG 1
#endif
#endif

namespace {

struct Commit {
  // A SHA-256 commit has 64 digits.
  char digits[65];
};

#ifdef REEL_HAS_LOG
#pragma clang diagnostic ignored "-Wc23-extensions"

constexpr unsigned char log[] = {
#embed "../../../.git/logs/HEAD" suffix(, )
    '\n'};

constexpr bool is_digit(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

// Each line: the old commit, a space, the new commit, a space, then who and when.
constexpr Commit last_commit() {
  Commit commit{};
  unsigned long at = sizeof log;
  while (at > 0 && log[at - 1] == '\n') at--;
  while (at > 0 && log[at - 1] != '\n') at--;
  while (is_digit(log[at])) at++;
  if (log[at++] != ' ') return Commit{};
  unsigned long count = 0;
  while (at < sizeof log && count < 64 && is_digit(log[at])) commit.digits[count++] = static_cast<char>(log[at++]);
  return count == 40 || count == 64 ? commit : Commit{};
}

constexpr Commit commit = last_commit();
#else
constexpr Commit commit{};
#endif

}  // namespace

const char *reel_commit(void) { return commit.digits; }
