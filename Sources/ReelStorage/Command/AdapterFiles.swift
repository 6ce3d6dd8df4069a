import CReel
import Glibc
import ReelCore

/// Makes of a source a file that an adapter may read and cannot change.
struct AdapterFiles: Sendable {
  /// Where copies lie, without a name, of sources that are not files or that others may write to.
  let folder: String
  let queue: BlockingQueue

  /// A file opened for reading only, at its beginning, and shared with nobody: how far one adapter has read does
  /// not move another.
  ///
  /// It is the source's own file where that is a private copy, else a copy that has been proved.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `unavailable`, `storeFull` (the folder's), `cancelled`.
  func file(of source: UploadSource) async throws(UploadError) -> Descriptor {
    if let descriptor = source.bytes.descriptor, source.bytes.isPrivate {
      let file = try await doing { () throws(SystemError) in try Self.reopened(descriptor) }
      let size = try await doing { () throws(SystemError) in try Self.size(of: file) }
      guard size == source.size else { throw Self.changed(source, to: size) }
      return file
    }
    let copy = try await doing { () throws(SystemError) in try makeFile() }
    for try await chunk in SourceChunks(of: source) {
      try await doing { () throws(SystemError) in try Self.write(chunk, to: copy) }
    }
    return try await doing { () throws(SystemError) in try Self.reopened(copy.rawValue) }
  }

  private func makeFile() throws(SystemError) -> Descriptor {
    let number = reel_command_nameless_file(folder)
    guard number >= 0 else { throw SystemError(code: -number, call: "open") }
    return Descriptor(adopting: number)
  }

  /// The same file with a position of its own.
  private static func reopened(_ descriptor: Int32) throws(SystemError) -> Descriptor {
    Descriptor(
      adopting: try retryingInterrupts("open") {
        open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC | O_NOCTTY)
      })
  }

  private static func size(of file: Descriptor) throws(SystemError) -> Int64 {
    var facts = stat()
    guard fstat(file.rawValue, &facts) == 0 else { throw SystemError.last("fstat") }
    return Int64(facts.st_size)
  }

  private static func write(_ chunk: [UInt8], to file: Descriptor) throws(SystemError) {
    var rest = chunk[...]
    while !rest.isEmpty {
      let count = try retryingInterrupts("write") {
        rest.withUnsafeBytes { Glibc.write(file.rawValue, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(count)
    }
  }

  private func doing<Value: Sendable>(
    _ body: @escaping @Sendable () throws(SystemError) -> Value
  ) async throws(UploadError) -> Value {
    do throws(SystemError) {
      return try await queue.run(body)
    } catch {
      if error.code == ENOENT, access("/proc/self/fd", F_OK) != 0 {
        throw UploadError(
          .storeUnusable, "files are handed to an adapter through /proc, and /proc is not there; mount it")
      }
      let isFull = error.code == ENOSPC || error.code == EDQUOT
      throw UploadError(
        isFull ? .storeFull : .unavailable,
        "the file can't be handed to an adapter through \(folder) (\(error)): see that there is room"
      )
    }
  }

  private static func changed(_ source: UploadSource, to size: Int64) -> UploadError {
    UploadError(
      .sourceChanged,
      "the file changed while it was stored (\(size) bytes now, from \(source.size) bytes): let whatever writes "
        + "it finish, then run the same command again")
  }
}
