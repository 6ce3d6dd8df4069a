import Glibc

/// A parser of `multipart/form-data` (RFC 7578) that takes it piece by piece as it comes; pure.
struct MultipartParser: Sendable {
  enum Event: Hashable, Sendable {
    /// A part begins.
    case part(name: String, isFile: Bool)
    /// Some of its bytes.
    case bytes([UInt8])
    /// The last part has ended; whatever follows is ignored.
    case end
  }
  private enum Place {
    case preamble, headers, body, end
  }
  /// The most bytes of a part's headers, and of what may stand before the first part.
  private static let longestHead = 8_192
  private static let (newLine, headEnd) = (Array("\r\n".utf8), Array("\r\n\r\n".utf8))

  private let delimiter: [UInt8]
  private var place = Place.preamble
  /// Bytes that could not be interpreted yet. Begins with a line break, which the first delimiter need not have before
  /// it.
  private var rest = newLine

  /// - Parameter boundary: that of the `Content-Type`.
  init(boundary: String) { delimiter = Array("\r\n--\(boundary)".utf8) }

  /// Whether a body of that type is a form.
  static func isForm(_ contentType: String?) -> Bool {
    FieldValue(parsing: contentType ?? "").word == "multipart/form-data"
  }

  /// The boundary of `multipart/form-data; boundary=…`; nil for another type.
  /// - Throws: a 400 for a form whose parts can't be told apart.
  static func boundary(of contentType: String?) throws(Problem) -> String? {
    guard let contentType, isForm(contentType) else { return nil }
    // RFC 2046, 5.1.1.
    guard let boundary = FieldValue(parsing: contentType)["boundary"], (1...70).contains(boundary.utf8.count)
    else {
      throw .badRequest(
        "the Content-Type of a form needs a boundary of 1 to 70 characters: let the program that builds the form set that header"
      )
    }
    return boundary
  }

  /// - Throws: a 400 for what is not a form.
  mutating func parse(_ bytes: some Sequence<UInt8>) throws(Problem) -> [Event] {
    rest += bytes
    var events: [Event] = []
    var start = rest.startIndex
    while let next = try step(from: start, &events) { start = next }
    rest.removeSubrange(..<start)
    return events
  }

  /// Whether the form is complete.
  var isAtEnd: Bool { place == .end }

  /// Returns where the next step begins; nil if it needs more bytes. `rest` has to keep what is left from there on.
  private mutating func step(from start: Int, _ events: inout [Event]) throws(Problem) -> Int? {
    switch place {
    case .end:
      return start == rest.endIndex ? nil : rest.endIndex
    case .headers:
      guard let end = rest.position(of: Self.headEnd, from: start) else {
        if rest.starts(with: Array("--".utf8), at: start) {
          place = .end
          events.append(.end)
          return rest.endIndex
        }
        guard rest.count - start <= Self.longestHead else {
          throw .badRequest("a part of the form has too long a head")
        }
        return nil
      }
      if rest.starts(with: Array("--".utf8), at: start) {
        place = .end
        events.append(.end)
        return rest.endIndex
      }
      events.append(try Self.part(rest[start..<end]))
      place = .body
      return end + Self.headEnd.count
    case .preamble, .body:
      if let found = rest.position(of: delimiter, from: start) {
        if place == .body, found > start { events.append(.bytes(Array(rest[start..<found]))) }
        place = .headers
        return found + delimiter.count
      }
      let known = rest.undoubted(of: delimiter, from: start)
      guard place == .body else {
        guard rest.count <= Self.longestHead else {
          throw .badRequest("the form does not begin with its boundary")
        }
        return nil
      }
      guard known > start else { return nil }
      events.append(.bytes(Array(rest[start..<known])))
      return known
    }
  }

  private static func part(_ head: ArraySlice<UInt8>) throws(Problem) -> Event {
    for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
      guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "content-disposition" else {
        continue
      }
      let value = FieldValue(parsing: line[line.index(after: colon)...])
      guard value.word == "form-data", let name = value["name"] else { break }
      return .part(name: name, isFile: value["filename"] != nil || value["filename*"] != nil)
    }
    throw .badRequest("a part of the form has no name")
  }
}

extension [UInt8] {
  fileprivate func starts(with pattern: [UInt8], at start: Int) -> Bool {
    count - start >= pattern.count && self[start..<start + pattern.count].elementsEqual(pattern)
  }

  /// The index of the next `byte`; the end where there is none.
  private func next(_ byte: UInt8, from start: Int) -> Int {
    withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, start < bytes.count,
        let found = memchr(base + start, Int32(byte), bytes.count - start)
      else { return bytes.count }
      return UnsafeRawPointer(found) - base
    }
  }

  /// Where `pattern` begins, at or after `start`; nil if it does not occur.
  fileprivate func position(of pattern: [UInt8], from start: Int) -> Int? {
    var place = next(pattern[0], from: start)
    while place < count {
      if starts(with: pattern, at: place) { return place }
      place = next(pattern[0], from: place + 1)
    }
    return nil
  }

  /// The index before which `pattern` can't begin, whatever follows.
  fileprivate func undoubted(of pattern: [UInt8], from start: Int) -> Int {
    var place = next(pattern[0], from: Swift.max(start, count - pattern.count + 1))
    while place < count, !pattern.starts(with: self[place...]) { place = next(pattern[0], from: place + 1) }
    return place
  }
}
