/// Comma-separated values exactly as in RFC 4180: UTF-8 with or without a byte order mark; lines that end with CRLF or
/// LF (or all with CR alone, as old spreadsheets save them); quotes around a field that contains quotes (doubled),
/// commas or line ends. A record whose fields are all empty is skipped, as spreadsheets leave such records at the end.
///
/// Reel has its own parser because SwiftCSV 0.10 silently accepts what it should reject: a quote that is never closed,
/// or a row that is too short (its fields read as empty). It also drops white space before a field and an empty last
/// field, ends rows at any Unicode line separator, and knows no line numbers. A caption that ends up at another video
/// is worse than an error.
struct SeparatedValues {
  struct Record: Hashable {
    /// The line on which it begins, counted from 1.
    let line: Int
    /// The offset at which it begins.
    let start: Int
    let fields: [String]
  }

  /// What is wrong, and on which line.
  struct Problem: Error, Hashable {
    let line: Int
    let message: String
  }

  /// Starts at the first record.
  init(_ bytes: [UInt8]) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    self.init(
      bytes, from: bytes.starts(with: mark) ? mark.count : 0, line: 1,
      endsLinesWithCR: !bytes.contains(UInt8(ascii: "\n")))
  }

  /// Starts at the record that begins at `start`.
  init(_ bytes: [UInt8], from start: Int, line: Int, endsLinesWithCR: Bool) {
    self.endsLinesWithCR = endsLinesWithCR
    self.bytes = bytes
    position = start
    recordStart = start
    self.line = line
    recordLine = line
    quoteLine = line
  }

  /// Returns the next record, or nil after the last one.
  /// - Throws: ``Problem`` if it breaks a rule.
  mutating func next() throws(Problem) -> Record? {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if let record = try take(byte) { return record }
    }
    return try finish()
  }

  /// Whether the whole list contains no line feed.
  let endsLinesWithCR: Bool
  private let bytes: [UInt8]
  private var position: Int

  private enum State {
    case fieldStart
    case plain
    case quoted
    /// After a quote within quotes: either the end of the field, or the first half of a doubled quote.
    case quoteInQuotes
    /// After a carriage return outside quotes.
    case lineEnd
  }
  private var state = State.fieldStart
  private var fields: [String] = []
  private var field: [UInt8] = []
  /// Whether the record has had no byte yet; an empty line is skipped.
  private var isBlank = true
  private var line: Int
  private var recordLine: Int
  private var recordStart: Int
  private var quoteLine: Int

  /// Handles one byte, and returns the record if `byte` ends one.
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

  /// Returns nil for an empty line, or one with only empty fields.
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
