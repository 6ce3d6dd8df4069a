/// Why bytes are no frame, or a value fits in none.
package enum WireError: Error, Hashable, Sendable {
  /// Longer than ``WireFrame/largest``, or a length in it points beyond its end.
  case length
  /// It does not begin as a frame does.
  case notAFrame
  /// A frame of another version of the format.
  case version(UInt8)
  /// A frame of another kind than the one that was expected.
  case kind(UInt8)
  /// Bytes are left over after the last field.
  case trailingBytes
  /// A field holds what it may not: a number out of range, text with control characters, an unknown code.
  case field(String)
}
