import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

/// A C2PA manifest is valid only for the unchanged file.
@Suite(.shortTime) struct CredentialsTests {
  private static let manifest: [UInt8] =
    [0, 0, 0, 66] + Array("jumb".utf8) + [0, 0, 0, 40] + Array("jumdc2pa".utf8)
    + [UInt8](repeating: 0, count: 28)
    + Array(Place.marker.utf8)
  private static let box = MovieBox(
    "uuid",
    ContentCredentials.box + [0, 0, 0, 0] + Array("manifest\0".utf8) + [UInt8](repeating: 0, count: 8)
      + manifest
  ).serialized
  private static let cover: [UInt8] =
    Array(TestPictures.jpeg[..<2]) + [0xFF, 0xEB, 0, UInt8(manifest.count + 10)] + Array("JP".utf8) + [
      0, 1, 0, 0, 0, 1,
    ]
    + manifest + Array(TestPictures.jpeg[2...])

  private static func withCover(_ bytes: [UInt8]) throws -> [UInt8] {
    var movie = try TestMovie(bytes)
    let handler = [UInt8](repeating: 0, count: 8) + Array("mdir".utf8) + [UInt8](repeating: 0, count: 13)
    let item = MovieBox("covr", MovieBox("data", [0, 0, 0, 13, 0, 0, 0, 0] + cover).serialized)
    for box in [MovieBox("hdlr", handler), MovieBox("ilst", .boxes(head: [], [item], tail: []))] {
      movie.add(box, to: ["moov", "udta", "meta"])
    }
    return movie.bytes
  }

  /// The name of each variant, and how it is made from the sample.
  private static let files: [(name: String, make: @Sendable ([UInt8]) throws -> [UInt8])] = [
    ("manifest", { $0 + box }),
    ("Merkle trees", { $0 + box + box }), ("a cover's", withCover),
  ]

  @Test(arguments: files.indices) func noMendMakesThemVoid(_ number: Int) throws {
    try expectRefusal(
      of: try Self.files[number].make(contents(of: MendSample.named("clips/moov-at-end.mp4").path)))
  }

  private func expectRefusal(of bytes: [UInt8]) throws {
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "own.mp4")
    let path = folder.path(of: "own.mp4")
    #expect(try facts(of: path, as: .mp4).contentCredentials == true)
    for options in [
      MendOptions([.faststart]), MendOptions([.privateTags]), MendOptions(rotation: 90),
      MendOptions([.faststart, .data]),
    ] {
      let error = #expect(throws: MendError.self) { try MendedCopy(of: path, as: .mp4, options) }
      #expect(error?.code == .notMendable && error?.remedy == .credentials, "\(options)")
    }
    // A file that needs no mending is not refused, and its extension is not part of its content.
    #expect(try MendedCopy(of: path, as: .mp4, MendOptions([.unfragment])).done.isEmpty)
    #expect(try MendedCopy(of: path, as: .mp4, MendOptions([.fileExtension])).done == [.fileExtension])
    for options in [MendOptions([.credentials]), MendOptions([.credentials, .faststart, .privateTags])] {
      let copy = try MendedCopy(of: path, as: .mp4, options)
      #expect(copy.done.contains(.credentials))
      let after = try facts(of: copy.path, as: .mp4)
      #expect(after.contentCredentials == false)
      #expect(Data(contents(of: copy.path)).range(of: Data(Place.marker.utf8)) == nil)
      #expect(
        try digests(of: copy.path, as: .mp4, metadataCounts: false)
          == digests(of: path, as: .mp4, metadataCounts: false))
      #expect(try MendedCopy(of: copy.path, as: .mp4, MendOptions([.credentials])).done.isEmpty)
    }
  }

  /// A manifest that contains a position counts as a location.
  @Test func aManifestWithAPositionIsALocation() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    let told = MovieBox("uuid", ContentCredentials.box + Self.manifest + Place.text).serialized
    let folder = try TemporaryFolder()
    for (box, isPlace) in [(Self.box, false), (told, true)] {
      try folder.write(contents(of: sample.path) + box, to: "own.mp4")
      let path = folder.path(of: "own.mp4")
      #expect(try facts(of: path, as: .mp4).hasLocation == isPlace)
      if isPlace {
        let error = #expect(throws: MendError.self) {
          try MendedCopy(of: path, as: .mp4, MendOptions([.location]))
        }
        #expect(error?.remedy == .credentials)
        let copy = try MendedCopy(of: path, as: .mp4, MendOptions([.location, .credentials]))
        #expect(try facts(of: copy.path, as: .mp4).hasLocation == false)
      } else {
        #expect(try MendedCopy(of: path, as: .mp4, MendOptions([.location])).done.isEmpty)
      }
    }
  }

  // MARK: Matroska

  private static func attachments(_ type: String) -> [UInt8] {
    let file =
      TestEBML.element(0x466E, Array("m".utf8)) + TestEBML.element(0x4660, Array(type.utf8))
      + TestEBML.element(0x46AE, number: 7) + TestEBML.element(0x465C, manifest)
    let other =
      TestEBML.element(0x466E, Array("a.txt".utf8)) + TestEBML.element(0x4660, Array("text/plain".utf8))
      + TestEBML.element(0x46AE, number: 8) + TestEBML.element(0x465C, Array("stays".utf8))
    return TestEBML.element(0x1941_A469, TestEBML.element(0x61A7, file) + TestEBML.element(0x61A7, other))
  }

  @Test(arguments: ["application/c2pa", "application/octet-stream"])
  func ofMatroska(_ type: String) throws {
    var file = TestMatroska()
    file.before = Self.attachments(type)
    let folder = try TemporaryFolder()
    try folder.write(file.bytes, to: "own.mkv")
    let path = folder.path(of: "own.mkv")
    #expect(try facts(of: path, as: .matroska).contentCredentials == true)
    let error = #expect(throws: MendError.self) {
      try MendedCopy(of: path, as: .matroska, MendOptions([.duration]))
    }
    #expect(error?.code == .notMendable && error?.remedy == .credentials)
    for options in [MendOptions([.credentials]), MendOptions([.credentials, .duration])] {
      let copy = try MendedCopy(of: path, as: .matroska, options)
      #expect(copy.done == options.mends)
      let written = Data(contents(of: copy.path))
      #expect(
        written.range(of: Data(Place.marker.utf8)) == nil && written.range(of: Data("stays".utf8)) != nil)
      #expect(try facts(of: copy.path, as: .matroska).contentCredentials == false)
      #expect(
        try digests(of: copy.path, as: .matroska, metadataCounts: false)
          == digests(of: path, as: .matroska, metadataCounts: false))
    }
  }
}
