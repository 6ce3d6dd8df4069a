import Glibc
import Testing

@testable import ReelSource

/// Names from the kernel, which may be longer than `NAME_MAX` on file systems that count in UTF-16.
@Suite struct NameListTests {
  @Test(arguments: [1, 3, 255, 256, 300, 765])
  func aNameIsAsLongAsItsEntry(_ length: Int) throws {
    let offset = try #require(MemoryLayout<dirent>.offset(of: \.d_name))
    let room = (offset + length + 1 + 7) / 8 * 8
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(room, MemoryLayout<dirent>.size), alignment: 8)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    for index in 0..<length { memory[offset + index] = UInt8(ascii: "n") }
    let entry = try #require(memory.baseAddress).assumingMemoryBound(to: dirent.self)
    entry.pointee.d_reclen = UInt16(room)
    #expect(NameList.name(of: entry).elementsEqual(Array(repeating: UInt8(ascii: "n"), count: length)))
  }

  /// Nothing beyond the entry is read.
  @Test func anEntryWithoutAnEndEndsWithItself() throws {
    let offset = try #require(MemoryLayout<dirent>.offset(of: \.d_name))
    var entry = dirent()
    withUnsafeMutableBytes(of: &entry.d_name) { name in for index in name.indices { name[index] = 0x6E } }
    entry.d_reclen = UInt16(offset + 5)
    #expect(NameList.name(of: &entry).count == 5)
    entry.d_reclen = 0
    #expect(NameList.name(of: &entry).count == 0)
  }
}
