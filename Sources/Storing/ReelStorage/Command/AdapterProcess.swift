import CReel
import Glibc
import ReelCore
import ReelCrypto

/// A running adapter and everything that it started: one process group, ended as one.
final class AdapterProcess {
  /// How it ended.
  enum End: Hashable {
    case exited(Int32)
    case signalled
    /// Other code in this process has reaped it, so how it ended is unknown.
    case unknown
  }

  /// Our end of the socket that is the adapter's standard input; nil once closed.
  private(set) var input: Descriptor?
  let output: Descriptor
  let errors: Descriptor
  private let child: reel_command_child
  private let pidfd: Descriptor
  private var collected: End?

  /// Starts `program` with `environment`, and `object` as its descriptor 3.
  /// - Throws: the ``SystemError`` of posix_spawn(3), or of creating its pipes and sockets.
  init(_ program: AdapterProgram, _ environment: [String: String], object: Descriptor?) throws(SystemError) {
    let (ours, theirs) = try Channel.sockets()
    let out = try Channel.pipe()
    let err = try Channel.pipe()
    var child = reel_command_child()
    let error = Self.withCStrings([program.path]) { arguments in
      Self.withCStrings(environment.sorted { $0.key < $1.key }.map { $0.key + "=" + $0.value }) { variables in
        Self.waitingForItsWriter {
          reel_command_spawn(
            program.path, arguments, variables, theirs.rawValue, out.writing.rawValue, err.writing.rawValue,
            object?.rawValue ?? -1, &child)
        }
      }
    }
    guard error == 0 else { throw SystemError(code: -error, call: "posix_spawn") }
    self.child = child
    pidfd = Descriptor(adopting: child.descriptor)
    input = ours
    output = out.reading
    errors = err.reading
  }

  deinit {
    end()
  }

  /// Readable once the adapter itself has ended.
  var endDescriptor: Int32 { pidfd.rawValue }

  var hasEnded: Bool { hasEnded(within: 0) }

  private func hasEnded(within milliseconds: Int32) -> Bool {
    withUnsafePointer(to: child) { reel_command_wait($0, milliseconds) != 0 }
  }

  /// Writes all of `bytes`. It is no error here if the adapter has stopped reading.
  func say(_ bytes: [UInt8]) {
    guard let input else { return }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(input.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Closes the adapter's input, so that it reads an end of file.
  func closeInput() { input = nil }

  /// Sends SIGTERM to the whole group.
  func terminate() {
    guard collected == nil else { return }
    withUnsafePointer(to: child) { reel_command_signal($0, SIGTERM) }
  }

  /// Kills whatever is left of the group and reaps the adapter. Waits until it is gone, but no longer than 2 s: the
  /// kernel may hold back a killed process, such as on a dead network disk.
  @discardableResult
  func end() -> End {
    if let collected { return collected }
    input = nil
    let endedByItself = hasEnded
    withUnsafePointer(to: child) { reel_command_signal($0, SIGKILL) }
    let end = collect(endedByItself: endedByItself)
    collected = end
    return end
  }

  private func collect(endedByItself: Bool) -> End {
    guard hasEnded(within: 2000) else { return .signalled }
    var code: Int32 = -1
    let result = withUnsafePointer(to: child) { reel_command_collect($0, &code) }
    guard endedByItself else { return .signalled }
    guard result == 1 else { return .unknown }
    return code >= 0 ? .exited(code) : .signalled
  }

  /// Retries `spawn` for 2 s while it fails with ETXTBSY (execve(2)). The program's file is open for writing somewhere:
  /// it is just being put in place, or a process forked meanwhile still holds the descriptor.
  static func waitingForItsWriter(_ spawn: () -> Int32) -> Int32 {
    for _ in 0..<100 {
      let error = spawn()
      guard error == -ETXTBSY else { return error }
      usleep(20_000)
    }
    return spawn()
  }

  private static func withCStrings<Value>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Value
  ) -> Value {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
      // The array ends with NULL, so it is never empty.
      guard let base = buffer.baseAddress else { preconditionFailure("a list without its end") }
      return body(base)
    }
  }
}

/// Receives the bytes of an object that an adapter reads back, and hashes them here rather than trust a digest that the
/// adapter claims.
final class ObjectSink {
  let descriptor: Descriptor
  private(set) var isOpen = true
  private(set) var count: Int64 = 0
  private var hash = SHA256()

  init(reading descriptor: Descriptor) {
    self.descriptor = descriptor
  }

  /// Reads what has arrived; false at the end of the stream.
  func take() -> Bool {
    let chunk = AdapterConversation.read(descriptor, 256 << 10)
    isOpen = !chunk.isEmpty
    count += Int64(chunk.count)
    hash.update(data: chunk)
    return isOpen
  }

  /// The digest of all bytes so far.
  var digest: ContentDigest? { ContentDigest(sha256: hash.finalize()) }
}

/// The last 4096 bytes that an adapter wrote to its standard error.
struct ErrorTail: Sendable {
  private static let most = 4096
  private var bytes: [UInt8] = []
  private var isCut = false

  mutating func add(_ chunk: [UInt8]) {
    bytes += chunk
    guard bytes.count > Self.most else { return }
    bytes.removeFirst(bytes.count - Self.most)
    isCut = true
  }

  /// The last line that is not blank. A line whose beginning was cut off is ignored, as the rest may be half of a
  /// secret.
  var lastLine: String? {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return (isCut ? lines.dropFirst() : lines[...])
      .last { line in line.contains { $0 > 0x20 } }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Wakes a thread that waits in poll(2), from any other thread.
final class WakeUp: Sendable {
  /// Readable once ``ring()`` has been called.
  let readable: Descriptor
  private let writable: Descriptor

  init() throws(SystemError) {
    (readable, writable) = try Channel.pipe()
  }

  /// Whether ``ring()`` has been called.
  var hasRung: Bool {
    var request = pollfd(fd: readable.rawValue, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  /// Wakes the thread. May be called repeatedly and from any thread.
  func ring() {
    var byte: UInt8 = 1
    _ = write(writable.rawValue, &byte, 1)
  }
}

/// Pairs of connected descriptors, all of them close-on-exec.
enum Channel {
  static func pipe() throws(SystemError) -> (reading: Descriptor, writing: Descriptor) {
    try make(bothWays: false, "pipe2")
  }

  static func sockets() throws(SystemError) -> (Descriptor, Descriptor) {
    try make(bothWays: true, "socketpair")
  }

  private static func make(
    bothWays: Bool, _ call: String
  ) throws(SystemError) -> (Descriptor, Descriptor) {
    var ends: [Int32] = [-1, -1]
    let error = reel_command_channel(bothWays ? 1 : 0, &ends)
    guard error == 0 else { throw SystemError(code: -error, call: call) }
    return (Descriptor(adopting: ends[0]), Descriptor(adopting: ends[1]))
  }
}
