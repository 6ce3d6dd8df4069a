import Glibc
import ReelCore
import ReelCrypto

/// A file of a folder store, open for reading.
struct StoredFile: Sendable {
  let key: ObjectKey
  /// Bytes.
  let size: Int64
  private let descriptor: Descriptor

  /// Nil when there is none. No link is followed, and nothing that could hang is waited for.
  /// - Throws: `conflict` when something else than a file has that name; `denied` when it can't be read.
  static func open(
    _ key: ObjectKey, in root: Descriptor, _ failure: FolderFailure
  ) throws(UploadError) -> StoredFile? {
    do throws(SystemError) {
      let raw = try retryingInterrupts("openat") {
        openat(root.rawValue, key.rawValue, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      }
      let descriptor = Descriptor(adopting: raw)
      var status = stat()
      _ = try retryingInterrupts("fstat") { fstat(raw, &status) }
      if status.st_mode & S_IFMT == S_IFREG {
        return StoredFile(key: key, size: Int64(status.st_size), descriptor: descriptor)
      }
    } catch  where error.code == ENOENT {
      return nil
    } catch  where error.code != ELOOP && error.code != ENXIO {
      throw failure.object(key, error, "open")
    } catch {
    }
    throw notAFile(key, failure)
  }

  /// Removes the file of that name; nothing happens when there is none.
  static func remove(
    _ key: ObjectKey, from root: Descriptor, _ failure: FolderFailure
  ) throws(UploadError) {
    do throws(SystemError) {
      _ = try retryingInterrupts("unlinkat") { unlinkat(root.rawValue, key.rawValue, 0) }
      try Failpoint.objectRemoved.reach()
    } catch  where error.code == ENOENT {
    } catch  where error.code == EISDIR {
      throw notAFile(key, failure)
    } catch {
      throw failure.object(key, error, "remove")
    }
  }

  /// The digest of the bytes as they are read now. Blocks.
  func digest(
    _ failure: FolderFailure, _ cancellation: CancellationFlag
  ) throws(UploadError) -> ContentDigest? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var hash = SHA256()
    var offset: off_t = 0
    while true {
      try cancellation.check()
      do throws(SystemError) {
        let count = try retryingInterrupts("pread") {
          pread(descriptor.rawValue, buffer.baseAddress, buffer.count, offset)
        }
        if count == 0 { return ContentDigest(sha256: hash.finalize()) }
        hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        offset += off_t(count)
      } catch {
        throw failure.object(key, error, "read")
      }
    }
  }

  private static func notAFile(_ key: ObjectKey, _ failure: FolderFailure) -> UploadError {
    UploadError(
      .conflict,
      "\(key) in the store \(failure.store) is not a file of Reel's: see what it is, and move it away")
  }
}
