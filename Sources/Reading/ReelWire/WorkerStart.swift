/// What a worker is told first: how to confine itself, and how much it may use. The parent's first frame.
package struct WorkerStart: Hashable, Sendable {
  /// What the process becomes.
  package enum Role: CaseIterable, Sendable {
    /// Reads files, unconfined.
    case unconfined
    /// Reads files, confined as far as the kernel can.
    case confined
    /// Reads nothing: forks workers that do, confined as far as the kernel can.
    case forkServer
    /// The same, and some of the workers write a file.
    case mendingForkServer
  }
  /// What the process becomes.
  package let role: Role
  /// Bytes of address space beyond what the program and its libraries take.
  package let memory: Int64
  /// Seconds of processor time for one file.
  package let processorSeconds: Int

  /// - Parameters: as the properties; memory from 1 MiB to 1 TiB, seconds from 1 to a day.
  package init(role: Role, memory: Int64, processorSeconds: Int) {
    self.role = role
    self.memory = memory
    self.processorSeconds = processorSeconds
  }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.start) { writer throws(WireError) in
      writer.code(role)
      writer.number(memory)
      writer.number(Int64(processorSeconds))
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .start) { reader throws(WireError) in
      WorkerStart(
        role: try reader.code(Role.self, "role"),
        memory: try reader.number(in: 1 << 20...1 << 40, "memory"),
        processorSeconds: Int(try reader.number(in: 1...86_400, "processorSeconds")))
    }
  }
}
