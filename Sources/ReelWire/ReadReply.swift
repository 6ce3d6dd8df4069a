import ReelCore

/// A worker's answer to a ``ReadRequest``.
package enum ReadReply: Hashable, Sendable {
  /// What the file says, how it was read, and why no shorter way was taken.
  case facts(MediaInfo, ProbeMethod, reason: String? = nil)
  /// Why it could not be read.
  case failure(ProbeError)

  /// The frame. Text is cut at what a frame takes, and control characters in it become spaces.
  /// - Throws: ``WireError/length`` when there are more streams or warnings than a frame takes.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.reply) { writer throws(WireError) in
      switch self {
      case .facts(let media, let method, let reason):
        writer.flag(true)
        writer.code(method)
        writer.optional(reason, limit: .sentence)
        try writer.media(media)
      case .failure(let error):
        writer.flag(false)
        writer.failure(error)
      }
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame, and for facts that no file has.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .reply) { reader throws(WireError) in
      if try reader.flag("facts") {
        let method = try reader.code(ProbeMethod.self, "method")
        let reason = try reader.optionalText(limit: .sentence, "reason")
        return .facts(try reader.media(), method, reason: reason)
      }
      return .failure(try reader.failure())
    }
  }
}
