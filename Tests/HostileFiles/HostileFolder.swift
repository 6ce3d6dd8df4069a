import Foundation
import Glibc

/// Writes hostile files into a folder, whatever their names.
public enum HostileFolder {
  /// A file that could not be made.
  public struct Failure: Error {
    /// Where it was to be.
    public let path: String
    /// The system's error message.
    public let reason: String
  }

  /// Writes the files, each into the folder of its group.
  /// - Throws: ``Failure``.
  public static func write(_ files: [HostileFile], into folder: URL) throws {
    for group in Set(files.map(\.group)) {
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent(group), withIntermediateDirectories: true)
    }
    for file in files {
      let path = Array(folder.path.utf8) + [UInt8(ascii: "/")] + file.path
      guard (path + [0]).withUnsafeBytes({ make(file.body, at: $0) }) == 0 else {
        throw Failure(path: String(decoding: path, as: UTF8.self), reason: String(cString: strerror(errno)))
      }
    }
  }

  /// - Returns: 0, or -1 with `errno`.
  private static func make(_ body: HostileFile.Body, at path: UnsafeRawBufferPointer) -> Int32 {
    guard let path = path.bindMemory(to: CChar.self).baseAddress else { return -1 }
    switch body {
    case .bytes(let bytes): return write(bytes, tail: [], size: nil, to: path)
    case .sparse(let bytes, let tail, let size): return write(bytes, tail: tail, size: size, to: path)
    case .pipe: return mkfifo(path, 0o600)
    case .socket: return mknod(path, S_IFSOCK | 0o600, 0)
    case .device(let major, let minor): return mknod(path, S_IFCHR | 0o600, makedev(major, minor))
    case .link(let target): return symlink(target, path)
    case .folder: return mkdir(path, 0o700)
    }
  }

  private static func write(_ bytes: [UInt8], tail: [UInt8], size: Int64?, to path: UnsafePointer<CChar>)
    -> Int32
  {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return -1 }
    defer { close(descriptor) }
    guard put(bytes, at: 0, in: descriptor) else { return -1 }
    guard let size else { return 0 }
    guard ftruncate(descriptor, off_t(size)) == 0 else { return -1 }
    return put(tail, at: size - Int64(tail.count), in: descriptor) ? 0 : -1
  }

  private static func put(_ bytes: [UInt8], at offset: Int64, in descriptor: Int32) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
      }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// The kernel's numbering of devices, as `makedev(3)` has it for small numbers.
  private static func makedev(_ major: UInt32, _ minor: UInt32) -> dev_t {
    dev_t(major << 8 | minor)
  }
}
