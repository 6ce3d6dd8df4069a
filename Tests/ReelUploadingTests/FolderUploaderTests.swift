import Crypto
import FoundationEssentials
import Glibc
import ReelModel
import ReelSystem
import ReelUploading
import Testing

struct Held: ByteSource {
  let held: [UInt8]
  let descriptor: Int32? = nil
  let changesShow = false
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let rest = held.dropFirst(Int(offset)).prefix(buffer.count)
    buffer.copyBytes(from: rest)
    return rest.count
  }
  func checkUnchanged() throws(SourceError) {}
}

@Test func smoke() async throws {
  let folder = try TemporaryFolder()
  let uploader = FolderUploader(root: folder.path(of: "a/ä b"))
  print(uploader.destination)
  try await uploader.prepare()
  let bytes = [UInt8](repeating: 7, count: 3_000_000)
  let source = UploadSource(
    size: 3_000_000, digest: try #require(ContentDigest(sha256: SHA256.hash(data: bytes))),
    contentType: "video/mp4",
    bytes: Held(held: bytes))
  let key = try #require(ObjectKey("abc.mp4"))
  let object = try await uploader.upload(source, to: key) { print($0.sent) }
  print(object)
  #expect(try await uploader.readBack(key) == source.digest)
  #expect(try await uploader.find(key)?.size == 3_000_000)
  print(try folder.names(in: "a/ä b"), try folder.names(in: "a/ä b/.reel-tmp"))
  await #expect(throws: UploadError.self) { try await uploader.upload(source, to: key) { _ in } }
  try await uploader.remove(key)
  #expect(try await uploader.find(key) == nil)
}
