import ReelHTTP

/// An upload that was begun: what is asked for at the store's own origin. Whoever knows it may write, so it is for the
/// wire and for the checkpoint only.
struct StorageSession: Hashable, Sendable {
  /// Path and query, percent-encoded.
  let target: String

  private init(target: String) { self.target = target }

  /// What a Location means (RFC 9110, 10.2.2). Nil when it is no address at `origin`: what is sent goes nowhere else.
  init?(location: String, at origin: HTTPOrigin) {
    guard location.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !location.contains("#") else { return nil }
    if location.hasPrefix("/"), !location.hasPrefix("//") {
      self.init(target: location)
      return
    }
    guard let scheme = location.firstRange(of: "://") else { return nil }
    let rest = location[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = location[..<scheme.upperBound] + rest[..<end]
    guard end < rest.endIndex, let there = try? HTTPAddress(parsing: String(authority)), there.origin == origin
    else { return nil }
    self.init(target: String(rest[end...]))
  }

  /// Reads what ``text`` gave; nil for anything else.
  init?(_ text: String) {
    guard text.hasPrefix(Self.mark), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    let target = text.dropFirst(Self.mark.count)
    guard target.hasPrefix("/"), !target.contains(" ") else { return nil }
    self.init(target: String(target))
  }

  /// One line.
  var text: String { Self.mark + target }

  private static let mark = "gcs1 "
}
