import CPostgres

/// A value for a statement's `$1`, `$2`, …: sent in PostgreSQL's binary format with its
/// type, so that nothing needs to be quoted.
package enum PostgresValue: Hashable, Sendable {
  /// NULL, of a type that the statement determines.
  case null
  /// NULL in place of a number.
  case missingInt
  case bool(Bool)
  case int(Int64)
  case text(String)
  case bytes([UInt8])
  case bools([Bool])
  case ints([Int64?])
  case texts([String?])
  case byteStrings([[UInt8]?])

  /// Nil becomes NULL.
  package static func int(_ value: Int64?) -> PostgresValue { value.map { .int($0) } ?? .missingInt }
  /// Nil becomes NULL.
  package static func text(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .null }
}

/// Types by their numbers in `pg_type`, which are the same in every server.
enum PostgresType: UInt32 {
  case unknown = 0
  case bool = 16
  case bytes = 17
  case int8 = 20
  case int2 = 21
  case int4 = 23
  case text = 25
  case bools = 1000
  case byteStrings = 1001
  case texts = 1009
  case ints = 1016
}

extension PostgresValue {
  var type: PostgresType {
    switch self {
    case .null: .unknown
    case .bool: .bool
    case .int, .missingInt: .int8
    case .text: .text
    case .bytes: .bytes
    case .bools: .bools
    case .ints: .ints
    case .texts: .texts
    case .byteStrings: .byteStrings
    }
  }

  /// The bytes to send; nil for NULL.
  var encoded: [UInt8]? {
    switch self {
    case .null, .missingInt: nil
    case .bool(let value): [value ? 1 : 0]
    case .int(let value): Self.bigEndian(value)
    case .text(let value): Self.bytes(of: value)
    case .bytes(let value): value
    case .bools(let values): Self.array(of: .bool, values.map { [$0 ? 1 : 0] })
    case .ints(let values): Self.array(of: .int8, values.map { $0.map(Self.bigEndian) })
    case .texts(let values): Self.array(of: .text, values.map { $0.map(Self.bytes) })
    case .byteStrings(let values): Self.array(of: .bytes, values)
    }
  }

  /// Replaces NUL, which PostgreSQL's texts can't hold and which would be an error.
  private static func bytes(of text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return bytes.contains(0) ? Array(text.replacing("\0", with: "\u{FFFD}").utf8) : bytes
  }

  /// Encodes an array of one dimension: the number of dimensions, whether there are NULLs, the type, the number of
  /// elements, the first index (1); then each element with its length, -1 for NULL (`array_recv`).
  private static func array(of type: PostgresType, _ elements: [[UInt8]?]) -> [UInt8] {
    var bytes = bigEndian(Int32(elements.isEmpty ? 0 : 1))
    bytes += bigEndian(Int32(elements.contains { $0 == nil } ? 1 : 0))
    bytes += bigEndian(type.rawValue)
    if elements.isEmpty { return bytes }
    bytes += bigEndian(Int32(clamping: elements.count))
    bytes += bigEndian(Int32(1))
    for element in elements {
      bytes += bigEndian(element.map { Int32(clamping: $0.count) } ?? -1)
      if let element { bytes += element }
    }
    return bytes
  }

  private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}

/// A type as which a column can be read.
package protocol PostgresReadable {
  /// Nil if the column is of another type.
  init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32)
}

extension Int64: PostgresReadable {
  package init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32) {
    switch (PostgresType(rawValue: type), bytes.count) {
    case (.int8, 8): self = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (.int4, 4): self = Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (.int2, 2): self = Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    default: return nil
    }
  }
}

extension Int: PostgresReadable {
  package init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32) {
    guard let value = Int64(postgres: bytes, type: type) else { return nil }
    self.init(exactly: value)
  }
}

extension Bool: PostgresReadable {
  package init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32) {
    guard type == PostgresType.bool.rawValue, bytes.count == 1 else { return nil }
    self = bytes[0] != 0
  }
}

extension String: PostgresReadable {
  /// Also reads other types that PostgreSQL's binary format writes as text: names, enumerations, unknown.
  package init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32) {
    self.init(decoding: bytes, as: UTF8.self)
  }
}

extension [UInt8]: PostgresReadable {
  package init?(postgres bytes: UnsafeRawBufferPointer, type: UInt32) {
    self.init(bytes)
  }
}

/// A row of an answer; valid as long as the closure that received it runs.
package struct PostgresRow {
  let library: PostgresLibrary
  let result: OpaquePointer
  let row: Int32
  let columns: [String: Int32]

  /// - Throws: ``PostgresError`` if the column is NULL or of another type.
  package subscript<Value: PostgresReadable>(_ column: Int) -> Value {
    get throws {
      guard let value = try read(Int32(column), as: Value.self) else {
        throw PostgresError(.unexpected, "column \(column) of an answer is NULL")
      }
      return value
    }
  }

  /// Nil for NULL.
  package subscript<Value: PostgresReadable>(_ column: Int) -> Value? {
    get throws { try read(Int32(column), as: Value.self) }
  }

  /// - Throws: ``PostgresError`` if the column is NULL or of another type.
  package subscript<Value: PostgresReadable>(_ column: String) -> Value {
    get throws {
      guard let value = try read(try number(of: column), as: Value.self) else {
        throw PostgresError(.unexpected, "\(column) of an answer is NULL")
      }
      return value
    }
  }

  /// Nil for NULL.
  package subscript<Value: PostgresReadable>(_ column: String) -> Value? {
    get throws { try read(try number(of: column), as: Value.self) }
  }

  /// Returns the index in a list of `count` that was sent, which the server counts from 1.
  /// - Throws: ``PostgresError`` if the index is not in the list.
  package func place(_ column: Int = 0, in count: Int) throws -> Int {
    let number: Int = try self[column]
    guard number >= 1, number <= count else {
      throw PostgresError(.unexpected, "an answer refers to number \(number) of a list of \(count)")
    }
    return number - 1
  }

  private func number(of column: String) throws -> Int32 {
    guard let number = columns[column] else {
      throw PostgresError(.unexpected, "an answer has no column \(column)")
    }
    return number
  }

  private func read<Value: PostgresReadable>(_ column: Int32, as type: Value.Type) throws -> Value? {
    if reel_postgres_is_null(library.table, result, row, column) != 0 { return nil }
    let bytes = UnsafeRawBufferPointer(
      start: reel_postgres_value(library.table, result, row, column),
      count: Int(reel_postgres_length(library.table, result, row, column)))
    let oid = reel_postgres_column_type(library.table, result, column)
    guard let value = Value(postgres: bytes, type: oid) else {
      throw PostgresError(
        .unexpected, "column \(column) of an answer is of the type \(oid), not \(Value.self)")
    }
    return value
  }
}
