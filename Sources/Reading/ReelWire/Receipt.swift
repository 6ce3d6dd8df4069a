/// Proves that a worker has given a file back: a number that it can read only from a descriptor, and that descriptor fits
/// only where the file's was.
///
/// It follows each ``ReadRequest`` with a ``ReceiptRequest``, and stands before the answer.
package struct Receipt: Hashable, Sendable {
  /// How many bytes it has.
  package static let length = 16
  /// The number.
  package let bytes: [UInt8]

  /// Nil unless there are ``length`` of them.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.length else { return nil }
    self.bytes = bytes
  }

  /// `frame` as a message with this before it.
  package func with(_ frame: [UInt8]) -> [UInt8] { bytes + frame }

  /// The frame of such a message; nil when it begins with anything but this.
  package func frame(of message: [UInt8]) -> [UInt8]? {
    message.starts(with: bytes) ? Array(message.dropFirst(Self.length)) : nil
  }
}

/// Asks for the receipt of the file that was asked about before; the descriptor from which it can be read comes with the
/// frame.
package struct ReceiptRequest: Hashable, Sendable {
  /// It has no fields.
  package init() {}

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.receipt) { _ throws(WireError) in }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .receipt) { _ throws(WireError) in ReceiptRequest() }
  }
}
