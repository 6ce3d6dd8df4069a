/// Comma-separated values as RFC 4180 has them, and no others: UTF-8 with or without a byte order mark, lines
/// that end with CRLF or LF (or all with CR alone, as old spreadsheets save them), quotes around a field that holds
/// quotes (doubled), commas or line ends. A record whose fields are all empty is none: spreadsheets leave them at the end.
///
/// Its own parser, because SwiftCSV 0.10 takes what it should refuse, and says nothing: a quote that is never
/// closed, a row that is too short (its fields read as empty); it loses white space before a field and an
/// empty last field, ends rows at any Unicode line separator, and knows no line numbers. A caption that slips
/// to another video is worse than an error.
struct SeparatedValues {
  struct Record: Hashable {
    /// Where it begins, counted from 1.
    let line: Int
    /// Where it begins in the bytes.
    let start: Int
    let fields: [String]
  }

  /// What is wrong, and where.
  struct Problem: Error, Hashable {
    let line: Int
    let message: String
  }

  /// Begins at the first record.
  init(_ bytes: [UInt8]) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    self.init(
      bytes, from: bytes.starts(with: mark) ? mark.count : 0, line: 1,
      endsLinesWithCR: !bytes.contains(UInt8(ascii: "\n")))
  }

  /// Begins at the record that begins at `start`.
  init(_ bytes: [UInt8], from start: Int, line: Int, endsLinesWithCR: Bool) {
    self.endsLinesWithCR = endsLinesWithCR
    self.bytes = bytes
    position = start
    recordStart = start
    self.line = line
    recordLine = line
    quoteLine = line
  }

  /// The next record; nil after the last one.
  /// - Throws: ``Problem`` when it breaks a rule.
  mutating func next() throws(Problem) -> Record? {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if let record = try take(byte) { return record }
    }
    return try finish()
  }

  /// Whether there is no line feed in all of the list.
  let endsLinesWithCR: Bool
  private let bytes: [UInt8]
  private var position: Int

  private enum State {
    case fieldStart
    case plain
    case quoted
    /// After a quote within quotes: the end, or half of a doubled one.
    case quoteInQuotes
    /// After a carriage return outside of quotes.
    case lineEnd
  }
  private var state = State.fieldStart
  private var fields: [String] = []
  private var field: [UInt8] = []
  /// Whether the record has had no byte yet: an empty line is none.
  private var isBlank = true
  private var line: Int
  private var recordLine: Int
  private var recordStart: Int
  private var quoteLine: Int

  /// Gives the record that ends with `byte`.
  private mutating func take(_ byte: UInt8) throws(Problem) -> Record? {
    guard byte != 0 else {
      throw Problem(line: line, message: "holds a NUL byte; save the list as UTF-8 text")
    }
    isBlank = isBlank && (byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"))
    switch (state, byte) {
    case (.lineEnd, UInt8(ascii: "\n")): return try endRecord()
    case (.lineEnd, _):
      throw Problem(
        line: line, message: "holds a carriage return without a line feed; put the field in quotes")
    case (.quoted, UInt8(ascii: "\"")): state = .quoteInQuotes
    case (.quoted, _): append(byte)
    case (.quoteInQuotes, UInt8(ascii: "\"")):
      append(byte)
      state = .quoted
    case (_, UInt8(ascii: ",")): try endField()
    case (_, UInt8(ascii: "\n")): return try endRecord()
    case (_, UInt8(ascii: "\r")):
      if endsLinesWithCR { return try endRecord() }
      state = .lineEnd
    case (.fieldStart, UInt8(ascii: "\"")):
      state = .quoted
      quoteLine = line
    case (.quoteInQuotes, _):
      throw Problem(line: line, message: "has text after a closing quote; double the quotes within a field")
    case (.plain, UInt8(ascii: "\"")):
      throw Problem(
        line: line, message: "has a quote within a field; put the field in quotes, and double this one")
    default:
      append(byte)
      state = .plain
    }
    return nil
  }

  private mutating func append(_ byte: UInt8) {
    if byte == UInt8(ascii: endsLinesWithCR ? "\r" : "\n") { line += 1 }
    field.append(byte)
  }

  private mutating func endField() throws(Problem) {
    guard let text = String(validating: field, as: UTF8.self) else {
      throw Problem(line: recordLine, message: "is not UTF-8; save the list as UTF-8 text")
    }
    fields.append(text)
    field.removeAll(keepingCapacity: true)
    state = .fieldStart
  }

  /// Nil for an empty line, or one of empty fields.
  private mutating func endRecord() throws(Problem) -> Record? {
    try endField()
    let record =
      isBlank || fields.allSatisfy(\.isEmpty)
      ? nil : Record(line: recordLine, start: recordStart, fields: fields)
    isBlank = true
    fields = []
    line += 1
    recordLine = line
    recordStart = position
    return record
  }

  private mutating func finish() throws(Problem) -> Record? {
    if case .quoted = state {
      throw Problem(line: quoteLine, message: "opens a quote that is never closed")
    }
    if case .lineEnd = state {
      throw Problem(
        line: line, message: "holds a carriage return without a line feed; put the field in quotes")
    }
    return isBlank ? nil : try endRecord()
  }
}
