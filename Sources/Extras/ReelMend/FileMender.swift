import CFFmpeg
import ReelCore
import ReelProbe

/// Mends files in this process, on the calling thread: what is asked for is written into another file, and nothing else
/// is changed.
///
/// The bytes are untrusted: call it in a confined process that has read nothing else.
package struct FileMender {
  private let limits: ReadingLimits

  /// - Parameter limits: the limits on reading one file. Only the bytes that are examined count, not those that are
  ///   copied.
  package init(limits: ReadingLimits) {
    self.limits = limits
  }

  /// What was done to a file.
  package struct Outcome: Hashable, Sendable {
    /// What was mended. Empty if nothing needed mending; then nothing was written.
    package let done: Set<Mend>
    /// The number of bytes that were written.
    package let size: Int64
  }

  /// - Parameters:
  ///   - descriptor: the source, open for reading. It is read by position, and neither moved nor closed.
  ///   - output: open for writing, and empty.
  ///   - size: the source's size in bytes.
  ///   - container: the container that its first bytes showed.
  ///   - willWrite: called once before anything is written, if anything is.
  /// - Throws: `notMendable`, `notWritten`, and the errors of files that can't be read.
  package func mend(
    descriptor: Int32, size: Int64, container: MediaContainer, options: MendOptions, output: Int32,
    willWrite: () -> Void = {}
  ) throws(MendError) -> Outcome {
    guard size > 0 else { throw MendError(.empty, "it is empty") }
    let source = BoundedSource(.descriptor(descriptor), size: size, limits: limits)
    let (file, done) = try rethrowing(as: { stopped(source) ?? $0 }) { () throws(MendError) in
      try plan(source, container, options)
    }
    if let error = stopped(source) { throw error }
    guard !done.isEmpty else { return Outcome(done: [], size: 0) }
    willWrite()
    var writer = OutputWriter(source: descriptor, output: output)
    try writer.write(file)
    return Outcome(done: done, size: file.size)
  }

  private func plan(
    _ source: BoundedSource, _ container: MediaContainer, _ options: MendOptions
  ) throws(MendError) -> (MendedFile, Set<Mend>) {
    var options = options
    let isRenamed = options.mends.remove(.fileExtension) != nil
    if !options.mends.isEmpty {
      let (file, done) = try mended(source, container, options)
      if !done.isEmpty { return (file, done.union(isRenamed ? [.fileExtension] : [])) }
    }
    guard isRenamed else { return (MendedFile(), []) }
    return (MendedFile(parts: [.source(0..<source.size)]), [.fileExtension])
  }

  private func mended(
    _ source: BoundedSource, _ container: MediaContainer, _ options: MendOptions
  ) throws(MendError) -> (MendedFile, Set<Mend>) {
    if container.isMatroska {
      var mender = MatroskaMender(source)
      return (try mender.mend(options.mends), mender.done)
    }
    guard container.isISO else {
      throw MendError(.notMendable, "what was asked for can't be mended in a \(container.title) file")
    }
    var mender = try MovieMender(source, options)
    return (try mender.mend(), mender.done)
  }

  /// Returns the reason why the file's own bytes, the disk or the deadline ended the reading; nil if it may continue.
  func stopped(_ source: BoundedSource) -> MendError? {
    switch source.stop {
    case .deadline: MendError(.timeout, "reading it took too long; it may be damaged")
    case .failed(let code):
      MendError(.unreadable, "it could not be read (system error \(code)); check the disk it is on")
    case .shrunk:
      MendError(.sourceChanged, "it became shorter while it was read; try again when nothing writes to it")
    case .budget: MendError(.corrupt, "its header asks for more than \(limits.bytes) bytes to be read")
    // Bytes are read here, not requested.
    case .withheld, nil: nil
    }
  }
}
