import ReelCore

/// A request to read a file, whose descriptor comes with the frame.
package struct ReadRequest: Hashable, Sendable {
  /// The size of the file in bytes.
  package let size: Int64
  /// The container that its first bytes indicate.
  package let container: MediaContainer
  /// How many bytes may be read, counting repeated reads of the same byte.
  package let byteBudget: Int64
  /// The maximum time for reading it, in milliseconds.
  package let milliseconds: Int
  /// Whether every packet must be read.
  package let isThorough: Bool

  /// - Parameters: See the properties; milliseconds from 1 to a day.
  package init(
    size: Int64, container: MediaContainer, byteBudget: Int64, milliseconds: Int, isThorough: Bool = false
  ) {
    self.size = size
    self.container = container
    self.byteBudget = byteBudget
    self.milliseconds = milliseconds
    self.isThorough = isThorough
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.request) { writer throws(WireError) in writer.readRequest(self) }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .request) { reader throws(WireError) in try reader.readRequest() }
  }
}

extension WireWriter {
  mutating func readRequest(_ request: ReadRequest) {
    number(request.size)
    code(request.container)
    number(request.byteBudget)
    number(Int64(request.milliseconds))
    flag(request.isThorough)
  }
}

extension WireReader {
  mutating func readRequest() throws(WireError) -> ReadRequest {
    ReadRequest(
      size: try number(in: 0...Int64.max, "size"),
      container: try code(MediaContainer.self, "container"),
      byteBudget: try number(in: 1...Int64.max, "byteBudget"),
      milliseconds: Int(try number(in: 1...86_400_000, "milliseconds")),
      isThorough: try flag("isThorough"))
  }
}
