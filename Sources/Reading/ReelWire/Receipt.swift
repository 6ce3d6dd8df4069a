/// Proves that a worker has closed a file's descriptor: a number that the worker can read only from another
/// descriptor, for which there is room only once the file's is closed.
///
/// A ``ReceiptRequest`` with that descriptor follows each ``ReadRequest``, and the worker's answer begins with the
/// number.
package struct Receipt: Hashable, Sendable {
  /// The length of a receipt in bytes.
  package static let length = 16
  /// The number.
  package let bytes: [UInt8]

  /// Creates a receipt; nil unless there are ``length`` bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.length else { return nil }
    self.bytes = bytes
  }

  /// Returns `frame` as a message that begins with this receipt.
  package func with(_ frame: [UInt8]) -> [UInt8] { bytes + frame }

  /// Returns the frame of such a message; nil if it does not begin with this receipt.
  package func frame(of message: [UInt8]) -> [UInt8]? {
    message.starts(with: bytes) ? Array(message.dropFirst(Self.length)) : nil
  }
}

/// Requests the receipt for the file of the preceding request; the descriptor from which it can be read comes with
/// the frame.
package struct ReceiptRequest: Hashable, Sendable {
  /// Creates the request, which has no fields.
  package init() {}

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.receipt) { _ throws(WireError) in }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .receipt) { _ throws(WireError) in ReceiptRequest() }
  }
}
