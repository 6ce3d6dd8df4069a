import Glibc
import ReelCore
import ReelSource
import Synchronization

/// The reader of the output has gone away.
package struct OutputClosed: Error {
  package init() {}
}

/// A file or a stream can't be written.
package struct OutputFailure: ReelError {
  package let message: String

  package init(_ message: String) { self.message = message }

  /// - Parameter code: the value of errno.
  package init(writing name: String, _ code: Int32) {
    self.init("\(name) can't be written: \(SystemError(code: code, call: "write").reason)")
  }
}

/// A descriptor that text is written to.
package struct OutputStream: Sendable {
  package let descriptor: Int32
  /// The name of the file, as the user gave it.
  private let name: String?

  package init(descriptor: Int32, name: String? = nil) { (self.descriptor, self.name) = (descriptor, name) }

  package static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
  package static let standardError = OutputStream(descriptor: STDERR_FILENO)

  private static let begun = Atomic(false)
  /// Whether anything has been written to standard output.
  package static var hasOutput: Bool { begun.load(ordering: .relaxed) }

  /// Whether `path` is `-` or another name for standard output, such as `/dev/stdout`. Such a path must not be opened
  /// again: in a file, both outputs would overwrite each other.
  package static func isStandardOutput(_ path: SourcePath) -> Bool {
    if path.bytes == [UInt8(ascii: "-")] { return true }
    var output = stat()
    // Output to /dev/null can't overwrite anything.
    guard path.mayBeDescriptor, path.text != "/dev/null", let there = path.fileStatus,
      fstat(STDOUT_FILENO, &output) == 0
    else { return false }
    return there.st_dev == output.st_dev && there.st_ino == output.st_ino
  }

  /// Whether both streams write to the same terminal, file or pipe.
  package func isSamePlace(as other: OutputStream) -> Bool {
    var (own, others) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, fstat(other.descriptor, &others) == 0 else { return false }
    return own.st_dev == others.st_dev && own.st_ino == others.st_ino
  }

  /// What the stream can display now.
  package var traits: TerminalTraits {
    .of(descriptor: descriptor, environment: TerminalTraits.environment())
  }

  /// Writes all of `text`. Blocks while the reader does.
  /// - Throws: ``OutputClosed`` if the reader has gone away; ``OutputFailure`` if it can't be written.
  package func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes all of `bytes`.
  package func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    if descriptor == STDOUT_FILENO, !bytes.isEmpty { Self.begun.store(true, ordering: .relaxed) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitUntilWritable()
      } else if errno != EINTR {
        throw failure(errno)
      }
    }
  }

  private func failure(_ code: Int32) -> any Error {
    code == EPIPE ? OutputClosed() : OutputFailure(writing: name ?? "the output", code)
  }

  /// Needed because another process that shares the descriptor may have made it non-blocking.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}

// MARK: Answers

extension OutputStream {
  /// Writes a command's JSON answer, on several lines if it goes to a terminal.
  package func answer(_ document: AnswerDocument<some Encodable>) throws {
    try write(document.json(pretty: traits.isTerminal))
  }

  /// Writes a command's answer.
  /// - Parameter json: whether to write the document, or text for people.
  package func answer<Body: Encodable>(
    json: Bool, _ document: @autoclosure () throws -> AnswerDocument<Body>,
    text: (TerminalTraits) throws -> String
  ) throws {
    if json { try answer(document()) } else { try write(text(traits)) }
  }

  /// Writes sentences for people, sanitized.
  package func tell(_ sentences: [String]) throws { try write(traits.text(sentences)) }

  /// Reports on standard error why something can't be done. Write errors are ignored, because the exit code says it,
  /// too.
  package static func complain(_ sentence: String) {
    try? standardError.write(standardError.traits.complaint(["reel: " + sentence]))
  }

  /// Writes one line beside the answer to standard error. Write errors are ignored.
  package static func mention(_ sentence: String) {
    try? standardError.write(standardError.traits.sanitized(sentence) + "\n")
  }
}
