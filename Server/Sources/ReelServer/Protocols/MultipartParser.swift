import Glibc

/// `multipart/form-data` (RFC 7578), piece by piece as it comes; pure.
struct MultipartParser: Sendable {
  enum Event: Hashable, Sendable {
    /// A part begins.
    case part(name: String, isFile: Bool)
    /// Some of its bytes.
    case bytes([UInt8])
    /// The last part has ended; whatever follows says nothing.
    case end
  }
  private enum Place {
    case preamble, headers, body, end
  }
  /// Of a part's headers, and of what may stand before the first part.
  private static let longestHead = 8_192
  private static let (newLine, headEnd) = (Array("\r\n".utf8), Array("\r\n\r\n".utf8))

  private let delimiter: [UInt8]
  private var place = Place.preamble
  /// What could not be told yet. The first delimiter need not have a line before it.
  private var rest = newLine

  /// - Parameter boundary: of the `Content-Type`.
  init(boundary: String) { delimiter = Array("\r\n--\(boundary)".utf8) }

  /// The boundary of `multipart/form-data; boundary=…`; nil for another type.
  static func boundary(of contentType: String?) -> String? {
    let parts = (contentType ?? "").split(separator: ";").map { $0.trimming() }
    guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
    return parameter("boundary", in: parts.dropFirst()).flatMap {
      (1...70).contains($0.utf8.count) ? $0 : nil
    }
  }

  /// - Throws: a 400 for what is no form.
  mutating func parse(_ bytes: some Sequence<UInt8>) throws(Problem) -> [Event] {
    rest += bytes
    var events: [Event] = []
    var start = rest.startIndex
    while let next = try step(from: start, &events) { start = next }
    rest.removeSubrange(..<start)
    return events
  }

  /// Whether the form is there as a whole.
  var isAtEnd: Bool { place == .end }

  /// Where the next step begins; nil where it takes more bytes. What is left is what `rest` has to keep from there.
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
      let parts = line.split(separator: ";").map { $0.trimming() }
      guard parts.first?.lowercased() == "content-disposition: form-data" else { continue }
      guard let name = parameter("name", in: parts.dropFirst()) else { break }
      return .part(name: name, isFile: parameter("filename", in: parts.dropFirst()) != nil)
    }
    throw .badRequest("a part of the form has no name")
  }

  private static func parameter(_ name: String, in parts: some Sequence<String>) -> String? {
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, pair[0].lowercased() == name else { continue }
      return pair[1].count > 1 && pair[1].hasPrefix("\"") && pair[1].hasSuffix("\"")
        ? String(pair[1].dropFirst().dropLast()) : String(pair[1])
    }
    return nil
  }
}

extension Substring {
  fileprivate func trimming() -> String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension [UInt8] {
  fileprivate func starts(with pattern: [UInt8], at start: Int) -> Bool {
    count - start >= pattern.count && self[start..<start + pattern.count].elementsEqual(pattern)
  }

  /// Where the first byte of `pattern` stands next; the end where it does not.
  private func next(_ byte: UInt8, from start: Int) -> Int {
    withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, start < bytes.count,
        let found = memchr(base + start, Int32(byte), bytes.count - start)
      else { return bytes.count }
      return UnsafeRawPointer(found) - base
    }
  }

  /// Where `pattern` begins, at or behind `start`; nil where it is not.
  fileprivate func position(of pattern: [UInt8], from start: Int) -> Int? {
    var place = next(pattern[0], from: start)
    while place < count {
      if starts(with: pattern, at: place) { return place }
      place = next(pattern[0], from: place + 1)
    }
    return nil
  }

  /// Up to where it can't be `pattern` that begins, whatever follows.
  fileprivate func undoubted(of pattern: [UInt8], from start: Int) -> Int {
    var place = next(pattern[0], from: Swift.max(start, count - pattern.count + 1))
    while place < count, !pattern.starts(with: self[place...]) { place = next(pattern[0], from: place + 1) }
    return place
  }
}
