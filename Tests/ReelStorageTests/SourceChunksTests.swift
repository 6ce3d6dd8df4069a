import ReelCore
import ReelStorage
import ReelTestSupport
import Testing

@Suite struct SourceChunksTests {
  private func chunks(_ source: UploadSource, _ size: Int) async throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    for try await chunk in SourceChunks(of: source, size: size) { all.append(chunk) }
    return all
  }

  @Test(
    "all chunks but the last are full",
    arguments: [
      (0, 4, []), (1, 4, [1]), (4, 4, [4]), (9, 4, [4, 4, 1]), (3, 1, [1, 1, 1]), (2, 0, [1, 1]),
    ])
  func sizes(_ count: Int, _ size: Int, _ expected: [Int]) async throws {
    let bytes = (0..<count).map { UInt8($0) }
    let chunks = try await chunks(.of(bytes), size)
    #expect(chunks.map(\.count) == expected)
    #expect(Array(chunks.joined()) == bytes)
  }

  @Test(
    "the last chunk never comes from a source whose content is not as declared",
    arguments: [[1, 2, 3, 4, 5, 6, 7, 9], [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8, 9], []] as [[UInt8]]
  )
  func changed(_ actual: [UInt8]) async throws {
    let claimed = try UploadSource.of([1, 2, 3, 4, 5, 6, 7, 8])
    let source = UploadSource(
      size: claimed.size, digest: claimed.digest, contentType: "video/mp4", bytes: MemoryBytes(bytes: actual))
    var seen = 0
    await #expect(throws: UploadError.self) {
      for try await chunk in SourceChunks(of: source, size: 4) { seen += chunk.count }
    }
    #expect(seen < 8)
  }

  @Test(
    "bytes are hashed even if the source claims to be unchanged",
    arguments: [true, false])
  func unseenChange(_ isPrivate: Bool) async throws {
    let claimed = try UploadSource.of([1, 2, 3, 4])
    let source = UploadSource(
      size: claimed.size, digest: claimed.digest, contentType: "video/mp4",
      bytes: AskedBytes(base: MemoryBytes(bytes: [1, 2, 3, 9]), isPrivate: isPrivate, hasChanged: false))
    var all: [UInt8] = []
    let code = await uploadCode { for try await chunk in SourceChunks(of: source, size: 2) { all += chunk } }
    #expect(all == [1, 2])
    #expect(code == .sourceChanged)
  }

  @Test("a source that reports a change fails the upload")
  func shownChange() async throws {
    let claimed = try UploadSource.of([1, 2, 3, 4])
    let source = UploadSource(
      size: claimed.size, digest: claimed.digest, contentType: "video/mp4",
      bytes: AskedBytes(base: MemoryBytes(bytes: [1, 2, 3, 4]), isPrivate: true, hasChanged: true))
    let code = await uploadCode { for try await _ in SourceChunks(of: source, size: 2) {} }
    #expect(code == .sourceChanged)
  }

  /// Bytes that report whether they changed.
  private struct AskedBytes: ByteSource {
    let base: MemoryBytes
    let descriptor: Int32? = nil
    let isPrivate: Bool
    let hasChanged: Bool

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
      try base.read(into: buffer, at: offset)
    }

    func checkUnchanged() throws(SourceError) {
      if hasChanged { throw SourceError(.sourceChanged, "changed (a test)") }
    }
  }
}
