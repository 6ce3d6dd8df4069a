import Glibc
import ReelCore
import ReelSource
import Synchronization

/// The reader of what is printed went away.
package struct OutputClosed: Error {
  package init() {}
}

/// A file or a stream can't be written.
package struct OutputFailure: ReelError {
  package let message: String

  package init(_ message: String) { self.message = message }

  /// - Parameter code: of errno.
  package init(writing name: String, _ code: Int32) {
    self.init("\(name) can't be written: \(SystemError(code: code, call: "write").reason)")
  }
}

/// A descriptor that text goes to.
package struct OutputStream: Sendable {
  package let descriptor: Int32
  /// Of the file, as the user gave it.
  private let name: String?

  package init(descriptor: Int32, name: String? = nil) { (self.descriptor, self.name) = (descriptor, name) }

  package static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
  package static let standardError = OutputStream(descriptor: STDERR_FILENO)

  private static let begun = Atomic(false)
  /// Whether something went to standard output.
  package static var hasOutput: Bool { begun.load(ordering: .relaxed) }

  /// Whether `path` is `-`, or another name for standard output, such as `/dev/stdout`: that would be opened once more,
  /// and what is written to both would lie over each other in a file.
  package static func isStandardOutput(_ path: SourcePath) -> Bool {
    if path.bytes == [UInt8(ascii: "-")] { return true }
    var output = stat()
    // What goes nowhere is under nobody's feet.
    guard path.mayBeDescriptor, path.text != "/dev/null", let there = path.fileStatus,
      fstat(STDOUT_FILENO, &output) == 0
    else { return false }
    return there.st_dev == output.st_dev && there.st_ino == output.st_ino
  }

  /// Whether what is written to one shows up in the other: they are one terminal, file or pipe.
  package func isSamePlace(as other: OutputStream) -> Bool {
    var (own, others) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, fstat(other.descriptor, &others) == 0 else { return false }
    return own.st_dev == others.st_dev && own.st_ino == others.st_ino
  }

  /// What it can show now.
  package var traits: TerminalTraits {
    .of(descriptor: descriptor, environment: TerminalTraits.environment())
  }

  /// Writes all of `text`. Blocks as long as the reader does.
  /// - Throws: ``OutputClosed`` when nobody reads any more; ``OutputFailure`` when it can't be written.
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

  /// Somebody else may have made the descriptor they share with us non-blocking.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}

// MARK: Answers

extension OutputStream {
  /// Writes what a command answers in JSON, on several lines where a person sees it.
  package func answer(_ document: AnswerDocument<some Encodable>) throws {
    try write(document.json(pretty: traits.isTerminal))
  }

  /// Writes what a command answers.
  /// - Parameter json: whether a document was asked for, or else text for people.
  package func answer<Body: Encodable>(
    json: Bool, _ document: @autoclosure () throws -> AnswerDocument<Body>,
    text: (TerminalTraits) throws -> String
  ) throws {
    if json { try answer(document()) } else { try write(text(traits)) }
  }

  /// Writes sentences for people, made harmless.
  package func tell(_ sentences: [String]) throws { try write(traits.text(sentences)) }

  /// Says on standard error why something can't be done. Nobody has to listen: the exit code says it then.
  package static func complain(_ sentence: String) {
    try? standardError.write(standardError.traits.complaint(["reel: " + sentence]))
  }

  /// Says on standard error what stands beside the answer, as one line. Nobody has to listen.
  package static func mention(_ sentence: String) {
    try? standardError.write(standardError.traits.sanitized(sentence) + "\n")
  }
}
