import Glibc

/// Descriptors 0, 1 and 2, which whoever starts this process may have closed.
enum StandardDescriptors {
  /// Fills the closed ones, so that no file of Reel's own gets such a number, and a message for stderr never ends up
  /// in an object or in the catalog. To be called before anything else is opened.
  ///
  /// What fills them can't be used: that they were closed is still told to whoever reads or writes.
  static func fill() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
      // The lowest free number is this one: those below are open by now.
      _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
