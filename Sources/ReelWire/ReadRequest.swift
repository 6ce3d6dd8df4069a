import ReelCore

/// A file to read; its descriptor comes with the frame.
public struct ReadRequest: Hashable, Sendable {
  /// Size of the file in bytes.
  public let size: Int64
  /// What its first bytes say it is.
  public let container: MediaContainer
  /// How many bytes may be read, each reading of the same byte counted.
  public let byteBudget: Int64
  /// How long the reading may take, in milliseconds.
  public let milliseconds: Int

  /// - Parameters: as the properties; milliseconds from 1 to a day.
  public init(size: Int64, container: MediaContainer, byteBudget: Int64, milliseconds: Int) {
    self.size = size
    self.container = container
    self.byteBudget = byteBudget
    self.milliseconds = milliseconds
  }

  /// The frame.
  public func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.request) { writer throws(WireError) in
      writer.number(size)
      writer.code(container)
      writer.number(byteBudget)
      writer.number(Int64(milliseconds))
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  public init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .request) { reader throws(WireError) in
      ReadRequest(
        size: try reader.number(in: 0...Int64.max, "size"),
        container: try reader.code(MediaContainer.self, "container"),
        byteBudget: try reader.number(in: 1...Int64.max, "byteBudget"),
        milliseconds: Int(try reader.number(in: 1...86_400_000, "milliseconds")))
    }
  }
}
