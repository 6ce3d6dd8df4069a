import Foundation
import ReelCore
import ReelHTTPFakes
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

/// `reel probe` and `reel validate` with addresses, over a server that counts.
@Suite("sources by address", .shortTime)
struct AddressTests {
  static let environment = [
    "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
    "AWS_SESSION_TOKEN": "token-of-the-test",
  ]

  private static func sample(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: Workbench.sample(name)))
  }

  private static func text(_ object: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
  }

  private static func object(_ name: String, tag: String = "\"a\"") throws -> ObjectServer.Object {
    ObjectServer.Object(.bytes(try sample(name)), tag: tag)
  }

  private static func run(_ bench: Workbench, _ arguments: [String]) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: bench.folder, environment: environment)
  }

  @Test(
    "an object has the same facts as the file, whatever its container, and the bytes read are reported",
    arguments: [
      "faststart.mp4", "moov-at-end.mp4", "matroska.mkv", "transport.ts", "fragmented.mp4", "old.avi",
      "vp9.webm",
      "program.mpg", "theora.ogv", "windows.wmv", "studio.mxf", "flash.flv", "camcorder.m2ts",
    ])
  func sameFacts(_ name: String) async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(["bucket/a/\(name)": try Self.object("clips/\(name)")])
    let local = try await Self.run(bench, ["probe", "--json", Workbench.sample("clips/\(name)").path])
    for address in [
      "s3+http://127.0.0.1:\(server.port)/bucket/a/\(name)",
      "http://127.0.0.1:\(server.port)/bucket/a/\(name)?key=hidden",
    ] {
      let remote = try await Self.run(bench, ["probe", "--json", address])
      #expect(remote.status == 0, "\(remote)")
      var (here, there) = (try local.object(), try remote.object())
      #expect(there["path"] as? String == address.replacing("?key=hidden", with: ""))
      let read = try #require(there["read"] as? [String: Any])
      #expect((read["requests"] as? Int ?? 0) > 0 && (read["bytes"] as? Int ?? 0) > 0)
      for key in ["path", "read"] { (here[key], there[key]) = (nil, nil) }
      #expect(try Self.text(here) == Self.text(there))
    }
    #expect(local.output.contains("\"read\"") == false)
    await server.stop()
  }

  /// A file of 2 GB, most of it holes: an index of half an hour of video, and the first frames.
  private static func large(_ name: String, in folder: URL, indexFirst: Bool) throws -> (
    path: String, size: Int
  ) {
    let path = folder.appending(path: name).path
    let movie = try LargeMovie(indexFirst: indexFirst, in: folder)
    try movie.write(to: path, size: 2 << 30)
    return (path, 2 << 30)
  }

  @Test(
    "of 2 GB at most 1 MB is read, in 6 requests", .needsFFmpeg,
    arguments: [true, false])
  func large(_ indexFirst: Bool) async throws {
    let bench = try Workbench()
    let (path, size) = try Self.large("large.mp4", in: bench.folder, indexFirst: indexFirst)
    let server = try await ObjectServer.start(["bucket/large.mp4": .init(.file(path), tag: "\"large\"")])
    let outcome = try await Self.run(
      bench, ["probe", "--json", "s3://bucket/large.mp4", "--endpoint", "http://127.0.0.1:\(server.port)"])
    #expect(outcome.status == 0, "\(outcome)")
    let answer = try outcome.object()
    let media = try #require(answer["media"] as? [String: Any])
    #expect(media["size"] as? Int == size && media["fastStart"] as? Bool == indexFirst)
    #expect(media["truncated"] as? Bool == false && media["duration"] as? Double == 1800)
    #expect(server.requests.count <= 6 && server.sent <= 1_000_000, "\(server.requests.count) \(server.sent)")
    let read = try #require(answer["read"] as? [String: Any])
    #expect(read["requests"] as? Int == server.requests.count && read["bytes"] as? Int == server.sent)
    // Every later request requires the version that was seen first.
    #expect(server.requests.dropFirst().allSatisfy { $0.header("If-Match") == "\"large\"" })
    await server.stop()
  }

  @Test("reading more than allowed is a failure of its own, and the message names the flag")
  func budget() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(
      [
        "b.mp4": .init(
          .bytes(try Self.sample("clips/transport.ts") + [UInt8](repeating: 0, count: 1 << 20)), tag: "\"a\"")
      ])
    let outcome = try await Self.run(
      bench, ["probe", "--json", "http://127.0.0.1:\(server.port)/b.mp4", "--max-read", "64KiB"])
    #expect(outcome.status == 4, "\(outcome)")
    let error = try #require(try outcome.object()["error"] as? [String: Any])
    #expect(error["code"] as? String == "readLimit")
    #expect((error["message"] as? String)?.contains("--max-read") == true)
    #expect(server.sent <= 64 << 10 + 16)
    await server.stop()
  }

  @Test("an object that changes fails with sourceChanged", .needsFFmpeg)
  func changes() async throws {
    let bench = try Workbench()
    let large = try Self.large("large.mp4", in: bench.folder, indexFirst: false)
    let first = ObjectServer.Object(.file(large.path), tag: "\"one\"")
    let changing = Mutex<ObjectServer?>(nil)
    let server = try await ObjectServer.start(["bucket/a.mp4": first]) { request in
      guard request.header("If-Match") != nil else { return nil }
      // From the second request on, the object is another one.
      changing.withLock { $0?.set(.init(.file(large.path), tag: "\"two\""), at: "bucket/a.mp4") }
      return .reply(412, body: Array("<Error><Code>PreconditionFailed</Code></Error>".utf8))
    }
    changing.withLock { $0 = server }
    for address in [
      "s3+http://127.0.0.1:\(server.port)/bucket/a.mp4", "http://127.0.0.1:\(server.port)/bucket/a.mp4",
    ] {
      let outcome = try await Self.run(bench, ["probe", "--json", address])
      #expect(outcome.status == 3 && outcome.output.contains("\"sourceChanged\""), "\(outcome)")
      server.set(first, at: "bucket/a.mp4")
    }
    changing.withLock { $0 = nil }
    await server.stop()
  }

  struct Refusal: Sendable, CustomStringConvertible {
    let action: ServerAction
    let code: String
    let words: String
    var description: String { words }
  }

  @Test(
    "each refusal has its message, and none contains a secret",
    arguments: [
      Refusal(action: .reply(404), code: "notFound", words: "check it"),
      Refusal(action: .reply(403), code: "denied", words: "denies access to it"),
      Refusal(
        action: .reply(200, body: [UInt8](repeating: 0, count: 100_000)), code: "unreadable",
        words: "as a whole"),
      Refusal(
        action: .reply(302, headers: [("Location", "https://other.test/?sig=hidden")]), code: "unreadable",
        words: "follows no redirect"),
      Refusal(
        action: .reply(206, headers: [("Content-Range", "bytes 5-9/10")], body: [1, 2, 3, 4, 5]),
        code: "unreadable",
        words: "other bytes"),
      Refusal(action: .garbage, code: "unreadable", words: "HTTP"),
    ])
  func refusals(_ refusal: Refusal) async throws {
    let bench = try Workbench()
    let server = try await LoopbackServer.start { _ in refusal.action }
    let outcome = try await Self.run(
      bench, ["probe", "--json", "http://127.0.0.1:\(server.port)/a.mp4?X-Amz-Signature=hidden"])
    #expect(outcome.status == (refusal.code == "notFound" ? 1 : 3), "\(outcome)")
    let error = try #require(try outcome.object()["error"] as? [String: Any])
    #expect(error["code"] as? String == refusal.code, "\(outcome)")
    #expect((error["message"] as? String)?.contains(refusal.words) == true, "\(outcome)")
    #expect(!(outcome.output + outcome.errors).contains("hidden"))
    await server.stop()
  }

  @Test(
    "an unusable address is reported without what may be secret in it",
    arguments: [
      "https://user:hidden@host/a", "s3://key:hidden@bucket/a", "https://host/a#hidden", "s3://",
    ])
  func mistakes(_ address: String) async throws {
    let outcome = try await Self.run(try Workbench(), ["probe", address])
    #expect(outcome.status == 64 && outcome.errors.contains("can't be used"), "\(outcome)")
    #expect(!(outcome.output + outcome.errors).contains("hidden"))
  }

  @Test("plain http to another machine is refused")
  func plain() async throws {
    let outcome = try await Self.run(try Workbench(), ["probe", "http://198.51.100.7/a.mp4"])
    #expect(
      outcome.status == 3 && (outcome.errors + outcome.output).contains("not encrypted"), "\(outcome)")
  }

  @Test("a bucket is read like a folder, with its pages, filters and names")
  func folder() async throws {
    let bench = try Workbench()
    var objects: [String: ObjectServer.Object] = [:]
    for number in 0..<7 {
      objects["bucket/2026/clip \(number)+é.mp4"] = try Self.object("clips/faststart.mp4")
    }
    objects["bucket/2026/.hidden/a.mp4"] = try Self.object("clips/faststart.mp4")
    objects["bucket/2026/a/without-an-extension"] = try Self.object("clips/vp9.webm")
    objects["bucket/2026/a/notes"] = .init(.bytes(Array("a text".utf8)), tag: "\"t\"")
    objects["bucket/2026/notes.txt"] = .init(.bytes(Array("a text".utf8)), tag: "\"t\"")
    objects["bucket/2026/folder/"] = .init(.bytes([]), tag: "\"f\"")
    objects["bucket/2027/other.mp4"] = try Self.object("clips/faststart.mp4")
    let server = try await ObjectServer.start(objects, pageSize: 3)
    let address = "s3+http://127.0.0.1:\(server.port)/bucket/2026/"
    let outcome = try await Self.run(bench, ["probe", "--jsonl", address])
    #expect(outcome.status == 0, "\(outcome)")
    let names = outcome.output.split(separator: "\n").compactMap {
      try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }.compactMap { ($0["path"] as? String)?.dropFirst(address.count) }
    #expect(names == ["a/without-an-extension"] + (0..<7).map { "clip \($0)+é.mp4" })
    let filtered = try await Self.run(
      bench, ["validate", address, "--include", "clip [0-2]*", "--report", "json"])
    #expect(filtered.status == 0 || filtered.status == 4, "\(filtered)")
    #expect(filtered.output.contains("clip 2") && !filtered.output.contains("clip 3"), "\(filtered)")
    await server.stop()
  }

  @Test("no secret appears in messages, or in requests to other servers")
  func secrets() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(["bucket/a.mp4": try Self.object("clips/faststart.mp4")])
    let outcome = try await Self.run(
      bench,
      [
        "probe", "s3+http://127.0.0.1:\(server.port)/bucket/a.mp4",
        "http://127.0.0.1:\(server.port)/bucket/a.mp4",
      ])
    #expect(outcome.status == 0 && outcome.output.contains("request"), "\(outcome)")
    #expect(!(outcome.output + outcome.errors).contains("of-the-test"))
    let plain = server.requests.filter { $0.header("Authorization") == nil }
    #expect(plain.count == 1 && plain.allSatisfy { $0.header("x-amz-security-token") == nil })
    await server.stop()
  }
}

