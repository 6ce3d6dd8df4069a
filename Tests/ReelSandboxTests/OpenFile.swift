import Glibc
import ReelCore

/// A temporary folder with files in it, removed with this value.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/reel-sandbox-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SourceError(.unreadable, "no temporary folder") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      unlink("\(path)/\(name)")
    }
    closedir(folder)
    rmdir(path)
  }

  /// Writes a file and opens it for reading.
  func file(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws -> SourceFile {
    try write(name, bytes, mode: mode)
    return try open(name)
  }

  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws {
    let descriptor = Glibc.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    defer { close(descriptor) }
    guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SourceError(.unreadable, "\(name) could not be written")
    }
  }

  /// Replaces the first bytes of a file with `bytes` in one write.
  func overwrite(_ name: String, _ bytes: [UInt8]) throws {
    let descriptor = Glibc.open("\(path)/\(name)", O_WRONLY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SourceError(.unreadable, "\(name) could not be written")
    }
  }

  /// Writes a shell script that can be executed at once.
  ///
  /// It is copied with `cp`: a file that this process has open for writing is also open in a child that another test
  /// is starting, until the child's exec, and the kernel refuses to execute a file that is open for writing
  /// (`ETXTBSY`).
  func script(_ name: String, _ commands: String) throws {
    try write("\(name).text", Array("#!/bin/sh\n\(commands)\n".utf8), mode: 0o700)
    guard try Program.run(at: "/bin/cp", ["\(path)/\(name).text", "\(path)/\(name)"]) == 0 else {
      throw SourceError(.unreadable, "\(name) could not be copied")
    }
  }

  func open(_ name: String) throws -> SourceFile {
    try Self.open("\(path)/\(name)")
  }

  static func open(_ path: String) throws -> SourceFile {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    var facts = stat()
    guard descriptor >= 0, fstat(descriptor, &facts) == 0 else {
      throw SourceError(.notFound, "\(path) could not be opened")
    }
    let identity = FileIdentity(
      device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size), modifiedAt: 0,
      changedAt: 0)
    return SourceFile(
      path: SourcePath(path), identity: identity, handle: OpenFile(raw: descriptor, identity: identity))
  }
}

/// A handle on a descriptor.
final class OpenFile: SourceHandle {
  let raw: Int32
  private let identity: FileIdentity

  init(raw: Int32, identity: FileIdentity) {
    self.raw = raw
    self.identity = identity
  }

  deinit {
    close(raw)
  }

  var descriptor: Int32? { raw }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let count = pread(raw, buffer.baseAddress, buffer.count, off_t(offset))
    guard count >= 0 else { throw SourceError(.unreadable, "it could not be read") }
    return count
  }

  func currentIdentity() throws(SourceError) -> FileIdentity { identity }
}

/// The first bytes of an MP4, enough for the sniffer.
let smallMP4: [UInt8] =
  [0, 0, 0, 24] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8)
  + [0, 0, 0, 8] + Array("moov".utf8)
