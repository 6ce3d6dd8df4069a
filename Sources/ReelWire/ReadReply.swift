import ReelCore

/// A worker's answer to a ``ReadRequest``.
public enum ReadReply: Hashable, Sendable {
  /// What the file says, and how it was read.
  case facts(MediaInfo, ProbeMethod)
  /// Why it could not be read.
  case failure(ProbeError)

  /// The frame. Text is cut at what a frame takes, and control characters in it become spaces.
  /// - Throws: ``WireError/length`` when there are more streams or warnings than a frame takes.
  public func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.reply) { writer throws(WireError) in
      switch self {
      case .facts(let media, let method):
        writer.flag(true)
        writer.code(method)
        try writer.media(media)
      case .failure(let error):
        writer.flag(false)
        writer.failure(error)
      }
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame, and for facts that no file has.
  public init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .reply) { reader throws(WireError) in
      if try reader.flag("facts") {
        let method = try reader.code(ProbeMethod.self, "method")
        return .facts(try reader.media(), method)
      }
      return .failure(try reader.failure())
    }
  }
}
