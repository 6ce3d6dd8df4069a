import ReelCore

/// A path as system calls take it: bytes, with a NUL at the end and none before.
struct PathBytes: Sendable {
  let characters: [CChar]

  /// - Throws: `invalidName` when `bytes` is empty or holds a NUL.
  init(_ bytes: some Collection<UInt8>) throws(SourceError) {
    guard !bytes.isEmpty else { throw .emptyName }
    guard !bytes.contains(0) else { throw .nulInName }
    characters = bytes.map { CChar(bitPattern: $0) } + [0]
  }
}
