/// The head of a request, byte for byte as it came.
package struct WireHead: Sendable {
  package let bytes: [UInt8]
  package let method: String
  package let target: String
  package let fields: [(String, String)]
  package let bodyLength: Int

  package init?(_ bytes: [UInt8]) {
    let lines = WireFields.lines(bytes)
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    self.bytes = bytes
    (method, target) = (String(words[0]), String(words[1]))
    fields = WireFields.parse(lines.dropFirst())
    bodyLength = fields.first { $0.0.lowercased() == "content-length" }.flatMap { Int($0.1) } ?? 0
  }

  /// The method, the operation in the path (a method of Google's APIs such as `:commit`, or the path's only word) and
  /// the names in the query: requests of one shape do the same to different things.
  package var shape: String {
    let halves = target.split(separator: "?", maxSplits: 1)
    let path = halves.first?.split(separator: "/") ?? []
    let work = path.last?.lastIndex(of: ":").map { String(path[path.count - 1][$0...]) }
    let names =
      halves.dropFirst().first?.split(separator: "&").map { String($0.prefix { $0 != "=" }) } ?? []
    let words = work.map { [$0] } ?? (path.count == 1 ? ["/" + path[0]] : [])
    return ([method] + words + names.sorted()).joined(separator: " ")
  }
}

/// A whole reply.
package struct WireReply: Sendable {
  package var status: Int
  package var fields: [(String, String)]
  package var body: [UInt8]

  package init(status: Int, fields: [(String, String)], body: [UInt8]) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  package subscript(name: String) -> String? {
    get { fields.first { $0.0.lowercased() == name.lowercased() }?.1 }
    set {
      fields.removeAll { $0.0.lowercased() == name.lowercased() }
      if let newValue { fields.append((name, newValue)) }
    }
  }

  /// Replaces the text between two others in the body, and updates the length.
  package mutating func replaceText(after start: String, before end: String, with text: String) {
    let whole = String(decoding: body, as: UTF8.self)
    guard let first = whole.firstRange(of: start),
      let last = whole[first.upperBound...].firstRange(of: end)
    else { return }
    body = Array((whole[..<first.upperBound] + text + whole[last.lowerBound...]).utf8)
    self["content-length"] = "\(body.count)"
  }

  package var bytes: [UInt8] {
    let head = fields.map { "\($0): \($1)\r\n" }.joined()
    return Array("HTTP/1.1 \(status) Said\r\n\(head)\r\n".utf8) + body
  }
}

enum WireFields {
  static func lines(_ head: [UInt8]) -> [Substring] {
    String(decoding: head, as: UTF8.self).split(separator: "\r\n")
  }

  static func parse(_ lines: some Sequence<Substring>) -> [(String, String)] {
    lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
  }
}

/// Reads messages from a connection, with as much of HTTP's framing as that takes (RFC 9112, 6).
package struct WireReader {
  private let wire: Wire
  private var held: [UInt8] = []

  package init(_ wire: Wire) { self.wire = wire }

  /// The next request; nil at the connection's end.
  package mutating func request() -> WireHead? { head().flatMap { WireHead($0) } }

  /// The final reply to a request by `method`; nil when the connection ended before it was whole.
  package mutating func reply(to method: String) -> WireReply? {
    while let head = head() {
      let lines = WireFields.lines(head)
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count >= 2, let status = Int(words[1]) else { return nil }
      var reply = WireReply(status: status, fields: WireFields.parse(lines.dropFirst()), body: [])
      if (100..<200).contains(status) { continue }
      if method == "HEAD" || status == 204 || status == 304 { return reply }
      if reply["transfer-encoding"]?.lowercased() == "chunked" {
        guard let body = chunks() else { return nil }
        reply["transfer-encoding"] = nil
        reply.body = body
      } else if let length = reply["content-length"].flatMap({ Int($0) }) {
        reply.body = take(length)
        if reply.body.count < length { return nil }
      } else {
        while more() {}
        (reply.body, held) = (held, [])
      }
      reply["content-length"] = "\(reply.body.count)"
      return reply
    }
    return nil
  }

  /// Reads this many bytes, fewer only at the connection's end.
  /// - Parameter note: called each time more bytes have come, with their number.
  package mutating func take(_ count: Int, noting note: (Int) -> Void = { _ in }) -> [UInt8] {
    var noted = min(held.count, count)
    if noted > 0 { note(noted) }
    while held.count < count, more() {
      note(min(held.count, count) - noted)
      noted = min(held.count, count)
    }
    if held.count == count {
      defer { held = [] }
      return held
    }
    let taken = Array(held.prefix(count))
    held.removeFirst(taken.count)
    return taken
  }

  /// Reads and discards everything until the other side ends the connection.
  package mutating func drain() {
    while more() { held = [] }
  }

  /// Everything up to the end of the empty line; nil when that does not come.
  package mutating func head() -> [UInt8]? { through(Array("\r\n\r\n".utf8)) }

  private mutating func chunks() -> [UInt8]? {
    var body: [UInt8] = []
    while let line = through(Array("\r\n".utf8)) {
      let digits = String(decoding: line.prefix { $0 != UInt8(ascii: ";") && $0 != 13 }, as: UTF8.self)
      guard let length = Int(digits, radix: 16) else { return nil }
      let piece = take(length + 2)
      if length == 0 { return body }
      body += piece.dropLast(2)
    }
    return nil
  }

  /// Everything up to the end of the first `end`; nil when that does not come.
  private mutating func through(_ end: [UInt8]) -> [UInt8]? {
    while true {
      if let range = held.firstRange(of: end) {
        let found = Array(held[..<range.upperBound])
        held.removeFirst(found.count)
        return found
      }
      guard more() else { return nil }
    }
  }

  private mutating func more() -> Bool {
    let bytes = wire.read()
    held += bytes
    return !bytes.isEmpty
  }
}
