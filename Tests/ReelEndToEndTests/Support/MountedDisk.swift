import Foundation
import Glibc
import ReelTestServers

/// A real file system of some megabytes in a file, for tests that may mount one.
final class MountedDisk: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    /// With blocks of 1 kB, four to a page of memory.
    case ext4SmallBlocks = "ext4 with blocks of 1 kB"
    case ext4
    case btrfs
    case tmpfs

    fileprivate var size: Int { self == .btrfs ? 120 << 20 : 16 << 20 }

    fileprivate var maker: [String]? {
      switch self {
      case .ext4SmallBlocks: ["mkfs.ext4", "-q", "-b", "1024"]
      case .ext4: ["mkfs.ext4", "-q", "-b", "4096"]
      case .btrfs: ["mkfs.btrfs", "-q"]
      case .tmpfs: nil
      }
    }
  }

  private struct NotMounted: Error {
    let why: String
  }

  let folder: URL
  private let image: URL
  private var filler: String { folder.appendingPathComponent("filler").path }

  init(_ kind: Kind) throws {
    let base = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-mounted-\(UUID().uuidString)")
    folder = base.appendingPathComponent("disk")
    image = base.appendingPathComponent("image")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard let maker = kind.maker else {
      try Self.run(["mount", "-t", "tmpfs", "-o", "size=\(kind.size),mode=700", "tmpfs", folder.path])
      return
    }
    _ = FileManager.default.createFile(atPath: image.path, contents: nil)
    try FileHandle(forWritingTo: image).truncate(atOffset: UInt64(kind.size))
    do {
      try Self.run(maker + [image.path])
      try Self.run(["mount", "-o", "loop", image.path, folder.path])
    } catch {
      try? FileManager.default.removeItem(at: base)
      throw error
    }
  }

  deinit {
    umount2(folder.path, Int32(MNT_DETACH))
    try? FileManager.default.removeItem(at: folder.deletingLastPathComponent())
  }

  /// The kinds that this process may make and mount here.
  static let possible = Kind.allCases.filter { (try? MountedDisk($0)) != nil }

  /// The names of the kinds that are not available, for the reason why they are skipped.
  static let missing = Kind.allCases.filter { !possible.contains($0) }.map(\.rawValue)

  /// Fills the disk up to the last `rest` bytes.
  func fill(leaving rest: Int) throws {
    let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    // Data in transit to the disk takes up space only once it arrives.
    for size in [65_536, 1024, 1024] {
      let bytes = [UInt8](repeating: 0xA5, count: size)
      while write(file, bytes, size) > 0 {}
      sync()
    }
    var facts = stat()
    fstat(file, &facts)
    if rest > 0 { ftruncate(file, max(0, facts.st_size - off_t(rest))) }
    sync()
  }

  func free() {
    unlink(filler)
    sync()
  }

  private static func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] + words
    let errors = try Spawning.alone {
      let errors = Pipe()
      process.standardError = errors
      try process.run()
      return errors
    }
    let said = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw NotMounted(why: words.joined(separator: " ") + ": " + String(decoding: said, as: UTF8.self))
    }
  }
}
