import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// No number in a reply of Google's servers traps.
@Suite(.shortTime) struct ExtremeNumberTests {
  @Test("offsets of uploads and sizes of objects may be extreme")
  func storage() async throws {
    let key = try #require(ObjectKey("k.mp4"))
    let bucket = try StorageBucket(
      "my-app", emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 9199))
    for text in Extremes.texts where !text.contains("\u{0}") {
      let quoted = text.replacing("\"", with: "")
      let object =
        "{\"name\":\"\(key)\",\"size\":\"\(quoted)\",\"generation\":\"\(quoted)\",\"crc32c\":\"\(quoted)\"}"
      for range in ["bytes=0-\(text)", "bytes=\(text)-\(text)", text] {
        for stands in [false, true] {
          let transport = ScriptedTransport { sent in
            switch sent.call.method {
            case .get where !stands: return HTTPReply(status: .notFound)
            case .get: return HTTPReply(status: .ok, body: Array(object.utf8))
            case .put: return HTTPReply(status: .init(code: 308), fields: [.range: range])
            case .delete: return HTTPReply(status: .noContent)
            default: return HTTPReply(status: .ok, fields: [.location: "/upload?id=1"])
            }
          }
          let uploader = FirebaseUploader(
            bucket, transport: transport, tokens: EmulatorToken(), checkpoints: MemoryCheckpoints())
          #expect(
            (try? await uploader.upload(TestSource(size: 9).upload, to: key) { _ in }) == nil, "\(text)")
          if let found = try? await uploader.find(key) { #expect(found.size >= 0) }
          _ = try? await uploader.readBack(key)
          for sent in transport.calls {
            #expect(HTTPTimeouts().limit(for: sent.call, at: nil, received: 0) <= .seconds(600), "\(text)")
          }
        }
      }
    }
  }

  @Test("numbers and times of documents and tokens may be extreme")
  func documents() throws {
    for text in Extremes.texts + Extremes.times where !text.contains("\u{0}") {
      for kind in ["integerValue", "timestampValue", "doubleValue", "stringValue"] {
        for value in ["\"\(text)\"", text] {
          _ = try? JSONDecoder().decode(FirestoreValue.self, from: Data("{\"\(kind)\":\(value)}".utf8))
        }
      }
    }
    for seconds in Extremes.doubles {
      _ = try JSONEncoder().encode(FirestoreValue.timestamp(Date(timeIntervalSince1970: seconds)))
    }
  }
}
