import Foundation
import Glibc
import ReelTerminal
import Testing

@Suite("A file that is written as a whole")
struct WholeFileTests {
  @Test("goes to an open file that has no name any more, and makes no other one")
  func unnamed() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("whole-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("gone")
    try Data("what stood there, and is longer".utf8).write(to: file)
    let handle = try FileHandle(forUpdating: file)
    try FileManager.default.removeItem(at: file)
    let whole = try WholeFile(at: "/dev/fd/\(handle.fileDescriptor)")
    try whole.write("written")
    try whole.finish(durably: false)
    #expect(try handle.readToEnd() == Data("written".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    #expect(!WholeFile.isWrittenAside("/dev/fd/\(handle.fileDescriptor)"))
  }

  @Test("takes the place of a file by its own name and by that of an open file")
  func named() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("whole-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("out")
    try Data("before".utf8).write(to: file)
    for isByNumber in [false, true] {
      let handle = try FileHandle(forReadingFrom: file)
      let path = isByNumber ? "/dev/fd/\(handle.fileDescriptor)" : file.path
      #expect(WholeFile.isWrittenAside(path))
      let whole = try WholeFile(at: path)
      try whole.write(path)
      try whole.finish(durably: true)
      #expect(try String(contentsOf: file, encoding: .utf8) == path)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["out"])
  }
}
