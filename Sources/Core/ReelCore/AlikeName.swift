/// Names that print alike: macOS writes accents apart from their letters (NFD), others write both as one (NFC), and cameras
/// write extensions in capitals.
package enum AlikeName {
  /// What two names have in common that are canonically equivalent but for the letter case of their extensions: equal strings.
  /// Nil for a name that is not UTF-8, which is like itself alone.
  package static func key(_ name: some Sequence<UInt8>) -> String? {
    let bytes = Array(name)
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    guard let claimed = SourcePath(bytes: bytes).claimedExtension else { return text }
    let length = SourcePath(bytes: bytes).lastComponent.bytes.reversed().prefix { $0 != UInt8(ascii: ".") }
      .count
    return String(decoding: bytes.dropLast(length), as: UTF8.self) + claimed
  }
}
