import Crypto
import Glibc
import Reel

/// The hash of the first bytes of an upload.
struct ContentHash: Sendable {
  /// The number of bytes hashed.
  private(set) var count: Int64 = 0
  private var hash = SHA256()

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    hash.update(bufferPointer: bytes)
    count += Int64(bytes.count)
  }

  func digest() throws(Problem) -> ContentDigest {
    guard let digest = ContentDigest(sha256: hash.digestBytes()) else {
      throw Problem(.internalServerError, "unexpected", "a SHA-256 has another length")
    }
    return digest
  }
}

extension UploadFiles {
  /// The number of bytes to read before another upload gets its turn at the disk.
  private static let turn: Int64 = 8 << 20

  /// Continues `hash` with the bytes on disk, up to `end` or for one turn.
  /// - Throws: a 404 where there are not as many bytes.
  func hash(going hash: ContentHash, to end: Int64) throws(Problem) -> ContentHash {
    // On SMB and some NFS servers, only a descriptor that may write can sync.
    let received = try Disk.opened(path, O_RDWR)
    let found = received == nil ? try Disk.opened(wholePath, O_RDONLY) : received
    guard let file = found else { throw .noSuchUpload }
    // A sealed file was synced before, and may be a post.
    if received != nil { try sync(file) }
    var hash = hash
    let end = min(end, hash.count + Self.turn)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4_096)
    defer { buffer.deallocate() }
    while hash.count < end {
      let count = try Disk.call("pread") {
        pread(file.number, buffer.baseAddress, min(buffer.count, Int(end - hash.count)), off_t(hash.count))
      }
      guard count > 0 else { throw .noSuchUpload }
      hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return hash
  }

  /// Syncs the file. A dead process may have written bytes that the disk did not accept. They can still be read from
  /// memory, and the error is not reported again, so such an upload is removed now.
  private func sync(_ file: OpenFile) throws(Problem) {
    while fdatasync(file.number) != 0 {
      let code = errno
      if code == EINTR { continue }
      if [EIO, ENOSPC, EDQUOT].contains(code) { remove() }
      throw Problem(errno: code, in: "fdatasync")
    }
  }
}
