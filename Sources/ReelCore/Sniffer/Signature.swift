/// Bytes that tell a kind of file, and what follows from them.
struct Signature: Sendable {
  /// A piece of the pattern: these bytes at this offset.
  struct Piece: Sendable {
    let offset: Int
    let bytes: [UInt8]

    static func text(_ text: String, at offset: Int = 0) -> Piece {
      Piece(offset: offset, bytes: Array(text.utf8))
    }

    static func bytes(_ bytes: UInt8..., at offset: Int = 0) -> Piece {
      Piece(offset: offset, bytes: bytes)
    }
  }
  let pieces: [Piece]
  let verdict: SniffVerdict

  init(_ pieces: Piece..., means verdict: SniffVerdict) {
    self.pieces = pieces
    self.verdict = verdict
  }

  init(_ pieces: Piece..., refuse refusal: Refusal) {
    self.pieces = pieces
    verdict = refusal.verdict
  }

  func matches(_ head: FilePrefix) -> Bool {
    pieces.allSatisfy { head.has($0.bytes, at: $0.offset) }
  }
}

extension [Signature] {
  /// What the first signature that matches says.
  func verdict(_ head: FilePrefix) -> SniffVerdict? {
    first { $0.matches(head) }?.verdict
  }
}
