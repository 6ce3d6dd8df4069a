/// Files of another trade that go by the extension of a container: TypeScript and Qt's translations by `.ts`, Go's
/// modules by `.mod`, PostScript by `.ps`.
package enum AmbiguousExtension {
  /// Lower case, without the dot.
  package static let extensions = Set(kinds.keys)

  /// What else goes by the name, as the sniffer calls it. A web page is not among it: that came in place of a video.
  private static let kinds: [String: Set<String>] = [
    "ts": ["a text", "an XML document"], "mts": ["a text"], "mod": ["a text"],
    "ps": ["a text", "a PostScript document"],
  ]

  /// Whether the file that begins with `head` is what else goes by the extension `claimed`.
  ///
  /// - Parameters:
  ///   - head: the first ``Sniffer/headLength`` bytes, or the whole file when it is shorter.
  ///   - size: the whole file's size in bytes.
  package static func isOne(head: [UInt8], size: Int64, claimed: String) -> Bool {
    guard let kinds = Self.kinds[claimed], case .refused(let error) = Sniffer.verdict(head: head, size: size),
      error.code == .notMedia, let found = error.found
    else { return false }
    return kinds.contains(found)
  }
}
