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
    /// Somebody else in this process has collected it.
    case unknown
  }

  /// A socket: what we write, the adapter reads as its standard input.
  private(set) var input: Descriptor?
  let output: Descriptor
  let errors: Descriptor
  private let child: reel_command_child
  private let pidfd: Descriptor
  private var collected: End?

  /// Starts `program` with `environment`, and `object` as its descriptor 3.
  /// - Throws: ``SystemError`` of posix_spawn and of what it needs.
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

  /// Writes all of `bytes`; an adapter that does not listen is not an error here.
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

  /// The adapter reads the end of its input.
  func closeInput() { input = nil }

  /// Asks the whole group to end.
  func terminate() {
    guard collected == nil else { return }
    withUnsafePointer(to: child) { reel_command_signal($0, SIGTERM) }
  }

  /// Ends the whole group, whatever of it is left, and collects the adapter. It is not left before it is gone: a
  /// killed process that the kernel holds back (a dead network disk) is waited for 2 s.
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

  /// A program that somebody holds open for writing can't be started (ETXTBSY, execve(2)): one that is just being
  /// put in place, or that a process forked meanwhile still holds. That is over in a moment, so it is tried for 2 s.
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
      // An array with its NULL is never empty.
      guard let base = buffer.baseAddress else { preconditionFailure("a list without its end") }
      return body(base)
    }
  }
}

/// Takes the bytes of an object that an adapter reads back, and hashes them: we believe the bytes, not a digest
/// that the adapter claims.
final class ObjectSink {
  let descriptor: Descriptor
  private(set) var isOpen = true
  private(set) var count: Int64 = 0
  private var hash = SHA256()

  init(reading descriptor: Descriptor) {
    self.descriptor = descriptor
  }

  /// Takes what is there; false at the end.
  func take() -> Bool {
    let chunk = AdapterConversation.read(descriptor, 256 << 10)
    isOpen = !chunk.isEmpty
    count += Int64(chunk.count)
    hash.update(data: chunk)
    return isOpen
  }

  /// Of all bytes so far.
  var digest: ContentDigest? { ContentDigest(sha256: hash.finalize()) }
}

/// The last of what an adapter wrote to its standard error.
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

  /// The last line that says something; of one that is cut off at its beginning nothing, as what is missing may be
  /// the half of a secret.
  var lastLine: String? {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return (isCut ? lines.dropFirst() : lines[...])
      .last { line in line.contains { $0 > 0x20 } }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Wakes a thread that waits in poll(2), from any other.
final class WakeUp: Sendable {
  /// Readable once ``ring()`` was called.
  let readable: Descriptor
  private let writable: Descriptor

  init() throws(SystemError) {
    (readable, writable) = try Channel.pipe()
  }

  /// Whether it was rung.
  var hasRung: Bool {
    var request = pollfd(fd: readable.rawValue, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  /// May be called often, from anywhere.
  func ring() {
    var byte: UInt8 = 1
    _ = write(writable.rawValue, &byte, 1)
  }
}

/// Pairs of descriptors, closed on exec.
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
