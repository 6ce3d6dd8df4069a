import Foundation
import Glibc
import ReelTestSupport
import Testing

@Suite("reel poster and reel sheet", .shortTime)
struct PosterCommandTests {
  private static func isJPEG(_ file: URL) throws -> Bool {
    let bytes = try Data(contentsOf: file)
    return bytes.starts(with: [0xFF, 0xD8, 0xFF, 0xE0]) && bytes.suffix(2) == Data([0xFF, 0xD9])
  }

  /// The beginning of a JPEG, enough to recognize it.
  private static let oldPicture = Data([0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3])

  @Test("a poster is written to the named file and replaces the picture there")
  func oneFile() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov")
    let output = bench.folder.appendingPathComponent("poster.jpg")
    try Self.oldPicture.write(to: output)
    let run = try await bench.reel("poster", "clips/phone-portrait.mov", "-o", "poster.jpg", "--size", "64")
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("36x64"))
    #expect(try Self.isJPEG(output))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter { $0.hasPrefix(".") }
        == [])
  }

  @Test("a folder's posters go into a folder; files without one are reported, and the rest is done")
  func folder() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/matroska.mkv", as: "a.mkv")
    try bench.add("clips/vp9.webm", as: "below/a.mp4")
    try bench.write("#EXTM3U\n", to: "b.mp4")
    let run = try await bench.reel("poster", "clips", "-o", "posters/", "--jsonl")
    #expect(run.status == 4)
    let names = try FileManager.default.contentsOfDirectory(
      atPath: bench.folder.appendingPathComponent("posters").path)
    // In the order of the walk: a.mkv, a.mp4, below/a.mp4.
    #expect(names.sorted() == ["a.jpg", "a.mp4-2.jpg", "a.mp4.jpg"])
    let lines = try run.output.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
    #expect(lines.count == 4)
    for line in lines {
      if let poster = line["poster"] as? [String: Any] {
        #expect((poster["blurHash"] as? String)?.utf8.count == 28)
        #expect(names.contains { (poster["file"] as? String)?.hasSuffix("/" + $0) == true })
      } else {
        #expect((line["error"] as? [String: Any])?["code"] as? String == "playlist")
      }
    }
  }

  @Test("the picture goes to standard output, and an error never does")
  func standardOutput() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.write("not a video", to: "b.mp4")
    let good = try await bench.reel("poster", "clips/a.mp4", "-o", "-")
    #expect(good.status == 0 && good.output.contains("JFIF"))
    let named = try await bench.reel("poster", "clips/a.mp4", "-o", "/dev/stdout")
    #expect(named.status == 0 && named.output == good.output)
    let bad = try await bench.reel("poster", "clips/b.mp4", "-o", "-")
    #expect(bad.status == 4 && bad.output.isEmpty && bad.errors.contains("notMedia"))
  }

  @Test("the video itself is never overwritten")
  func ownSource() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    let source = bench.clips.appendingPathComponent("a.mp4")
    let before = try Data(contentsOf: source)
    try FileManager.default.linkItem(at: source, to: bench.clips.appendingPathComponent("b.jpg"))
    for command in ["poster", "sheet"] {
      for target in ["clips/a.mp4", "clips/b.jpg"] {
        let run = try await bench.reel(command, "clips/a.mp4", "-o", target)
        #expect(run.status == (target == "clips/a.mp4" ? 64 : 1), "\(command) \(target)")
        #expect(try Data(contentsOf: source) == before)
      }
    }
  }

  @Test("a sheet of several videos replaces none of them, nor anything but a JPEG")
  func severalSources() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/faststart.mp4", as: "b.mp4")
    let source = bench.clips.appendingPathComponent("b.mp4")
    let before = try Data(contentsOf: source)
    let notes = bench.folder.appendingPathComponent("notes.txt")
    try Data("notes".utf8).write(to: notes)
    for arguments in [
      ["sheet", "clips/a.mp4", "clips/b.mp4", "-o", "clips/b.mp4"], ["sheet", "clips", "-o", "clips/b.mp4"],
      ["poster", "clips/a.mp4", "-o", "clips/b.mp4"], ["sheet", "clips", "-o", "notes.txt"],
      ["poster", "clips/a.mp4", "-o", "notes.txt", "--force"],
    ] {
      let run = try await ReelBinary.run(arguments, in: bench.folder)
      // That a picture is not a video may be reported first.
      let isRefused = run.status == 1 && run.errors.contains("overwritten") || run.status == 64
      #expect(isRefused, "\(arguments): \(run.errors)")
      #expect(try Data(contentsOf: source) == before)
    }
    #expect(try Data(contentsOf: notes) == Data("notes".utf8))
  }

  @Test("a name for another format is refused before any work", arguments: ["poster", "sheet"])
  func otherFormat(command: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    for name in ["x.png", "x.WebP", "x.gif", "new/x.heic", "x.mp4"] {
      let run = try await bench.reel(command, "clips/a.mp4", "-o", name)
      let honest = name.prefix { $0 != "." } + ".jpg"
      #expect(run.status == 64 && run.errors.contains("name \(honest)"), "\(name): \(run.errors)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
    for name in ["x.jpeg", "x.JPG", "x.part", "x"] {
      #expect(try await bench.reel(command, "clips/a.mp4", "-o", name).status == 0, "\(name)")
    }
  }

  @Test("in a folder no existing file is replaced, and a second run adds nothing")
  func twice() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/matroska.mkv", as: "a.mkv")
    try bench.add("clips/vp9.webm", as: "c.webm")
    let posters = bench.folder.appendingPathComponent("posters")
    let photo = posters.appendingPathComponent("c.jpg")
    try FileManager.default.createDirectory(at: posters, withIntermediateDirectories: false)
    try Self.oldPicture.write(to: photo)
    let names = { try FileManager.default.contentsOfDirectory(atPath: posters.path).sorted() }
    for round in 1...2 {
      let run = try await bench.reel("poster", "clips", "-o", "posters/", "--jsonl")
      #expect(run.status == 3 && run.output.contains("nameTaken"), "\(round): \(run.errors)")
      #expect(run.output.split(separator: "\n").count { $0.contains(#""ok":true"#) } == 2)
      #expect(try names() == ["a.jpg", "a.mp4.jpg", "c.jpg"])
      #expect(try Data(contentsOf: photo) == Self.oldPicture)
    }
    #expect(try await bench.reel("poster", "clips", "-o", "posters/", "--size", "64").status == 3)
    let run = try await bench.reel("poster", "clips", "-o", "posters/", "--size", "64", "--force")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try names() == ["a.jpg", "a.mp4.jpg", "c.jpg"])
    #expect(try Self.isJPEG(photo))
  }

  @Test("an impossible name fails only its own file, and the rest is done")
  func names() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.jpg")
    try bench.add("clips/faststart.mp4", as: "b.mp4")
    try bench.add("clips/faststart.mp4", as: "c.mp4")
    let long = String(repeating: "é", count: 127)
    try bench.add("clips/faststart.mp4", as: long)
    let video = bench.clips.appendingPathComponent("a.jpg")
    let before = try Data(contentsOf: video)
    try FileManager.default.createDirectory(
      at: bench.clips.appendingPathComponent("b.jpg"), withIntermediateDirectories: false)
    let run = try await bench.reel("poster", "clips", "-o", "clips/", "--jsonl")
    #expect(run.status == 3 && run.output.split(separator: "\n").count == 4, "\(run.errors)")
    #expect(run.output.split(separator: "\n").count { $0.contains("nameTaken") } == 1)
    #expect(try Data(contentsOf: video) == before)
    for name in ["a.jpg.jpg", "c.jpg", String(repeating: "é", count: 125) + ".jpg"] {
      #expect(try Self.isJPEG(bench.clips.appendingPathComponent(name)), "\(name)")
    }
  }

  @Test("a link's target is replaced, and a file that is already open is written to")
  func links() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    let (link, real) = (
      bench.folder.appendingPathComponent("link.jpg"), bench.folder.appendingPathComponent("real.jpg")
    )
    try Self.oldPicture.write(to: real)
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "real.jpg")
    #expect(try await bench.reel("poster", "clips/a.mp4", "-o", "link.jpg").status == 0)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "real.jpg")
    #expect(try Self.isJPEG(real))
    // A file that this process holds open, in place of a redirected `/dev/stdout`.
    try Self.oldPicture.write(to: real)
    let handle = try FileHandle(forUpdating: real)
    let name = "/proc/\(getpid())/fd/\(handle.fileDescriptor)"
    #expect(try await bench.reel("poster", "clips/a.mp4", "-o", name).status == 0)
    #expect(try handle.readToEnd()?.starts(with: [0xFF, 0xD8, 0xFF, 0xE0, 0, 16]) == true)
  }

  static let senseless: [(arguments: [String], status: Int32)] = [
    (["poster", "clips", "-o", "-"], 64),
    (["poster", "clips", "-o", "one.jpg"], 64),
    (["poster", "clips/a.mp4", "-o", "x.jpg", "--size", "8"], 64),
    (["poster", "clips/a.mp4"], 64),
    (["poster", "clips/a.mp4", "-o", "no/such/folder/x.jpg"], 1),
    (["poster", "clips/none.mp4", "-o", "x.jpg"], 1),
    (["poster", "clips/a.mp4", "-o", "x.jpg", "--worker", "/nowhere"], 1),
    (["sheet", "clips/a.mp4", "-o", "x.jpg", "--columns", "0"], 64),
    (["sheet", "clips/none.mp4", "-o", "x.jpg"], 1),
    (["sheet", "empty", "-o", "x.jpg"], 1),
    (["poster", "clips/a.mp4", "-o", "-", "--jsonl"], 64),
  ]

  @Test("senseless combinations are refused", arguments: senseless)
  func mistakes(_ arguments: [String], status: Int32) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("empty"), withIntermediateDirectories: true)
    let run = try await ReelBinary.run(arguments, in: bench.folder)
    #expect(run.status == status, "\(run.errors)")
    #expect(!run.errors.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("x.jpg").path))
  }

  @Test("a device is written to, not replaced")
  func device() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    #expect(try await bench.reel("poster", "clips/a.mp4", "-o", "/dev/null").status == 0)
    var status = stat()
    #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
  }

  @Test("a sheet can be made of one video, or of a folder")
  func sheets() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/phone-portrait.mov", as: "b.mov")
    for (source, name) in [("clips/a.mp4", "one.jpg"), ("clips", "all.jpg")] {
      let run = try await bench.reel("sheet", source, "-o", name)
      #expect(run.status == 0, "\(run.errors)")
      #expect(try Self.isJPEG(bench.folder.appendingPathComponent(name)))
    }
  }
}
