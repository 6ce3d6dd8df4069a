import Glibc

/// A file descriptor that closes itself when nobody holds it any more.
public final class Descriptor: Sendable {
  public let rawValue: Int32

  /// Takes `rawValue` over: it is closed when this goes.
  public init(adopting rawValue: Int32) {
    self.rawValue = rawValue
  }

  deinit {
    close(rawValue)
  }
}
