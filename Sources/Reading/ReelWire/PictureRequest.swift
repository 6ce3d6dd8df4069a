import ReelCore

/// A request for pictures; the descriptor of their source comes with the frame. It is the only request that the
/// worker ever receives.
package enum PictureRequest: Hashable, Sendable {
  /// The poster of a file.
  case poster(ReadRequest, PosterOptions)
  /// Pictures spread evenly over a file: at most `count`, with no side longer than `side`.
  case frames(ReadRequest, count: Int, side: Int)
  /// A JPEG of the picture whose pixels the descriptor contains.
  case jpeg(width: Int, height: Int)

  /// How many pictures of one file may be requested.
  package static let counts = 1...400

  private enum Kind: CaseIterable {
    case poster, frames, jpeg
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.pictureRequest) { writer throws(WireError) in
      switch self {
      case .poster(let file, let options):
        writer.code(Kind.poster)
        writer.readRequest(file)
        writer.number(Int64(options.size))
        writer.flag(options.prefersCover)
      case .frames(let file, let count, let side):
        writer.code(Kind.frames)
        writer.readRequest(file)
        writer.number(Int64(count))
        writer.number(Int64(side))
      case .jpeg(let width, let height):
        writer.code(Kind.jpeg)
        writer.number(Int64(width))
        writer.number(Int64(height))
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .pictureRequest) { reader throws(WireError) in
      switch try reader.code(Kind.self, "kind") {
      case .poster:
        .poster(
          try reader.readRequest(),
          PosterOptions(size: try reader.side(), prefersCover: try reader.flag("prefersCover")))
      case .frames:
        .frames(
          try reader.readRequest(),
          count: Int(
            try reader.number(
              in: Int64(Self.counts.lowerBound)...Int64(Self.counts.upperBound), "count")),
          side: try reader.side())
      case .jpeg: .jpeg(width: try reader.pictureSide(), height: try reader.pictureSide())
      }
    }
  }
}

extension WireReader {
  /// Reads a side that may be requested as the longer one of a poster.
  fileprivate mutating func side() throws(WireError) -> Int {
    let sizes = PosterOptions.sizes
    return Int(try number(in: Int64(sizes.lowerBound)...Int64(sizes.upperBound), "side"))
  }

  mutating func pictureSide() throws(WireError) -> Int {
    Int(try number(in: 1...Int64(RawPicture.longestSide), "side"))
  }
}
