import Foundation
import ReelTerminal
import ReelTestSupport
import Testing

@Suite("files that are written as a whole")
struct WholeFileTests {
  private let folder: TemporaryFolder
  private let file: URL
  private let handle: FileHandle
  private var number: String { "/dev/fd/\(handle.fileDescriptor)" }

  init() throws {
    folder = try TemporaryFolder()
    file = URL(filePath: folder.path(of: "out"))
    try Data("what stood there, and is longer than what is written".utf8).write(to: file)
    handle = try FileHandle(forUpdating: file)
  }

  private func write(_ text: String, to path: String) throws {
    let whole = try WholeFile(at: path)
    try whole.write(text)
    try whole.finish(durably: true)
  }

  @Test("an open file that no longer has a name is written in place, and no other file is created")
  func unnamed() throws {
    try FileManager.default.removeItem(at: file)
    #expect(!WholeFile.isWrittenAside(number))
    try write("written", to: number)
    #expect(try handle.readToEnd() == Data("written".utf8))
    #expect(try folder.names() == [])
  }

  @Test("a file is replaced both by its own name and by that of an open descriptor")
  func named() throws {
    for path in [number, file.path] {
      #expect(WholeFile.isWrittenAside(path))
      try write(path, to: path)
      #expect(try String(contentsOf: file, encoding: .utf8) == path)
      #expect(try folder.names() == ["out"])
      // The name now refers to another file.
      if path == number { #expect(!WholeFile.isWrittenAside(number)) }
    }
  }
}
