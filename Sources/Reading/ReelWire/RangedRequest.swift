/// A request to read a file for which the worker gets no descriptor: it requests the bytes with ``RangeRequest``.
package struct RangedRequest: Hashable, Sendable {
  /// The file to read.
  package let file: ReadRequest
  /// A number drawn for this file. Every range request for it and the final answer begin with this number, so that
  /// none of them can have been prepared earlier.
  package let receipt: Receipt

  /// - Parameters: See the properties.
  package init(file: ReadRequest, receipt: Receipt) {
    self.file = file
    self.receipt = receipt
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.rangedRequest) { writer throws(WireError) in
      writer.readRequest(file)
      writer.bytes += receipt.bytes
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .rangedRequest) { reader throws(WireError) in
      let file = try reader.readRequest()
      guard let receipt = Receipt(bytes: Array(try reader.take(Receipt.length))) else { throw .length }
      return RangedRequest(file: file, receipt: receipt)
    }
  }
}

/// A worker's request for bytes of the file that it is reading.
package struct RangeRequest: Hashable, Sendable {
  /// The maximum number of bytes in one request.
  package static let largest = 64 << 10
  /// The maximum value of ``expected``.
  package static let mostExpected = 1 << 40

  /// The offset of the bytes, at least 0.
  package let position: Int64
  /// The number of bytes, 1 to ``largest``.
  package let count: Int
  /// How many bytes the worker expects to request from ``position`` on, at least ``count``. The parent may fetch
  /// more than was requested, and need not trust this number.
  package let expected: Int

  /// - Parameters: See the properties; values out of bounds are clamped.
  package init(position: Int64, count: Int, expected: Int = 0) {
    self.position = max(0, position)
    self.count = min(max(1, count), Self.largest)
    self.expected = min(max(self.count, expected), Self.mostExpected)
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.rangeRequest) { writer throws(WireError) in
      writer.number(position)
      writer.number(Int64(count))
      writer.number(Int64(expected))
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
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
  /// As many bytes as were requested; fewer at the end of the file, and none beyond it.
  case bytes(ArraySlice<UInt8>)
  /// The bytes are unavailable, and the worker must end its reading. The parent reports the reason.
  case failure

  /// Encodes the reply as a frame.
  /// - Throws: ``WireError/length`` for more than ``RangeRequest/largest`` bytes.
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

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .rangeReply) { reader throws(WireError) in
      guard try reader.flag("bytes") else { return .failure }
      guard reader.left <= RangeRequest.largest else { throw .length }
      return .bytes(try reader.take(reader.left))
    }
  }
}
