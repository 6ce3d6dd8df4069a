/// Asks a nursery for a fresh process; the process's end of its channel comes with the frame.
public struct BirthRequest: Hashable, Sendable {
  /// It has no fields.
  public init() {}

  /// The frame.
  public func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.birth) { _ throws(WireError) in }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  public init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .birth) { _ throws(WireError) in BirthRequest() }
  }
}

/// A nursery's answer: the fresh process's number; the descriptor that names the process (a pidfd) comes with the
/// frame.
public struct BirthNotice: Hashable, Sendable {
  /// The process id.
  public let process: Int32

  /// - Parameter process: above 1.
  public init(process: Int32) {
    self.process = process
  }

  /// The frame.
  public func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.born) { writer throws(WireError) in writer.number(process) }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  public init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .born) { reader throws(WireError) in
      let process = try reader.number(Int32.self)
      guard process > 1 else { throw .field("process") }
      return BirthNotice(process: process)
    }
  }
}
