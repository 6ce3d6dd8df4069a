/// Appends fields to a payload.
struct WireWriter {
  var bytes: [UInt8] = []

  mutating func number<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func flag(_ flag: Bool) {
    number(flag ? 1 : 0 as UInt8)
  }

  mutating func real(_ real: Double) {
    number(real.bitPattern)
  }

  /// Writes the position of `value` among all cases. Both sides are of the same version of Reel.
  mutating func code<Code: CaseIterable & Equatable>(_ value: Code) {
    let place = Array(Code.allCases).firstIndex(of: value) ?? 255
    number(UInt8(truncatingIfNeeded: place))
  }

  /// Writes text without control characters, truncated to `limit` bytes; the reader refuses any other text.
  mutating func text(_ text: String, limit: WireLimit) {
    let harmless = WireText.harmless(text, limit: limit.bytes)
    number(UInt16(truncatingIfNeeded: harmless.count))
    bytes.append(contentsOf: harmless)
  }

  /// Writes a flag that says whether there is a value, followed by the value.
  mutating func optional<Value>(_ value: Value?, _ write: (inout WireWriter, Value) -> Void) {
    flag(value != nil)
    if let value { write(&self, value) }
  }

  mutating func optional(_ value: String?, limit: WireLimit) {
    optional(value) { $0.text($1, limit: limit) }
  }

  mutating func optional<Number: BinaryInteger>(_ value: Number?) {
    optional(value) { $0.number(Int64(clamping: $1)) }
  }

  mutating func optional(_ value: Bool?) {
    optional(value) { $0.flag($1) }
  }

  mutating func list<Element>(
    _ elements: [Element], limit: Int, _ write: (inout WireWriter, Element) -> Void
  ) throws(WireError) {
    guard elements.count <= limit else { throw .length }
    number(UInt16(truncatingIfNeeded: elements.count))
    for element in elements { write(&self, element) }
  }
}
