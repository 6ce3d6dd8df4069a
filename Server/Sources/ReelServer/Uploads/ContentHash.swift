import Crypto
import Glibc
import Reel

/// What the first bytes of an upload hash to.
struct ContentHash: Sendable {
  /// How many bytes.
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
  /// Bytes that are read before somebody else's turn at the disk.
  private static let turn: Int64 = 8 << 20

  /// Goes on with `hash` by what is on disk: up to `end`, or for a turn.
  /// - Throws: a 404 where there are not so many bytes.
  func hash(going hash: ContentHash, to end: Int64) throws(Problem) -> ContentHash {
    // SMB, and some NFS servers, sync only for whoever may write.
    let received = try Disk.opened(path, O_RDWR)
    let found = received == nil ? try Disk.opened(wholePath, O_RDONLY) : received
    guard let file = found else { throw .noSuchUpload }
    // What is sealed was on disk before, and may be a post.
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

  /// A dead process may have written what the disk would not take: it is in memory, where it can be read, and not said twice.
  /// So it goes.
  private func sync(_ file: OpenFile) throws(Problem) {
    while fdatasync(file.number) != 0 {
      let code = errno
      if code == EINTR { continue }
      if [EIO, ENOSPC, EDQUOT].contains(code) { remove() }
      throw Problem(errno: code, in: "fdatasync")
    }
  }
}