/// A movie of 30 minutes with most of its pictures and sound missing.
private struct LargeMovie {
  private let folder: URL
  private let indexFirst: Bool

  init(indexFirst: Bool, in folder: URL) throws {
    (self.indexFirst, self.folder) = (indexFirst, folder)
  }

  /// Writes a file made by ffmpeg, with its media data extended by zeros.
  func write(to path: String, size: Int) throws {
    let made = folder.appending(path: "made.mp4").path
    let flags = indexFirst ? ["-movflags", "+faststart"] : []
    try FFmpegProgram.output(
      [
        "-f", "lavfi", "-i", "color=c=blue:s=64x64:r=25:d=1800", "-f", "lavfi", "-i",
        "anullsrc=r=8000:cl=mono", "-t", "1800",
        "-c:v", "libx264", "-preset", "ultrafast", "-g", "250", "-c:a", "aac", "-b:a", "8k",
      ] + flags + [made])
    let bytes = Array(try Data(contentsOf: URL(filePath: made)))
    var (parts, offset): ([(type: String, range: Range<Int>)], Int) = ([], 0)
    while offset + 8 <= bytes.count {
      let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      guard length >= 8 else { break }
      parts.append(
        (String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self), offset..<offset + length))
      offset += length
    }
    let padding = size - bytes.count
    try Data().write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    for part in parts {
      var box = Array(bytes[part.range])
      if part.type == "mdat" {
        let length = UInt32(box.count + padding)
        box.replaceSubrange(0..<4, with: withUnsafeBytes(of: length.bigEndian) { Array($0) })
      }
      try file.write(contentsOf: box)
      if part.type == "mdat" { try file.seek(toOffset: file.offset() + UInt64(padding)) }
    }
    try file.truncate(atOffset: UInt64(size))
    try file.close()
  }
}
