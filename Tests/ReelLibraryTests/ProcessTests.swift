import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

/// The same with real processes: each `processExitsWith` body runs in one of its own.
@Suite struct ProcessTests {
  @Test func whatAKilledProcessHeldGoesOnAtOnce() async throws {
    let temporary = try await TemporaryLibrary()
    let path = temporary.library.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let catalog = try await SQLiteCatalog.open(library: try await LibraryFolder.prepare(at: path))
      let sketch = Sketch(seed: 1)
      let told = sketch.request(sketch.publication())
      let untold = sketch.request(sketch.publication())
      let begun = sketch.request(sketch.publication())
      if let post = try await catalog.publish(told, with: sketch) { await catalog.announced([post.id]) }
      _ = try await catalog.publish(untold, with: sketch)
      _ = try await catalog.claim(begun)
      kill(getpid(), SIGKILL)
    }
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let sketch = Sketch(seed: 1)
    let told = sketch.request(sketch.publication())
    let untold = sketch.request(sketch.publication())
    let begun = sketch.request(sketch.publication())
    #expect(try await catalog.claim(told).post?.announced == true)
    #expect(try await catalog.claim(untold).post?.announced == false)
    let intent = try #require(try await catalog.claim(sketch.request(begun.publication)).intent)
    #expect(intent.id == begun.newID)
    #expect(intent.attempt == 2)
    #expect(try await catalog.status().posts == 2)
    try await catalog.close()
    // A process forked by another test may have held the dead one's lock for a moment. Then the next opening removes
    // it.
    try await SQLiteCatalog.open(library: temporary.library).close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.library.temporaryPath).isEmpty)
  }

  /// Two processes publish the same hundred videos, and one of them dies at some point. Each video gets one post.
  @Test(arguments: 0..<6)
  func twoProcessesPublishEachOnce(round: Int) async throws {
    let temporary = try await TemporaryLibrary()
    let path = temporary.library.path
    let delay = round * 12_000
    await withTaskGroup { group in
      group.addTask {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, delay = delay as Int] in
          let library = try await LibraryFolder.prepare(at: path)
          Thread.detachNewThread {
            usleep(UInt32(delay + 30_000))
            kill(getpid(), SIGKILL)
          }
          try await publishHundred(in: library, seed: 1)
          try await Task.sleep(for: .seconds(60))
        }
      }
      group.addTask {
        await #expect(processExitsWith: .success) { [path = path as String] in
          try await publishHundred(in: try await LibraryFolder.prepare(at: path), seed: 2)
        }
      }
    }
    try await publishHundred(in: temporary.library, seed: 3)
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let posts = try await catalog.posts(from: 1, count: 1000)
    #expect(posts.map(\.pageNumber) == Array(1...100))
    #expect(Set(posts.map(\.digest)).count == 100)
    #expect(Set(posts.map(\.video)).count == 100)
    let status = try await catalog.status()
    #expect(status.posts == 100)
    #expect(status.unfinished == 0)
    try await catalog.close()
  }
}

/// Publishes the same hundred videos as every other caller, under different names, sixteen at a time.
private func publishHundred(in library: LibraryFolder, seed: UInt64) async throws {
  let catalog = try await SQLiteCatalog.open(library: library)
  let digests = Sketch(seed: 77)
  let publications = (0..<100).map { _ in digests.publication() }
  let sketch = Sketch(seed: seed)
  try await withThrowingTaskGroup(of: Void.self) { group in
    for start in 0..<16 {
      group.addTask {
        for publication in publications.dropFirst(start).enumerated() where publication.offset % 16 == 0 {
          try await publishOnce(publication.element, into: catalog, with: sketch)
        }
      }
    }
    try await group.waitForAll()
  }
  try await catalog.close()
}

/// Publishes the video unless it has a post already, and waits while another process is publishing it.
private func publishOnce(
  _ publication: Publication, into catalog: SQLiteCatalog, with sketch: Sketch
) async throws {
  while true {
    switch try await catalog.claim(sketch.request(publication)) {
    case .granted(let intent):
      _ = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      return
    case .published, .removed: return
    case .held: try await Task.sleep(for: .milliseconds(5))
    }
  }
}
