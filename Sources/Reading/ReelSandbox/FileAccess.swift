import Glibc
import ReelCore

/// What a file's first bytes say, before any other program sees it.
enum FirstBytes {
  /// The container.
  /// - Throws: the sniffer's refusal; `notMedia` for bytes that it does not know; `unreadable`, `sourceChanged`,
  ///   `readLimit`, `cancelled`.
  static func container(
    of file: SourceFile, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> MediaContainer {
    do throws(ProbeError) {
      return try container(of: file)
    } catch {
      // What lies elsewhere says only that it can't be had.
      throw cancellation.isSet ? .cancelled : error
    }
  }

  /// As ``container(of:_:)``.
  static func container(of file: SourceFile) throws(ProbeError) -> MediaContainer {
    switch Sniffer.verdict(head: try head(of: file), size: file.size) {
    case .container(let container): return container
    case .refused(let error): throw error
    case .unrecognised:
      throw ProbeError(.notMedia, "it does not start like any video format that Reel knows")
    }
  }

  private static func head(of file: SourceFile) throws(ProbeError) -> [UInt8] {
    try rethrowing(as: ProbeError.init) { () throws(SourceError) in
      try file.handle.head(max(0, Int(clamping: min(file.size, Int64(Sniffer.headLength)))))
    }
  }
}

extension ProbeError {
  /// What became of the bytes of a file that is being read.
  init(_ error: SourceError) {
    let code: Code =
      switch error.code {
      case .sourceChanged: .sourceChanged
      case .readLimit: .readLimit
      default: .unreadable
      }
    self.init(code, error.text)
  }
}

extension Descriptor {
  /// The same file, opened anew, so that nobody else shares its offset or its flags.
  ///
  /// A duplicate, which shares both, only where there is no `/proc`.
  /// - Throws: `unreadable`, `tooManyOpenFiles`, `noReader`.
  static func reopening(_ file: any SourceHandle) throws(ProbeError) -> Descriptor {
    guard let shared = file.descriptor else {
      throw ProbeError(.unreadable, "it is not a file of this machine that could be handed to the reader")
    }
    let path = "/proc/self/fd/\(shared)"
    do throws(SystemError) {
      return try Descriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    } catch {
      if let exhausted = ProbeError.exhausted(error) { throw exhausted }
      guard error.code == ENOENT, access("/proc/self/fd", F_OK) != 0 else {
        throw ProbeError(.unreadable, "it could not be opened for the reader (\(error.reason))")
      }
      return try duplicate(of: shared)
    }
  }

  private static func duplicate(of shared: Int32) throws(ProbeError) -> Descriptor {
    do throws(SystemError) {
      return Descriptor(adopting: try retryingInterrupts("fcntl") { fcntl(shared, F_DUPFD_CLOEXEC, 3) })
    } catch {
      if let exhausted = ProbeError.exhausted(error) { throw exhausted }
      throw ProbeError(.unreadable, "it could not be handed to the reader (\(error.reason))")
    }
  }
}
