/// A request to a fork server for a worker; the worker's end of its channel comes with the frame.
package struct ForkRequest: Hashable, Sendable {
  /// The purpose of a worker.
  package enum Purpose: Hashable, Sendable {
    case reading
    case pictures
    /// Reading a file and writing another one of at most `outputSize` bytes; only for a fork server that mends.
    case mending(outputSize: Int64)

    /// The maximum size of the file to be written; nil if none is written.
    package var outputSize: Int64? {
      if case .mending(let size) = self { size } else { nil }
    }
  }
  /// The purpose of the worker.
  package let purpose: Purpose
  /// The processor time for one file in seconds, at most that of the fork server.
  package let processorSeconds: Int

  /// - Parameters: See the properties; seconds from 1 to a day.
  package init(_ purpose: Purpose, processorSeconds: Int) {
    self.purpose = purpose
    self.processorSeconds = processorSeconds
  }

  private enum Kind: CaseIterable {
    case reading, pictures, mending
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.fork) { writer throws(WireError) in
      switch purpose {
      case .reading: writer.code(Kind.reading)
      case .pictures: writer.code(Kind.pictures)
      case .mending(let size):
        writer.code(Kind.mending)
        writer.number(size)
      }
      writer.number(Int64(processorSeconds))
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .fork) { reader throws(WireError) in
      let purpose: Purpose =
        switch try reader.code(Kind.self, "purpose") {
        case .reading: .reading
        case .pictures: .pictures
        case .mending: .mending(outputSize: try reader.number(in: 0...Int64.max, "outputSize"))
        }
      return ForkRequest(
        purpose, processorSeconds: Int(try reader.number(in: 1...86_400, "processorSeconds")))
    }
  }
}

/// A fork server's answer.
package enum ForkReply: Hashable, Sendable {
  /// A worker was forked; its process id is above 1.
  case forked(Int32)
  /// No worker was forked; the error number is above 0.
  case failed(Int32)

  /// Encodes the reply as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.forked) { writer throws(WireError) in
      switch self {
      case .forked(let process): writer.number(process)
      case .failed(let error): writer.number(-error)
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
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
