/// Reads fields from a payload. Every read is checked against the remaining length, and none traps.
struct WireReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The number of bytes not read yet.
  var left: Int { bytes.count - position }

  mutating func take(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= left else { throw .length }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(WireError) -> Number {
    var number: Number = 0
    for byte in try take(MemoryLayout<Number>.size).reversed() {
      number = number &<< 8 | Number(truncatingIfNeeded: byte)
    }
    return number
  }

  mutating func number(in range: ClosedRange<Int64>, _ field: String) throws(WireError) -> Int64 {
    let number = try number(Int64.self)
    guard range.contains(number) else { throw .field(field) }
    return number
  }

  mutating func flag(_ field: String) throws(WireError) -> Bool {
    switch try number(UInt8.self) {
    case 0: false
    case 1: true
    default: throw .field(field)
    }
  }

  /// Reads a number within `range`, neither NaN nor infinite.
  mutating func real(in range: Range<Double>, _ field: String) throws(WireError) -> Double {
    let real = Double(bitPattern: try number(UInt64.self))
    guard range.contains(real) else { throw .field(field) }
    return real
  }

  mutating func code<Code: CaseIterable>(_ type: Code.Type, _ field: String) throws(WireError) -> Code {
    let place = Int(try number(UInt8.self))
    let all = Array(Code.allCases)
    guard place < all.count else { throw .field(field) }
    return all[place]
  }

  mutating func text(limit: WireLimit, _ field: String) throws(WireError) -> String {
    let length = Int(try number(UInt16.self))
    guard length <= limit.bytes else { throw .field(field) }
    let text = try take(length)
    guard let text = String(validating: text, as: UTF8.self), limit.allows(text) else { throw .field(field) }
    return text
  }

  mutating func optional<Value>(
    _ field: String, _ read: (inout WireReader) throws(WireError) -> Value
  ) throws(WireError) -> Value? {
    try flag(field) ? try read(&self) : nil
  }

  mutating func list<Element>(
    limit: Int, _ field: String, _ read: (inout WireReader) throws(WireError) -> Element
  ) throws(WireError) -> [Element] {
    let count = Int(try number(UInt16.self))
    guard count <= limit else { throw .field(field) }
    var elements: [Element] = []
    for _ in 0..<count { elements.append(try read(&self)) }
    return elements
  }
}
