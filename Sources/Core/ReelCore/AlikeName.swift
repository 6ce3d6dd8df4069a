/// Names that look alike: macOS stores accents separately from their letters (NFD), others store both as one (NFC),
/// and cameras write extensions in capitals.
package enum AlikeName {
  /// A key that is equal for names that are canonically equivalent apart from the case of their extensions. Nil for
  /// a name that is not UTF-8, which equals only itself.
  package static func key(_ name: some Sequence<UInt8>) -> String? {
    let bytes = Array(name)
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    guard let claimed = SourcePath(bytes: bytes).claimedExtension else { return text }
    let length = SourcePath(bytes: bytes).lastComponent.bytes.reversed().prefix { $0 != UInt8(ascii: ".") }
      .count
    return String(decoding: bytes.dropLast(length), as: UTF8.self) + claimed
  }
}
