import ReelHTTPFakes
import ReelStorage
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("the body on its way to the thread that sends it")
struct BodyFeedTests {
  @Test("what was sent is reported, however soon the reply to it ends the request", arguments: [1, 3])
  func reported(_ chunks: Int) async throws {
    let source = TestSource(size: chunks * SourceBodyChunks.chunkSize - 7)
    let sent = SentBytes()
    let (feed, buffer) = (BodyFeed(), Buffer())
    // Plays the sending thread: takes each piece the moment it is there, and gives up the feed after the last.
    @Sendable func take() {
      while true {
        switch feed.take(into: buffer.room, wake: take) {
        case .bytes(let count):
          if buffer.count(count) == source.upload.size { feed.abandon() }
          if count == 0 { return }
        case .notYet, .failed: return
        }
      }
    }
    take()
    await feed.read(SourceBody(whole: source.upload) { sent.add($0) }, nil)
    #expect(buffer.count(0) == source.upload.size)
    #expect(sent.all.last == source.upload.size)
  }

  @Test("a reader whose piece is not taken ends with the request")
  func abandoned() async {
    let source = TestSource(size: 3 * SourceBodyChunks.chunkSize)
    let sent = SentBytes()
    let feed = BodyFeed()
    feed.abandon()
    await feed.read(SourceBody(whole: source.upload) { sent.add($0) }, nil)
    #expect(sent.all.isEmpty)
  }

  /// Where the bytes go; how many there were.
  private final class Buffer: Sendable {
    nonisolated(unsafe) let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    private let taken = Mutex<Int64>(0)

    deinit { room.deallocate() }

    /// Counts `more` bytes, and returns how many there were in all.
    func count(_ more: Int) -> Int64 {
      taken.withLock {
        $0 += Int64(more)
        return $0
      }
    }
  }
}
