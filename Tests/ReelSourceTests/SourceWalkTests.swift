import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("what a walk finds, and in which order", .shortTime)
struct SourceWalkTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test("a walk is depth first, with names in byte order within each folder")
  func order() throws {
    for name in ["b.mp4", "a/z.mp4", "a.mp4", "a/b/c.mp4", "B.mp4", "ä.mp4", "a-b.mp4"] {
      try folder.write(name)
    }
    let walked = Walked(all: folder)
    #expect(walked.candidates == ["B.mp4", "a/b/c.mp4", "a/z.mp4", "a-b.mp4", "a.mp4", "b.mp4", "ä.mp4"])
    #expect(walked.failed.isEmpty)
  }

  @Test("a file is a candidate by its name or its bytes; all others are ignored")
  func claims() throws {
    try folder.write("claims.mp4", Sample.text)
    try folder.write("is one without saying", Sample.mp4)
    try folder.write("is one.txt", Sample.mp4)
    try folder.write("empty.mov", [])
    for name in [
      "notes.txt", "clip.json", "list.csv", ".hidden.mp4", "._clip.mp4", "__MACOSX/a.mp4", ".git/b.mp4",
      "~$office.mp4", "a.mp4.part", "a.mp4.crdownload", "a.lock", "empty",
    ] {
      try folder.write(name, name == "empty" ? [] : name.hasSuffix("mp4") ? Sample.mp4 : Sample.text)
    }
    let walked = Walked(all: folder)
    #expect(walked.candidates == ["claims.mp4", "empty.mov", "is one without saying", "is one.txt"])
    #expect(
      Set(walked.ignored) == [
        "notes.txt", "clip.json", "list.csv", ".hidden.mp4", "._clip.mp4", "__MACOSX", ".git", "~$office.mp4",
        "a.mp4.part", "a.mp4.crdownload", "a.lock", "empty",
      ])
    #expect(walked.failed.isEmpty)
  }

  @Test(
    "trash and system folders are not entered unless they are named",
    arguments: [
      "#recycle", "@Recycle", "@eaDir", "$RECYCLE.BIN", "RECYCLER", "System Volume Information", "lost+found",
      "_UNPACK_Some.Show", "_unpack", "_FAILED_x", "FOUND.000", "#snapshot", "Network Trash Folder",
      ".Trash-1000", "Network Recycle Bin 1", "Recycle Bin", "trashbox", "~snapshot", "files_trashbin",
      "files_versions", "__ADMIN__", "_NAS_Recycle_RAID", "@Download", "Config.Msi",
    ])
  func trash(_ name: String) throws {
    try folder.write("a/\(name)/x/clip.mp4")
    try folder.write("a/\(name).mp4")
    let walked = Walked(["a"], in: folder)
    #expect(walked.candidates == (name.hasPrefix(".") ? [] : ["a/\(name).mp4"]))
    #expect(walked.ignored.contains("a/" + name))
    var options = WalkOptions()
    options.includesTrash = true
    #expect(Walked(["a"], in: folder, options).candidates.count == (name.hasPrefix(".") ? 0 : 2))
    // A folder that is named itself is walked like any other.
    #expect(Walked(["a/" + name], in: folder).candidates == ["a/\(name)/x/clip.mp4"])
  }

  @Test(
    "the names of unfinished files are known",
    arguments: [
      "a.mp4.!qB", "a.mp4.ut", "a.mp4.!ut", "a.mp4.bc!", "a.mp4.tacitpart", "a.mp4.uploading",
      "a.mp4.incomplete",
      "a.mp4.fdmdownload", "a.mp4.part", "a.mp4.ytdl", "a.mp4.aria2", "a.mp4.temp", "GL010001.LRV",
      "DJI_0001.LRF", "00000001.cyberducksegment", "a.mp4.lftp-pget-status", "a.partial~", "getxfer.1.mega",
    ])
  func unfinished(_ name: String) throws {
    try folder.write(name)
    #expect(Walked(all: folder).ignored == [name])
  }

  @Test(
    "a file whose writer keeps its place beside it is unfinished, unless the user named it",
    arguments: ["a.mp4.aria2", "a.mp4.lftp-pget-status", "a.mp4.st"])
  func control(_ name: String) throws {
    for name in ["a.mp4", "a.mp4.mp4", "b.mp4"] { try folder.write(name) }
    // A folder of such a name says nothing.
    try folder.write("b.mp4" + name.dropFirst("a.mp4".count) + "/x.txt", [1])
    try folder.write(name, [1])
    #expect(Walked(all: folder).candidates == ["a.mp4.mp4", "b.mp4"])
    #expect(Walked(["a.mp4"], in: folder).candidates == ["a.mp4"])
    try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    #expect(Walked(all: folder).candidates == ["a.mp4", "a.mp4.mp4", "b.mp4"])
  }

  @Test(
    "an upload of which tusd says that there is more to come is unfinished",
    arguments: [
      ("a0b1", #""Size":\#(Sample.mp4.count + 1)"#, true), ("a0b1", #""Size":\#(Sample.mp4.count)"#, false),
      ("c2d3", #""Size":\#(Sample.mp4.count + 1)"#, false),
      ("a0b1", #""Size":0,"SizeIsDeferred":true"#, true),
      ("a0b1", #""Size":\#(Sample.mp4.count),"IsPartial":true"#, true),
    ])
  func upload(_ id: String, _ size: String, _ isUnfinished: Bool) throws {
    for end in ["", ".mp4"] {
      let name = "a0b1" + end
      try folder.write(name)
      try folder.write(
        name + ".info", Array(#"{"ID":"\#(id + end)",\#(size),"Offset":0,"MetaData":{}}"#.utf8))
      #expect(Walked([name], in: folder).candidates == [name])
    }
    #expect(Walked(all: folder).candidates == (isUnfinished ? [] : ["a0b1", "a0b1.mp4"]))
  }

  @Test(
    "folders of second versions are not entered unless they are named",
    arguments: [
      ("PRIVATE/M4ROOT", "SUB"), ("Movies", "Plex Versions"), ("P.photoslibrary/resources", "renders"),
      ("F.fcpbundle/day/clip", "Transcoded Media"), ("I.imovielibrary/day", "Render Files"),
    ])
  func secondVersions(_ parent: String, _ name: String) throws {
    try folder.write("a/\(parent)/\(name)/x.mp4")
    // Names that mean nothing elsewhere.
    for name in ["SUB", "resources/renders", "Render Files", "Transcoded Media"] {
      try folder.write("a/\(name)/y.mp4")
    }
    let walked = Walked(["a"], in: folder)
    #expect(walked.candidates.count == 4 && walked.candidates.allSatisfy { $0.hasSuffix("y.mp4") })
    var options = WalkOptions()
    options.includesTrash = true
    #expect(Walked(["a"], in: folder, options).candidates.count == 5)
    #expect(Walked(["a/\(parent)/\(name)"], in: folder).candidates.count == 1)
    #expect(Walked(["a/\(parent)"], in: folder).candidates == [])
  }

  @Test(
    "a name with something around a video's extension is skipped where files are still arriving; elsewhere it is flagged",
    arguments: [
      "a.mp4.6eF3bA1c", "a.mp4_exiftool_tmp", "a.mp4~", "a.MP4.xyz", "a.f137.mp4", "a.temp.mp4",
      "a.fhls-720.mp4",
      "a.mkv.f1", "a.mp4c0ffee.part.minio", "a.mp4.dropbox.attr", "a.mp4_.gstmp", "001.part.met",
      "a.tmp.mp4", "a.partial.mkv", "a.incomplete.mp4",
    ])
  func doubtful(_ name: String) throws {
    try folder.write(name)
    try folder.write("clip.v2.mp4")
    try folder.write("Movie.1080p.f.mp4")
    let walked = Walked(all: folder)
    #expect(Set(walked.candidates) == [name, "clip.v2.mp4", "Movie.1080p.f.mp4"])
    #expect(walked.files.filter(\.mayBeUnfinished).map(\.path.lastComponent.text) == [name])
    var options = WalkOptions()
    options.skipsDoubtfulNames = true
    #expect(Set(Walked(all: folder, options).candidates) == ["clip.v2.mp4", "Movie.1080p.f.mp4"])
    #expect(try !FoundFile.named(folder.source(name), followLinks: false).mayBeUnfinished)
  }

  @Test(
    "a name shared with another format is no claim: TypeScript is not a video, but a web page in a video's place fails"
  )
  func sharedNames() throws {
    let transport = (0..<400).flatMap { _ in [0x47] + [UInt8](repeating: 0xFF, count: 187) }
    for (name, content) in [
      ("app.ts", Array("import { a } from './a';\n".utf8)),
      ("module.mts", Array("export const a = 1\n".utf8)),
      ("de.ts", Array("<?xml version=\"1.0\"?><TS version=\"2.1\"></TS>".utf8)),
      ("go.mod", Array("module example.com/a\n".utf8)), ("paper.ps", Array("%!PS-Adobe-3.0\n".utf8)),
      ("video.ts", transport), ("page.ts", Array("<!DOCTYPE html><html></html>".utf8)), ("empty.ts", []),
      ("list.ts", Array("#EXTM3U\n".utf8)), ("noise.ts", [0x81, 0, 3, 0x9F, 1, 2, 0xF0]),
      ("text.m2ts", Sample.text),
    ] as [(String, [UInt8])] {
      try folder.write(name, content)
    }
    let walked = Walked(all: folder)
    #expect(
      walked.candidates == [
        "empty.ts", "list.ts", "noise.ts", "page.ts", "text.m2ts", "video.ts",
      ])
    #expect(Set(walked.ignored) == ["app.ts", "module.mts", "de.ts", "go.mod", "paper.ps"])
    #expect(Walked(["app.ts"], in: folder).candidates == ["app.ts"])
  }

  @Test("a folder named like a video is walked")
  func folderNamedLikeVideo() throws {
    try folder.write("x.mp4/clip.mp4")
    #expect(Walked(all: folder).candidates == ["x.mp4/clip.mp4"])
    #expect(Walked(["x.mp4"], in: folder).candidates == ["x.mp4/clip.mp4"])
  }

  @Test(
    "a folder named like an unfinished download is walked, unless its name is that of an unfinished video")
  func folderNamedLikeDownload() throws {
    let unfinished = [
      "a.mp4.download", "b.mov.cyberducksegment", "c.mp4.sb-1a2b3c4d-x7Q2",
      "web-file-upload-0a1b2c3d4e5f6071",
    ]
    for name in ["old.part", "web-file-upload-tests"] + unfinished { try folder.write(name + "/clip.mp4") }
    let walked = Walked(all: folder)
    #expect(walked.candidates == ["old.part/clip.mp4", "web-file-upload-tests/clip.mp4"])
    #expect(Set(walked.ignored) == Set(unfinished))
  }

  @Test("what the user named is a candidate, whatever its name")
  func named() throws {
    try folder.write(".hidden", Sample.text)
    try folder.write("notes.txt", Sample.text)
    let options = WalkOptions(filter: NameFilter(excluding: [try #require(GlobPattern("*"))]))
    let walked = Walked(["notes.txt", ".hidden"], in: folder, options)
    #expect(walked.candidates == ["notes.txt", ".hidden"])
    #expect(walked.files.allSatisfy { $0.wasNamed })
  }

  @Test("FIFOs, sockets and devices are reported if named like videos, and never opened")
  func special() throws {
    try folder.fifo("pipe.mp4")
    try folder.fifo("pipe")
    try folder.link("null.mp4", to: "/dev/zero")
    try folder.write("z.mp4")
    let walked = Walked(all: folder)
    #expect(walked.candidates == ["z.mp4"])
    #expect(walked.ignored == ["pipe"])
    #expect(walked.failed == ["pipe.mp4": .notRegular, "null.mp4": .isLink])
    #expect(Walked(["pipe"], in: folder).failed == ["pipe": .notRegular])
    #expect(Walked(["null.mp4"], in: folder).failed == ["null.mp4": .isLink])
    let following = Walked(["null.mp4"], in: folder, WalkOptions(followLinks: true))
    #expect(following.failed == ["null.mp4": .notRegular])
  }

  @Test("a missing path, a file as a folder, an empty name, a NUL and an overlong name are errors")
  func impossible() throws {
    try folder.write("a.mp4")
    let long = String(repeating: "n", count: 256)
    let walked = Walked(["none.mp4", "a.mp4/b.mp4", "a.mp4/", "nul\0.mp4", long], in: folder)
    #expect(walked.candidates.isEmpty)
    #expect(
      walked.failed == [
        "none.mp4": .notFound, "a.mp4/b.mp4": .notFound, "a.mp4/": .notFound, "nul\0.mp4": .invalidName,
        long: .invalidName,
      ])
    let empty = SourceWalk(inputs: [SourceInput(path: SourcePath(""))])
    #expect(Walked(empty, in: folder).failed == ["": .invalidName])
  }

  @Test("names of every kind keep their bytes and can be opened")
  func strangeNames() throws {
    let names: [[UInt8]] = [
      Array("new\nline.mp4".utf8), Array("-dash.mp4".utf8), [0xFF, 0xFE] + Array(".mp4".utf8),
      Array(String(repeating: "x", count: 251).utf8) + Array(".mp4".utf8), Array("esc\u{1B}[2J.mp4".utf8),
      Array("%s%n.mp4".utf8), Array("http:x.mp4".utf8), Array("im%d.mp4".utf8),
    ]
    for name in names { try folder.write(nameBytes: name) }
    let walked = Walked(all: folder)
    #expect(Set(walked.files.map { $0.path.lastComponent.bytes }) == Set(names))
    for file in walked.files { #expect(try file.open().size == Int64(Sample.mp4.count)) }
    let named = SourceWalk(inputs: names.map { SourceInput(path: folder.source.appending($0)) })
    #expect(Walked(named, in: folder).candidates.count == names.count)
  }

  @Test("an unreadable folder or file fails alone")
  func unreadable() throws {
    try folder.write("shut/a.mp4")
    try folder.write("b.mp4")
    chmod(folder.path + "/shut", 0)
    defer { chmod(folder.path + "/shut", 0o700) }
    let walked = withoutRootsRights { Walked(all: folder) }
    #expect(walked.candidates == ["b.mp4"])
    #expect(walked.failed == ["shut": .denied])
  }

  @Test(
    "a thousand files in one folder are found in order, in batches of any size",
    arguments: [1, 3, 1000, 5000])
  func many(batch: Int) throws {
    let names = (0..<1000).map { String(format: "%04d.mp4", ($0 * 7919) % 1000) }
    for name in names { try folder.write(name) }
    let walked = Walked(SourceWalk(inputs: [SourceInput(path: folder.source)]), in: folder, batch: batch)
    #expect(walked.candidates == names.sorted())
  }

  @Test(
    "a link to another folder is reported, as it may contain videos; one to a folder that is walked anyway is not"
  )
  func linkedFolders() throws {
    let other = try TemporaryFolder()
    try other.folder("2024")
    try folder.folder("2023")
    try folder.write("2023/a.mp4")
    try folder.link("2024", to: other.path + "/2024")
    try folder.link("latest", to: "2023")
    try folder.link("here", to: ".")
    try folder.link("readme", to: "/etc/hostname")
    let walked = Walked(all: folder)
    #expect(walked.candidates == ["2023/a.mp4"])
    #expect(walked.failed == ["2024": .isLink])
    // As the message advises.
    let both = [folder.source, other.source("2024")].map { SourceInput(path: $0) }
    #expect(Walked(SourceWalk(inputs: both, options: WalkOptions()), in: folder).failed.isEmpty)
    var own = WalkOptions()
    own.skippedDirectories = [try #require(DirectoryIdentity(at: SourcePath(other.path + "/2024")))]
    #expect(Walked(all: folder, own).failed.isEmpty)
    var options = WalkOptions()
    options.followLinks = true
    #expect(Walked(all: folder, options).failed["2024"] == .outsideRoot)
  }
}
