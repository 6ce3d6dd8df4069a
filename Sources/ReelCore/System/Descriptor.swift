import Glibc

/// A file descriptor that closes itself when nobody holds it any more.
package final class Descriptor: Sendable {
  /// The number; good as long as this object lives, so pass the object, not the number, to what outlives a
  /// call.
  package let rawValue: Int32

  /// Takes `rawValue` over: it is closed when this goes.
  package init(adopting rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    close(rawValue)
  }
}

extension Descriptor {
  /// How many this process may have open at once (`RLIMIT_NOFILE`).
  package static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }
}
