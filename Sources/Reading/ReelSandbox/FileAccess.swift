import Glibc
import ReelCore

/// Examines a file's first bytes, before any other program sees it.
enum FirstBytes {
  /// Returns the container that they indicate.
  /// - Throws: The sniffer's refusal; `notMedia` for bytes that it does not know; `unreadable`, `sourceChanged`,
  ///   `readLimit`, `cancelled`.
  static func container(
    of file: SourceFile, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> MediaContainer {
    do throws(ProbeError) {
      return try container(of: file)
    } catch {
      // A remote source reports a cancellation only as unavailable bytes.
      throw cancellation.isSet ? .cancelled : error
    }
  }

  /// Does the same as ``container(of:_:)``, without a cancellation flag.
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
  /// Creates the error for a file whose bytes became unavailable while it was being read.
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
  /// Opens the same file again, so that its offset and flags are shared with no one else.
  ///
  /// If there is no `/proc`, returns a duplicate, which shares both.
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
