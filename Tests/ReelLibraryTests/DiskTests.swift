import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// Disks that are full or read-only.
@Suite(.needsMounting)
struct DiskTests {
  private let sketch = Sketch()

  @Test func aDiskThatFillsUpEndsTheRunAndNotTheCatalog() async throws {
    let disk = try #require(TinyDisk(kilobytes: 12_000))
    let catalog = try await SQLiteCatalog.open(library: try await LibraryFolder.prepare(at: disk.path + "/l"))
    var published: [Post] = []
    let error = await #expect(throws: CatalogError.self) {
      while true {
        if published.count == 100 { disk.fill() }
        let request = sketch.request(sketch.publication())
        if let post = try await catalog.publish(request, with: sketch) { published.append(post) }
      }
    }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains(disk.path) == true)
    #expect(published.count >= 100)
    disk.free()
    for _ in 0..<10 {
      let request = sketch.request(sketch.publication())
      published.append(try #require(try await catalog.publish(request, with: sketch)))
    }
    #expect(try await catalog.posts(from: 1, count: .max) == published)
    #expect(published.map(\.pageNumber) == Array(1...published.count))
    try await catalog.close()
  }

  @Test func aDiskThatIsFullFromTheStartIsSaid() async throws {
    let disk = try #require(TinyDisk(kilobytes: 400))
    disk.fill()
    await expect(.diskFull) {
      _ = try await SQLiteCatalog.open(library: try await LibraryFolder.prepare(at: disk.path + "/l"))
    }
    disk.free()
    let library = try await LibraryFolder.prepare(at: disk.path + "/l")
    disk.fill()
    await expect(.diskFull) { _ = try await SQLiteCatalog.open(library: library) }
    disk.free()
    try await SQLiteCatalog.open(library: library).close()
  }

  @Test func aReadOnlyDiskCanBeReadFrom() async throws {
    let disk = try #require(TinyDisk(kilobytes: 1200))
    let library = try await LibraryFolder.prepare(at: disk.path + "/a %3f#?b")
    let catalog = try await SQLiteCatalog.open(library: library)
    let post = try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
    try await catalog.close()
    #expect(disk.makeReadOnly())
    let again = try #require(try await LibraryFolder.existing(at: library.path))
    let reader = try #require(try await SQLiteCatalog.openReadOnly(library: again))
    #expect(try await reader.post(post.id) == post)
    try await reader.close()
    await expect(.unusable) { _ = try await SQLiteCatalog.open(library: library) }
    await expect(.unusable) { _ = try await LibraryFolder.prepare(at: disk.path + "/new") }
  }
}
