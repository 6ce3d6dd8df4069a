import ReelCore

/// The first frame of a worker's answer to a ``PictureRequest``. The bytes that it announces follow in
/// ``PictureBytes`` frames.
package enum PictureReply: Hashable, Sendable {
  /// The description of a poster.
  package struct PosterFacts: Hashable, Sendable {
    package let width: Int
    package let height: Int
    package let blurHash: String
    package let isCover: Bool
    /// Seconds from the beginning of the video.
    package let time: Double?

    /// - Parameters: See the properties.
    package init(width: Int, height: Int, blurHash: String, isCover: Bool, time: Double?) {
      self.width = width
      self.height = height
      self.blurHash = blurHash
      self.isCover = isCover
      self.time = time
    }
  }

  /// The description of one of several pictures.
  package struct FrameFacts: Hashable, Sendable {
    package let width: Int
    package let height: Int
    /// Seconds from the beginning of the video.
    package let time: Double?

    /// - Parameters: See the properties.
    package init(width: Int, height: Int, time: Double?) {
      self.width = width
      self.height = height
      self.time = time
    }

    /// The number of bytes of its pixels.
    package var byteCount: Int { 3 * width * height }
  }

  /// A JPEG follows.
  case poster(PosterFacts, byteCount: Int)
  /// The pixels of each picture follow, one picture after another.
  case frames([FrameFacts])
  /// A JPEG follows.
  case jpeg(byteCount: Int)
  /// Why there is no picture; nothing follows.
  case failure(PosterError)

  /// The maximum number of bytes that may follow.
  package static let mostBytes = 256 << 20

  /// The number of bytes that follow.
  package var byteCount: Int {
    switch self {
    case .poster(_, let count), .jpeg(let count): count
    case .frames(let frames): frames.reduce(0) { $0 + $1.byteCount }
    case .failure: 0
    }
  }

  private enum Kind: CaseIterable {
    case poster, frames, jpeg, failure
  }

  /// Encodes the reply as a frame.
  /// - Throws: ``WireError/length`` if there are more pictures or bytes than an answer can hold.
  package func encoded() throws(WireError) -> [UInt8] {
    guard byteCount <= Self.mostBytes else { throw .length }
    return try WireFrame.encode(.pictureReply) { writer throws(WireError) in
      switch self {
      case .poster(let facts, let count):
        writer.code(Kind.poster)
        writer.number(Int64(facts.width))
        writer.number(Int64(facts.height))
        writer.text(facts.blurHash, limit: .name)
        writer.flag(facts.isCover)
        writer.optional(facts.time) { $0.real($1) }
        writer.number(Int64(count))
      case .frames(let frames):
        writer.code(Kind.frames)
        try writer.list(frames, limit: PictureRequest.counts.upperBound) { writer, frame in
          writer.number(Int64(frame.width))
          writer.number(Int64(frame.height))
          writer.optional(frame.time) { $0.real($1) }
        }
      case .jpeg(let count):
        writer.code(Kind.jpeg)
        writer.number(Int64(count))
      case .failure(let error):
        writer.code(Kind.failure)
        writer.code(error.code)
        writer.text(error.message, limit: .sentence)
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame, and for impossible pictures.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .pictureReply) { reader throws(WireError) in
      switch try reader.code(Kind.self, "kind") {
      case .poster:
        let facts = PosterFacts(
          width: try reader.pictureSide(), height: try reader.pictureSide(),
          blurHash: try reader.text(limit: .name, "blurHash"), isCover: try reader.flag("isCover"),
          time: try reader.time())
        return .poster(facts, byteCount: try reader.byteCount())
      case .frames:
        let frames = try reader.list(limit: PictureRequest.counts.upperBound, "frames") {
          reader throws(WireError) in
          FrameFacts(
            width: try reader.pictureSide(), height: try reader.pictureSide(), time: try reader.time())
        }
        return .frames(frames)
      case .jpeg: return .jpeg(byteCount: try reader.byteCount())
      case .failure: return .failure(try reader.posterFailure())
      }
    }
    guard byteCount <= Self.mostBytes else { throw .field("byteCount") }
  }
}

extension WireReader {
  fileprivate mutating func time() throws(WireError) -> Double? {
    try optional("time") { reader throws(WireError) in
      try reader.real(in: PlausibleRange.presentDuration, "time")
    }
  }

  fileprivate mutating func byteCount() throws(WireError) -> Int {
    Int(try number(in: 1...Int64(PictureReply.mostBytes), "byteCount"))
  }

  fileprivate mutating func posterFailure() throws(WireError) -> PosterError {
    let code = try code(PosterError.Code.self, "code")
    guard code.isForAWorkerToSay else { throw .field("code") }
    return PosterError(code, try text(limit: .sentence, "message"))
  }
}

extension PosterError.Code {
  /// Whether it is about the file. The parent itself determines what concerns the worker or the run.
  var isForAWorkerToSay: Bool {
    switch self {
    case .noPicture, .undecodable: true
    default: ProbeError.Code(rawValue: rawValue)?.isForAWorkerToSay ?? false
    }
  }
}

/// A chunk of the bytes that a ``PictureReply`` has announced.
package enum PictureBytes {
  /// The maximum size of a chunk in bytes.
  package static let largest = 64 << 10

  /// Encodes a chunk of 1 to ``largest`` bytes as a frame.
  package static func encoded(_ bytes: ArraySlice<UInt8>) throws(WireError) -> [UInt8] {
    try WireFrame.encode(.pictureBytes) { writer throws(WireError) in writer.bytes += bytes }
  }

  /// Decodes the bytes of such a frame, at least one.
  /// - Throws: ``WireError`` for anything else.
  package static func decoded(_ frame: [UInt8]) throws(WireError) -> ArraySlice<UInt8> {
    try WireFrame.decode(frame, .pictureBytes) { reader throws(WireError) in
      guard reader.left > 0 else { throw .length }
      return try reader.take(reader.left)
    }
  }
}
