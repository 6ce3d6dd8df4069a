/// Asks a fork server for a worker; the worker's end of its channel comes with the frame.
package struct ForkRequest: Hashable, Sendable {
  /// It has no fields.
  package init() {}

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.fork) { _ throws(WireError) in }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .fork) { _ throws(WireError) in ForkRequest() }
  }
}

/// A fork server's answer: the worker's process id; the descriptor that names the process (a pidfd) comes with the frame.
package struct ForkReply: Hashable, Sendable {
  /// The process id.
  package let process: Int32

  /// - Parameter process: above 1.
  package init(process: Int32) {
    self.process = process
  }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.forked) { writer throws(WireError) in writer.number(process) }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .forked) { reader throws(WireError) in
      let process = try reader.number(Int32.self)
      guard process > 1 else { throw .field("process") }
      return ForkReply(process: process)
    }
  }
}
