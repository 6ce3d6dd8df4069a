import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

@Suite struct LibraryFolderTests {
  private func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-library-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.resolvingSymlinksInPath().path)
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  static let locations: [(explicit: String?, environment: [String: String], path: String?)] = [
    ("/a", ["REEL_LIBRARY": "/b", "XDG_DATA_HOME": "/c", "HOME": "/d"], "/a"),
    ("relative", [:], "relative"),
    ("", ["REEL_LIBRARY": "/b"], "/b"),
    (nil, ["REEL_LIBRARY": "/b", "XDG_DATA_HOME": "/c", "HOME": "/d"], "/b"),
    (nil, ["REEL_LIBRARY": "", "XDG_DATA_HOME": "/c", "HOME": "/d"], "/c/reel"),
    (nil, ["XDG_DATA_HOME": "c", "HOME": "/d"], "/d/.local/share/reel"),
    (nil, ["HOME": "/d"], "/d/.local/share/reel"),
    (nil, ["HOME": ""], nil),
    (nil, ["HOME": "d"], nil),
    (nil, ["HOME": "./d", "XDG_DATA_HOME": "c"], nil),
    (nil, [:], nil),
  ]

  @Test(arguments: locations)
  func isFoundWhereItWasNamed(explicit: String?, environment: [String: String], path: String?) {
    #expect(LibraryFolder.location(explicit: explicit, environment: environment) == path)
  }

  @Test func isMadeForOneUserOnly() async throws {
    try await inFolder { folder in
      let library = try await LibraryFolder.prepare(at: folder + "/x/y//z/")
      #expect(library.path == folder + "/x/y/z")
      for path in [library.path, library.temporaryPath, folder + "/x"] { #expect(try mode(path) == 0o700) }
      #expect(!FileManager.default.fileExists(atPath: library.mediaPath))
      #expect(try await LibraryFolder.prepare(at: library.path) == library)
      #expect(try await LibraryFolder.existing(at: library.path) == library)
    }
  }

  @Test func makesNothingForWhoOnlyReads() async throws {
    try await inFolder { folder in
      #expect(try await LibraryFolder.existing(at: folder + "/none") == nil)
      let library = try #require(try await LibraryFolder.existing(at: folder))
      #expect(try await SQLiteCatalog.openReadOnly(library: library) == nil)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test(arguments: [0o770, 0o702, 0o777, 0o1777])
  func isRefusedWhenOthersMayWrite(mode: Int) async throws {
    try await inFolder { folder in
      chmod(folder, mode_t(mode))
      await expect(.notOurs) { _ = try await LibraryFolder.prepare(at: folder) }
      await expect(.notOurs) { _ = try await LibraryFolder.existing(at: folder) }
      chmod(folder, 0o755)
      let library = try await LibraryFolder.prepare(at: folder)
      #expect(library.path == folder)
      chmod(folder + "/tmp", mode_t(mode))
      await expect(.notOurs) { _ = try await LibraryFolder.prepare(at: folder) }
    }
  }

  @Test func isRefusedWhenItBelongsToAnother() throws {
    var facts = stat()
    facts.st_mode = S_IFDIR | 0o700
    facts.st_uid = 1234
    try FolderCheck.check(facts, of: "/l", user: 1234)
    let error = #expect(throws: CatalogError.self) { try FolderCheck.check(facts, of: "/l", user: 77) }
    #expect(error?.code == .notOurs)
    #expect(error?.message.contains("/l") == true)
    #expect(error?.message.contains("1234") == true)
  }

  @Test func aFileInItsPlaceIsNamed() async throws {
    try await inFolder { folder in
      try Data().write(to: URL(fileURLWithPath: folder + "/f"))
      for path in [folder + "/f", folder + "/f/below"] {
        let error = await #expect(throws: CatalogError.self) { try await LibraryFolder.prepare(at: path) }
        #expect(error?.code == .unusable)
        #expect(error?.message.contains(path) == true)
      }
    }
  }

  @Test func aLinkIsFollowedOnce() async throws {
    try await inFolder { folder in
      try FileManager.default.createDirectory(atPath: folder + "/real", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "real")
      #expect(try await LibraryFolder.prepare(at: folder + "/link").path == folder + "/real")
      try FileManager.default.createSymbolicLink(atPath: folder + "/loop", withDestinationPath: "loop")
      await expect(.unusable) { _ = try await LibraryFolder.prepare(at: folder + "/loop") }
    }
  }

  @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
  func noPermissionIsSaid() async throws {
    try await inFolder { folder in
      chmod(folder, 0o500)
      await expect(.unusable) { _ = try await LibraryFolder.prepare(at: folder + "/x") }
      chmod(folder, 0o700)
    }
  }

  @Test func manyMayMakeItAtOnce() async throws {
    try await inFolder { folder in
      let made = try await withThrowingTaskGroup(of: LibraryFolder.self) { group in
        for _ in 0..<16 { group.addTask { try await LibraryFolder.prepare(at: folder + "/a/b/c") } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(made.count == 1)
    }
  }
}
