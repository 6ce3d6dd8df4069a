import CReel
import Glibc
import ReelCore
import ReelCrypto

/// Provides the file that is to become an object, inside the store but without its name.
struct ObjectCopying {
  let store: OpenStore
  let key: ObjectKey
  let mode: UInt32
  /// Whether an object that has the name is to be replaced.
  var replaces = false
  let failure: FolderFailure

  /// Returns the private copy itself if it is in this store. Otherwise makes a hard link, if nobody writes to the file
  /// any more and it can have one here, or a copy. Blocks. On return every byte is there, but need not be durable;
  /// ``ObjectBatch`` does the rest.
  func run(
    _ source: UploadSource, _ cancellation: CancellationFlag,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) throws(UploadError) -> CopiedObject {
    if !replaces { try checkFree() }
    try failure.doing("create a file") { () throws(SystemError) in try Failpoint.uploadBegun.reach() }
    let file: StagedObject
    if let staged = source.bytes.stagedFile as? StagedObject, staged.store === store, staged.take() {
      file = staged
      reporting(TransferProgress(sent: source.size, total: source.size))
    } else if let linked = try link(source) {
      file = linked
      reporting(TransferProgress(sent: source.size, total: source.size))
    } else {
      file = try copy(source, cancellation, reporting)
    }
    try failure.doing("set the mode of a file") { () throws(SystemError) in
      try file.withFile { file throws(SystemError) in try file.allow(mode_t(mode)) }
    }
    return CopiedObject(key: key, size: source.size, isIntended: source.isIntended, file: file)
  }

  /// Returns nil if the source has to be copied. A replacement for a damaged object always has to be: copying proves
  /// its bytes, and the file may be the damaged object itself.
  private func link(_ source: UploadSource) throws(UploadError) -> StagedObject? {
    guard !replaces, let file = (source.bytes as? any LinkableBytes)?.takeFile() else { return nil }
    return try FolderStaging(store: store, failure: failure).linkObject(to: file)
  }

  private func copy(
    _ source: UploadSource, _ cancellation: CancellationFlag,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) throws(UploadError) -> StagedObject {
    let file = try FolderStaging(store: store, failure: failure).makeObject()
    let copy = SourceCopy(
      source: source, target: file.descriptor, failure: failure, cancellation: cancellation,
      reporting: reporting)
    try copy.run()
    try file.seal()
    return file
  }

  /// Saves the copy if the name is taken. Only the rename decides.
  private func checkFree() throws(UploadError) {
    if faccessat(store.root.rawValue, key.rawValue, F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
      throw failure.taken(key)
    }
  }
}

/// A complete copy that has no name in its store yet. It is deleted with this object unless it was named.
final class CopiedObject: Sendable {
  let key: ObjectKey
  private let size: Int64
  /// Whether a catalog names the object (``UploadSource/isIntended``).
  let isIntended: Bool
  private let file: StagedObject

  init(key: ObjectKey, size: Int64, isIntended: Bool, file: StagedObject) {
    self.key = key
    self.size = size
    self.isIntended = isIntended
    self.file = file
  }

  /// Makes its bytes durable. Blocks. Call it once only: an fsync that failed must not be repeated.
  func sync(_ failure: FolderFailure) throws(UploadError) {
    let length = try failure.doing("sync a file") { () throws(SystemError) in
      try file.withFile { file throws(SystemError) in
        try file.sync()
        try Failpoint.temporarySynced.reach()
        file.dropCache()
        return try file.length()
      }
    }
    if length == size { return }
    throw UploadError(
      .verificationFailed,
      "the store \(failure.store) does not hold all bytes of \(key) after the sync: check its file system")
  }

  /// Gives the file its name in `root`, atomically and without replacing another.
  func name(in root: Descriptor, _ failure: FolderFailure) throws(UploadError) {
    try rethrowing(
      as: { $0.code == EEXIST ? failure.taken(key) : failure($0, "name a file") }
    ) { () throws(SystemError) in
      let isExclusive = try file.withFile { file throws(SystemError) in
        try file.rename(to: key.rawValue, in: root.rawValue)
      }
      if !isExclusive { file.store.namesByReplacing() }
      try Failpoint.objectNamed.reach()
    }
  }

  /// Gives the file its name in `root`, atomically replacing the file that has it.
  func replace(in root: Descriptor, _ failure: FolderFailure) throws(UploadError) {
    try failure.doing("name a file") { () throws(SystemError) in
      try file.withFile { file throws(SystemError) in
        try file.replace(key.rawValue, in: root.rawValue)
      }
      try Failpoint.objectReplaced.reach()
    }
  }
}

extension FolderFailure {
  func taken(_ key: ObjectKey) -> UploadError {
    UploadError(.alreadyExists, "the store \(store) has an object named \(key) already")
  }
}

/// Copies a source into an open file, and proves that the bytes match the source's digest.
struct SourceCopy {
  let source: UploadSource
  let target: Int32
  let failure: FolderFailure
  let cancellation: CancellationFlag
  let reporting: @Sendable (TransferProgress) -> Void

  /// The least number of bytes between two reports, except before the last.
  private static let reportEvery: Int64 = 1 << 20
  private static let bufferSize = 1 << 20

  /// Copies everything. On return exactly `source.size` bytes have been written, and they have the source's digest.
  func run() throws(UploadError) {
    if source.size == 0 { report(0) }
    try copyThroughHash()
    try source.checkUnchanged()
  }

  /// Starts writing to disk what was copied, so that the later sync has little left to wait for. It is only a hint, so
  /// the result is ignored.
  private func beginWriting(_ count: Int64, from offset: Int64) {
    _ = reel_start_writing(target, off_t(offset), off_t(count))
  }

  private func copyThroughHash() throws(UploadError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(Int64(Self.bufferSize), source.size.addingClamped(1))), alignment: 4096)
    defer { buffer.deallocate() }
    var hash = SHA256()
    var sent: Int64 = 0
    var reported: Int64 = 0
    while true {
      try cancellation.check()
      let count = try source.read(into: buffer, at: sent)
      if count == 0 { break }
      let chunk = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if sent + Int64(count) > source.size { throw UploadError.changed(source, "it grew") }
      hash.update(bufferPointer: chunk)
      try write(chunk, at: sent)
      sent += Int64(count)
      if sent - reported >= Self.reportEvery || sent == source.size {
        beginWriting(sent - reported, from: reported)
        report(sent)
        reported = sent
      }
    }
    if sent < source.size { throw UploadError.changed(source, "it shrank") }
    if hash.finalize() != source.digest.bytes { throw UploadError.changed(source, "its bytes differ") }
  }

  private func write(_ chunk: UnsafeRawBufferPointer, at offset: Int64) throws(UploadError) {
    try failure.doing("write") { () throws(SystemError) in
      var done = 0
      while done < chunk.count {
        done += try retryingInterrupts("pwrite") {
          pwrite(
            target, chunk.baseAddress?.advanced(by: done), chunk.count - done, off_t(offset) + off_t(done))
        }
        try Failpoint.bytesWritten.reach()
      }
    }
  }

  private func report(_ sent: Int64) {
    reporting(TransferProgress(sent: sent, total: source.size))
  }
}
