/// A file to read of which the worker gets no descriptor: it asks for its bytes, by ``RangeRequest``.
package struct RangedRequest: Hashable, Sendable {
  /// The file.
  package let file: ReadRequest
  /// A number drawn for this file: every question about it and the answer begin with it, so that none was prepared
  /// before.
  package let receipt: Receipt

  /// - Parameters: as the properties.
  package init(file: ReadRequest, receipt: Receipt) {
    self.file = file
    self.receipt = receipt
  }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.rangedRequest) { writer throws(WireError) in
      writer.readRequest(file)
      writer.bytes += receipt.bytes
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .rangedRequest) { reader throws(WireError) in
      let file = try reader.readRequest()
      guard let receipt = Receipt(bytes: Array(try reader.take(Receipt.length))) else { throw .length }
      return RangedRequest(file: file, receipt: receipt)
    }
  }
}

/// A worker's question for bytes of the file that it reads.
package struct RangeRequest: Hashable, Sendable {
  /// The most bytes that are asked for at once.
  package static let largest = 64 << 10
  /// The most that ``expected`` says.
  package static let mostExpected = 1 << 40

  /// Where they begin: at least 0.
  package let position: Int64
  /// How many: 1 to ``largest``.
  package let count: Int
  /// How many bytes will be asked for from ``position`` on, as far as the worker can tell: at least ``count``. Whoever
  /// answers may fetch more than was asked for, and need not believe it.
  package let expected: Int

  /// - Parameters: as the properties; what is out of bounds is brought within them.
  package init(position: Int64, count: Int, expected: Int = 0) {
    self.position = max(0, position)
    self.count = min(max(1, count), Self.largest)
    self.expected = min(max(self.count, expected), Self.mostExpected)
  }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.rangeRequest) { writer throws(WireError) in
      writer.number(position)
      writer.number(Int64(count))
      writer.number(Int64(expected))
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .rangeRequest) { reader throws(WireError) in
      let position = try reader.number(in: 0...Int64.max, "position")
      let count = try reader.number(in: 1...Int64(Self.largest), "count")
      let expected = try reader.number(in: count...Int64(Self.mostExpected), "expected")
      return RangeRequest(position: position, count: Int(count), expected: Int(expected))
    }
  }
}

/// The answer to a ``RangeRequest``.
package enum RangeReply: Hashable, Sendable {
  /// As many bytes as were asked for; fewer at the end of the file, none behind it.
  case bytes(ArraySlice<UInt8>)
  /// They can't be had; the worker is to end its reading. Why is for its parent to say.
  case failure

  /// The frame.
  /// - Throws: ``WireError/length`` for more than ``RangeRequest/largest``.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.rangeReply) { writer throws(WireError) in
      switch self {
      case .bytes(let bytes):
        guard bytes.count <= RangeRequest.largest else { throw .length }
        writer.flag(true)
        writer.bytes += bytes
      case .failure: writer.flag(false)
      }
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .rangeReply) { reader throws(WireError) in
      guard try reader.flag("bytes") else { return .failure }
      guard reader.left <= RangeRequest.largest else { throw .length }
      return .bytes(try reader.take(reader.left))
    }
  }
}
