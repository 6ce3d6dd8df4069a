/// A byte pattern that identifies a kind of file, and the resulting verdict.
struct Signature: Sendable {
  /// A part of the pattern: these bytes at this offset.
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
  /// The verdict of the first signature that matches.
  func verdict(_ head: FilePrefix) -> SniffVerdict? {
    first { $0.matches(head) }?.verdict
  }
}

/// Something that is not an acceptable video: what it is, and what to do about it.
struct Refusal: Sendable {
  private let code: ProbeError.Code
  private let found: String
  private let consequence: String

  private init(_ code: ProbeError.Code, _ found: String, _ consequence: String) {
    self.code = code
    self.found = found
    self.consequence = consequence
  }

  /// The error that the prober's callers receive.
  var error: ProbeError {
    ProbeError(code, "it is \(found)\(consequence)", found: found)
  }

  var verdict: SniffVerdict { .refused(error) }
}

// Each of these takes a noun with its article.
extension Refusal {
  static func playlist(_ found: String) -> Refusal {
    Refusal(
      .playlist, found,
      ", which only names other files, and Reel does not follow it; give Reel those files themselves")
  }

  static func notMedia(_ found: String) -> Refusal {
    Refusal(.notMedia, found, ", not a video; leave it out, or put the video in its place")
  }

  static func picture(_ found: String) -> Refusal {
    Refusal(.unsupported, found, ", and Reel ingests videos only; leave it out, or make a video of it first")
  }

  static func sound(_ found: String) -> Refusal {
    Refusal(.unsupported, found, ": sound without a picture, and Reel ingests videos only; leave it out")
  }

  static func rawStream(_ found: String) -> Refusal {
    Refusal(.unsupported, found, " without a container; put it into one first, such as MP4 or Matroska")
  }

  static func otherContainer(_ found: String) -> Refusal {
    Refusal(.unsupported, found, ", which Reel does not read; convert it first, to MP4 for example")
  }

  static let notMatroska = Refusal(
    .unsupported, "an EBML document that is not a Matroska file", ", which Reel does not read; leave it out")

  static let segment = Refusal(
    .unsupported, "a segment of a stream",
    " without the header that goes before it; join it with its initialisation segment first")

  static let lfsPointer = Refusal(
    .lfsPointer, "a Git LFS pointer", ", not the video itself; run `git lfs pull` where it comes from")

  static let empty = Refusal(.empty, "an empty file", ": it has no bytes; get a complete copy")
}
