/// Why bytes are not a valid frame, or a value cannot be encoded in one.
package enum WireError: Error, Hashable, Sendable {
  /// The frame is longer than ``WireFrame/largest``, or a length in it extends beyond its end.
  case length
  /// The bytes do not begin like a frame.
  case notAFrame
  /// A frame of another version of the format.
  case version(UInt8)
  /// A frame of a kind other than the expected one.
  case kind(UInt8)
  /// Bytes are left over after the last field.
  case trailingBytes
  /// A field has an invalid value: a number out of range, text with control characters, an unknown code.
  case field(String)
}
