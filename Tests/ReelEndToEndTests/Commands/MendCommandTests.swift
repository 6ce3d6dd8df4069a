import Foundation
import ReelTestSupport
import Testing

@Suite("reel mend", .shortTime)
struct MendCommandTests {
  private static func json(_ text: some StringProtocol) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }

  private func media(_ bench: Workbench, _ path: String) async throws -> [String: Any] {
    let run = try await bench.reel("probe", path, "--json")
    #expect(run.status == 0, "\(run.errors)")
    return try Self.json(run.output)["media"] as? [String: Any] ?? [:]
  }

  @Test("one file is written to the given place, and the source is unchanged")
  func oneFile() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-located.mov", as: "a.mov")
    let source = bench.clips.appendingPathComponent("a.mov")
    let before = try Data(contentsOf: source)
    let run = try await bench.reel("mend", "clips/a.mov", "-o", "b.mov", "--faststart", "--strip-location")
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output == "clips/a.mov: b.mov: index first, location removed\n")
    #expect(try Data(contentsOf: source) == before)
    let after = try await media(bench, "b.mov")
    #expect(after["fastStart"] as? Bool == true && after["hasLocation"] as? Bool == false)
    // No other file is left behind.
    #expect(try Self.names(in: bench.folder) == ["b.mov", "clips"])
  }

  @Test("a file that is cut off is reported as such, with the flag that would help")
  func cutOff() async throws {
    let bench = try Workbench()
    try bench.add("broken/cut-off.mp4", as: "a.mp4")
    let run = try await bench.reel("mend", "clips/a.mp4", "-o", "b.mp4", "--strip-location")
    #expect(run.status == 0)
    #expect(
      run.output == "clips/a.mp4: nothing to mend; it is cut off: --salvage makes it playable up to there\n")
    let json = try await bench.reel("mend", "clips/a.mp4", "-o", "b.mp4", "--strip-location", "--json")
    #expect(try Self.json(json.output)["truncated"] as? Bool == true, "\(json)")
    let salvaged = try await bench.reel("mend", "clips/a.mp4", "-o", "b.mp4", "--salvage")
    #expect(salvaged.output == "clips/a.mp4: b.mp4: playable up to where it was cut off\n")
  }

  private static func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  @Test("no output replaces a file that was named, or another output of the same run")
  func namesThatMeet() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "x/a.mp4")
    try bench.add("clips/moov-at-end.mp4", as: "y/a.mp4")
    let arguments = ["mend", "clips/x/a.mp4", "clips/y/a.mp4", "--faststart", "--force"]
    let source = try Data(contentsOf: bench.clips.appendingPathComponent("y/a.mp4"))
    let named = try await ReelBinary.run(arguments + ["--to", "clips/y"], in: bench.folder)
    #expect(named.status == 3 && named.errors.contains("never replaced"), "\(named.errors)")
    #expect(try Data(contentsOf: bench.clips.appendingPathComponent("y/a.mp4")) == source)
    let met = try await ReelBinary.run(arguments + ["--to", "out"], in: bench.folder)
    #expect(met.status == 3 && met.errors.contains("another file of this run"), "\(met.errors)")
  }

  @Test("a folder is mended into another, each file at its place; sound files are not written")
  func folder() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    try bench.add("clips/faststart.mp4", as: "b.mp4")
    try bench.add("clips/fragmented.mp4", as: "below/c.mp4")
    try bench.add("clips/vp9.webm", as: "d.webm")
    try bench.write("#EXTM3U\n", to: "e.mp4")
    let run = try await bench.reel(
      "mend", "clips", "-o", "mended/", "--faststart", "--unfragment", "--jsonl")
    #expect(run.status == 4)
    let lines = try run.output.split(separator: "\n").map { try Self.json($0) }
    #expect(lines.count == 5)
    #expect(
      Set(lines.compactMap { $0["mended"] as? [String] }) == [["faststart"], ["unfragment"], []])
    #expect(lines.compactMap { ($0["error"] as? [String: Any])?["code"] as? String } == ["playlist"])
    let mended = bench.folder.appendingPathComponent("mended")
    #expect(try Self.names(in: mended) == ["a.mp4", "below"])
    #expect(try await media(bench, "mended/below/c.mp4")["fragmented"] as? Bool == false)
    // A second run overwrites nothing.
    let again = try await bench.reel("mend", "clips/a.mp4", "-o", "mended/", "--faststart")
    #expect(again.status == 3 && again.errors.contains("already exists"), "\(again.errors)")
    let forced = try await bench.reel("mend", "clips/a.mp4", "-o", "mended/", "--faststart", "--force")
    #expect(forced.status == 0, "\(forced.errors)")
  }

  @Test("a policy determines the repairs, and the result satisfies it")
  func policy() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    try bench.add("clips/mov-named.mp4", as: "b.mp4")
    try bench.add("clips/phone-located.mov", as: "c.mov")
    try bench.write(
      "policy: 1\nname: ours\nextends: none\nrules: {mp4.notFastStart: error, ext.mismatch: warn, privacy.location: error}\n",
      to: "../ours.yaml")
    let run = try await bench.reel("mend", "clips", "-o", "mended/", "--policy", "ours.yaml")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      try Self.names(in: bench.folder.appendingPathComponent("mended")) == ["a.mp4", "b.mov", "c.mov"])
    let judged = try await ReelBinary.run(
      ["validate", "mended", "--policy", "ours.yaml"], in: bench.folder)
    #expect(judged.status == 0, "\(judged.output)")
  }

  @Test("a browser's recording gets a duration, and then satisfies the policy that requires one")
  func duration() async throws {
    let bench = try Workbench()
    try bench.add("clips/recorded-in-a-browser.webm", as: "a.webm")
    let rule = "policy: 1\nname: ours\nextends: none\nrules: {duration.unstated: error}\n"
    try bench.write(rule, to: "../ours.yaml")
    let judged = try await ReelBinary.run(["validate", "clips", "--policy", "ours.yaml"], in: bench.folder)
    #expect(judged.status == 4 && judged.output.contains("reel mend clips/a.webm --duration -o"))
    let run = try await bench.reel("mend", "clips", "-o", "mended/", "--policy", "ours.yaml")
    #expect(
      run.status == 0 && run.output == "clips/a.webm: mended/a.webm: duration and seek index written\n",
      "\(run.output) \(run.errors)")
    #expect(try await media(bench, "mended/a.webm")["durationSource"] as? String == "container")
    let after = try await ReelBinary.run(["validate", "mended", "--policy", "ours.yaml"], in: bench.folder)
    #expect(after.status == 0, "\(after.output)")
    let again = try await bench.reel("mend", "mended/a.webm", "-o", "b.webm", "--duration", "--faststart")
    #expect(again.output == "mended/a.webm: nothing to mend\n", "\(again.errors)")
  }

  #if DEBUG
    @Test("kill -9 before the file has its name leaves nothing, and afterwards all of it")
    func killed() async throws {
      let bench = try Workbench()
      try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
      let arguments = ["mend", "clips/a.mp4", "-o", "b.mp4", "--faststart", "--force"]
      for isThere in [false, true] {
        let old = isThere ? try Data(contentsOf: bench.folder.appendingPathComponent("b.mp4")) : nil
        for (place, isNamed) in [("temporarySynced", false), ("objectNamed", true)] {
          let run = try await ReelBinary.run(
            arguments, in: bench.folder, environment: ["REEL_FAILPOINT": "\(place):1=crash"])
          #expect(run.wasKilled, "never came to \(place): \(run.errors)")
          #expect(
            try Self.names(in: bench.folder) == (isNamed || isThere ? ["b.mp4", "clips"] : ["clips"]),
            "\(place)")
          if isNamed {
            #expect(try await media(bench, "b.mp4")["fastStart"] as? Bool == true)
          } else if let old {
            #expect(try Data(contentsOf: bench.folder.appendingPathComponent("b.mp4")) == old)
          }
        }
      }
    }
  #endif

  @Test("a given name is not changed; if its extension is wrong, that is an error")
  func extensionOfANamedFile() async throws {
    let bench = try Workbench()
    try bench.add("clips/mov-named.mp4", as: "a.mp4")
    let run = try await bench.reel("mend", "clips/a.mp4", "-o", "b.mp4", "--fix-extension")
    #expect(
      run.status == 1 && run.errors.contains("b.mp4") && run.errors.contains("use b.mov"), "\(run.errors)")
    let honest = try await bench.reel("mend", "clips/a.mp4", "-o", "b.mov", "--fix-extension")
    #expect(honest.status == 0 && honest.output.contains("extension set right"), "\(honest.errors)")
    try bench.add("clips/flash.flv", as: "c.mp4")
    try bench.add("clips/program.mpg", as: "d.mp4")
    try bench.add("clips/transport.ts", as: "e.mp4")
    let others = try await ReelBinary.run(
      ["mend", "clips/c.mp4", "clips/d.mp4", "clips/e.mp4", "-o", "right/", "--fix-extension"],
      in: bench.folder)
    #expect(others.status == 0, "\(others.errors)")
    #expect(
      try Self.names(in: bench.folder.appendingPathComponent("right")) == ["c.flv", "d.mpg", "e.ts"])
  }

  @Test("the hint for several files is safe to paste")
  func folderHint() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    for (place, hint) in [
      ("a; echo hi", "-o 'a; echo hi/'"), ("plain", "-o plain/"), ("clips/a.mp4", "-o FOLDER/"),
    ] {
      for command in [["mend", "--faststart"], ["poster"]] {
        let run = try await ReelBinary.run(
          command + ["clips/a.mp4", "clips/a.mp4", "-o", place], in: bench.folder)
        #expect(run.status == 64 && run.errors.hasSuffix("name a folder: \(hint)\n"), "\(run)")
      }
    }
  }

  @Test("the container is kept, and a name for another one is refused")
  func container() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov", as: "a.mov")
    try bench.add("clips/moov-at-end.mp4", as: "b.mp4")
    try bench.add("broken/cut-off.mp4", as: "c.mp4")
    for (source, target, flag, honest) in [
      ("a.mov", "x.mp4", "--faststart", "x.mov"), ("b.mp4", "x.mkv", "--faststart", "x.mp4"),
      ("b.mp4", "new/x.MOV", "--faststart", "new/x.mp4"), ("c.mp4", "x.mov", "--salvage", "x.mp4"),
    ] {
      let run = try await bench.reel("mend", "clips/" + source, "-o", target, flag)
      #expect(run.status == 1 && run.errors.contains("use \(honest)"), "\(target): \(run.errors)")
      #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent(target).path))
    }
    for target in ["x.m4v", "x.part", "x"] {
      #expect(try await bench.reel("mend", "clips/b.mp4", "-o", target, "--faststart").status == 0)
    }
  }

  @Test("a message says which flag helps")
  func help() async throws {
    let bench = try Workbench()
    try bench.add("clips/recorded-in-a-browser.webm", as: "a.webm")
    let file = bench.clips.appendingPathComponent("a.webm")
    let whole = try Data(contentsOf: file)
    try whole.prefix(whole.count / 2).write(to: file)
    let run = try await bench.reel("mend", "clips/a.webm", "-o", "b.webm", "--duration")
    #expect(run.status == 4 && run.errors.contains("(--salvage)"), "\(run.errors)")
  }

  @Test("a limit on this process's file sizes is reported as one")
  func limited() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    let run = try await ReelBinary.start(
      ["mend", "clips/a.mp4", "-o", "b.mp4", "--faststart"], in: bench.folder,
      launcher: ["/bin/sh", "-c", "ulimit -f 4; exec \"$0\" \"$@\""]
    ).outcome()
    #expect(run.status == 3 && run.errors.contains("[notWritten]"), "\(run.errors)")
    #expect(try Self.names(in: bench.folder) == ["clips"])
  }

  @Test("the source itself is never replaced, and neither is anything but a file")
  func neverReplaced() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    let source = bench.clips.appendingPathComponent("a.mp4")
    let before = try Data(contentsOf: source)
    try FileManager.default.linkItem(at: source, to: bench.clips.appendingPathComponent("b.mp4"))
    try FileManager.default.createSymbolicLink(
      atPath: bench.folder.appendingPathComponent("c.mp4").path, withDestinationPath: source.path)
    for target in ["clips/a.mp4", "clips/b.mp4", "c.mp4"] {
      for force in [[], ["--force"]] {
        let run = try await ReelBinary.run(
          ["mend", "clips/a.mp4", "-o", target, "--faststart"] + force, in: bench.folder)
        #expect(run.status == 1, "\(target)")
        #expect(try Data(contentsOf: source) == before)
      }
    }
    let same = try await bench.reel("mend", "clips", "-o", "clips/", "--faststart", "--force")
    #expect(try Data(contentsOf: source) == before, "\(same.output)")
  }

  @Test("a file that was cut off is made playable; one without its index is not")
  func salvage() async throws {
    let bench = try Workbench()
    try bench.add("broken/cut-off.mp4", as: "a.mp4")
    try bench.add("broken/no-moov.mp4", as: "b.mp4")
    let run = try await bench.reel("mend", "clips", "-o", "mended/", "--salvage")
    #expect(run.status == 4)
    #expect(run.errors.contains("[indexMissing]"))
    #expect(try await media(bench, "mended/a.mp4")["truncated"] as? Bool == false)
  }

  @Test(
    "impossible combinations are usage errors",
    arguments: [
      ["clips/a.mp4", "--faststart"], ["clips/a.mp4", "-o", "b.mp4"],
      ["clips/a.mp4", "-o", "b.mp4", "--to", "c", "--faststart"],
      ["clips/a.mp4", "-o", "b.mp4", "--rotate", "45"], ["clips/a.mp4", "-o", "b.mp4", "--sar", "0:1"],
      ["clips/a.mp4", "-o", "b.mp4", "--sar", "4"], ["clips", "-o", "b.mp4", "--faststart"],
      ["clips/a.mp4", "-o", "-", "--faststart"], ["clips/a.mp4", "-o", "clips/a.mp4/", "--faststart"],
      ["clips/a.mp4", "clips/a.mp4", "-o", "b.mp4", "--faststart"],
    ])
  func usage(_ arguments: [String]) async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    let run = try await ReelBinary.run(["mend"] + arguments, in: bench.folder)
    #expect(run.status == 64, "\(run.errors)")
    #expect(try Self.names(in: bench.folder) == ["clips"])
  }
}
