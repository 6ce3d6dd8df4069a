/// Asks a fork server for a worker; the worker's end of its channel comes with the frame.
package struct ForkRequest: Hashable, Sendable {
  /// Whether it is to make pictures, and not to read facts.
  package var isForPictures: Bool

  /// - Parameter isForPictures: as the property.
  package init(isForPictures: Bool) { self.isForPictures = isForPictures }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.fork) { writer throws(WireError) in writer.flag(isForPictures) }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .fork) { reader throws(WireError) in
      ForkRequest(isForPictures: try reader.flag("pictures"))
    }
  }
}

/// A fork server's answer.
package enum ForkReply: Hashable, Sendable {
  /// A worker was forked, with this process id: above 1.
  case forked(Int32)
  /// None was; the number of the error is above 0.
  case failed(Int32)

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.forked) { writer throws(WireError) in
      switch self {
      case .forked(let process): writer.number(process)
      case .failed(let error): writer.number(-error)
      }
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .forked) { reader throws(WireError) in
      switch try reader.number(Int32.self) {
      case let process where process > 1: .forked(process)
      case let error where error < 0 && error > .min: .failed(-error)
      default: throw .field("process")
      }
    }
  }
}
