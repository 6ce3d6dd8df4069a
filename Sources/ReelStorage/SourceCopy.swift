import CReel
import Glibc
import ReelCore
import ReelCrypto

/// Copies a source into an open file and proves that the bytes are those of its digest.
struct SourceCopy {
  let source: UploadSource
  let target: Int32
  let failure: FolderFailure
  let cancellation: CancellationFlag
  let reporting: @Sendable (TransferProgress) -> Void

  /// Bytes between two reports, at least; the last one comes whenever it comes.
  private static let reportEvery: Int64 = 1 << 20
  private static let bufferSize = 1 << 20

  /// Copies all of it. On return exactly `source.size` bytes were written, whose digest is the source's.
  func run() throws(UploadError) {
    if source.size == 0 { report(0) }
    try copyThroughHash()
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(error)
    }
  }

  /// Has the disk begin with what was copied, so that the sync that comes later finds little left to wait for. Only
  /// a hint: what the kernel says to it changes nothing.
  private func beginWriting(_ count: Int64, from offset: Int64) {
    _ = reel_start_writing(target, off_t(offset), off_t(count))
  }

  private func copyThroughHash() throws(UploadError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(Int64(Self.bufferSize), source.size + 1)), alignment: 4096)
    defer { buffer.deallocate() }
    var hash = SHA256()
    var sent: Int64 = 0
    var reported: Int64 = 0
    while true {
      try cancellation.check()
      let count = try read(into: buffer, at: sent)
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

  private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(UploadError) -> Int {
    do throws(SourceError) {
      return try source.bytes.read(into: buffer, at: offset)
    } catch {
      throw UploadError(error)
    }
  }

  private func write(_ chunk: UnsafeRawBufferPointer, at offset: Int64) throws(UploadError) {
    var done = 0
    while done < chunk.count {
      do throws(SystemError) {
        done += try retryingInterrupts("pwrite") {
          pwrite(
            target, chunk.baseAddress?.advanced(by: done), chunk.count - done, off_t(offset) + off_t(done))
        }
        try Failpoint.bytesWritten.reach()
      } catch {
        throw failure(error, "write")
      }
    }
  }

  private func report(_ sent: Int64) {
    reporting(TransferProgress(sent: sent, total: source.size))
  }
}
