import Glibc
import ReelCore

/// A folder whose names are made durable: what was renamed into it before ``sync()`` was called is there
/// after a power loss once it has returned.
///
/// One fsync serves everybody whose rename came before it began, so ten thousand small files that are stored
/// side by side do not cost ten thousand of them.
actor DurableFolder {
  private typealias Pass = Task<Result<Void, SystemError>, Never>

  private let descriptor: Descriptor
  private let queue = BlockingQueue(label: "reel.folder-sync", width: 1)
  private let flush: @Sendable (Descriptor) throws(SystemError) -> Void
  /// The newest pass, running or over.
  private var newest: Pass?
  /// The pass that has not begun, if there is one: it serves whoever asks now.
  private var upcoming: Pass?
  /// How often ``sync()`` was called.
  private(set) var asked = 0

  /// - Parameter flush: makes the folder of that descriptor durable; a test counts.
  init(
    _ descriptor: Descriptor,
    flush: @escaping @Sendable (Descriptor) throws(SystemError) -> Void = DurableFolder.fsyncOnce
  ) {
    self.descriptor = descriptor
    self.flush = flush
  }

  /// Returns when a flush that began after this call has ended.
  /// - Throws: what that flush said. It is not asked again: after a failure the kernel may have dropped the
  ///   pages it could not write, and the next fsync would say that all is well.
  func sync() async throws(SystemError) {
    asked += 1
    try await (upcoming ?? appendPass()).value.get()
  }

  private func appendPass() -> Pass {
    let before = newest
    let pass = Pass {
      _ = await before?.value
      upcoming = nil
      return await flushed()
    }
    newest = pass
    upcoming = pass
    return pass
  }

  private func flushed() async -> Result<Void, SystemError> {
    await queue.run { [descriptor, flush] () throws(Never) in
      Result { () throws(SystemError) in try flush(descriptor) }
    }
  }

  /// fsync(2), once. File systems that cannot sync a folder (EINVAL) have nothing to make durable.
  static func fsyncOnce(_ descriptor: Descriptor) throws(SystemError) {
    do {
      _ = try retryingInterrupts("fsync") { fsync(descriptor.rawValue) }
    } catch  where error.code == EINVAL {
    }
  }
}
