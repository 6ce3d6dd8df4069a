/// An upload that was begun: what is asked for at the store's own origin. Whoever knows it may write, so it is for the
/// wire and for the checkpoint only.
struct StorageSession: Hashable, Sendable {
  /// Path and query, percent-encoded.
  let target: String
  /// Of all the object's bytes, as the store was told before the first: it takes no others.
  let crc32c: String

  private init(target: String, crc32c: String) { (self.target, self.crc32c) = (target, crc32c) }

  /// What a Location means (RFC 9110, 10.2.2). Nil when it is not an address at `origin`: what is sent goes nowhere else.
  init?(location: String, at origin: HTTPOrigin, crc32c: String) {
    guard location.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !location.contains("#") else {
      return nil
    }
    if location.hasPrefix("/"), !location.hasPrefix("//") {
      self.init(target: location, crc32c: crc32c)
      return
    }
    guard let scheme = location.firstRange(of: "://") else { return nil }
    let rest = location[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = location[..<scheme.upperBound] + rest[..<end]
    guard end < rest.endIndex, let there = try? HTTPAddress(parsing: String(authority)),
      there.origin == origin
    else { return nil }
    self.init(target: String(rest[end...]), crc32c: crc32c)
  }

  /// Reads what ``text`` gave; nil for anything else.
  init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == Self.mark, Base64.bytes(String(words[1]))?.count == 4,
      words[2].hasPrefix("/"), words[2].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.init(target: String(words[2]), crc32c: String(words[1]))
  }

  /// One line.
  var text: String { "\(Self.mark) \(crc32c) \(target)" }

  private static let mark = "gcs1"
}

extension StorageSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Does not tell the address.
  var description: String { "‹session›" }
  /// Does not tell the address.
  var debugDescription: String { description }
  /// Shows no address to `dump`.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
