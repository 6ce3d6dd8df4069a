import Foundation
import Glibc
import ReelTestSupport
import Testing

/// Files to ingest may have any name. A path that Reel keeps as text (a library, a destination, a program) is refused
/// if it is not UTF-8. It is never taken for another place whose path equals the repaired one.
@Suite("Paths that are not UTF-8", .shortTime)
struct PathsThatAreNotTextTests {
  /// Runs a shell script in which `$REEL` is the binary and `$X` the byte 0xFF.
  private func shell(
    _ bench: Workbench, _ script: String, environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "X=$(printf '\\377'); " + script], in: bench.folder,
      environment: environment.merging(["REEL": ReelBinary.url.path]) { $1 })
  }

  /// Returns the names in a folder as the system stores them.
  private func names(in folder: URL) throws -> Set<[UInt8]> {
    let stream = try #require(opendir(folder.path))
    defer { closedir(stream) }
    var names: Set<[UInt8]> = []
    while let entry = readdir(stream) {
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        let start = UnsafeRawPointer(name)
        names.insert(
          Array(
            UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self)))))
      }
    }
    return names.subtracting([Array(".".utf8), Array("..".utf8)])
  }

  @Test(
    "an option that names a place of Reel's own refuses such a path, and creates nothing",
    arguments: [
      "ingest clips --library \"l$X\"", "ingest clips --library=\"l$X\"", "ingest clips --to \"d$X\"",
      "ingest clips --to=\"file:///tmp/d$X\"", "ingest clips --to \"command:./a$X\"",
      "ingest clips --worker \"w$X\"",
      "ingest clips --config \"c$X\"", "ingest clips --events \"e$X\"", "ingest clips --policy \"p$X\"",
      "ingest clips --author \"J${X}rgen\"", "ingest clips --to s3://b --service-account \"s$X\"",
      "publish clips/clip-00000.mp4 --caption \"n$X\"", "backup \"b$X\"", "lock clips --to \"k$X\"",
      "validate clips --lock \"k$X\"", "validate clips --report \"json=r$X\"", "uploader check \"d$X\"",
      "verify --to \"d$X\"",
    ])
  func options(arguments: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let before = try names(in: bench.folder)
    let outcome = try await shell(bench, "exec \"$REEL\" " + arguments)
    #expect(outcome.status == 64, "\(outcome.output) \(outcome.errors)")
    #expect(outcome.errors.contains(#"\xff"#) && !outcome.errors.contains("\u{FFFD}"), "\(outcome.errors)")
    #expect(try names(in: bench.folder) == before)
  }

  @Test(
    "a variable that names a place is refused, and nothing is created",
    arguments: [
      ("REEL_LIBRARY", "ingest clips"), ("HOME", "ingest clips"), ("XDG_DATA_HOME", "ingest clips"),
      ("REEL_TO", "ingest clips --library l"), ("REEL_WORKER", "ingest clips --library l"),
      ("XDG_CONFIG_HOME", "ingest clips --library l"),
      ("TMPDIR", "ingest clips --library l --to command:./a"),
      ("REEL_ADAPTER_TOKEN", "ingest clips --library l --to command:./a"),
    ])
  func variables(name: String, arguments: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let before = try names(in: bench.folder)
    let outcome = try await shell(
      bench, "export \(name)=\"\(bench.folder.path)/v$X\"; exec \"$REEL\" " + arguments)
    #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
    #expect(outcome.errors.contains(name) && outcome.errors.contains("UTF-8"), "\(outcome.errors)")
    #expect(try names(in: bench.folder) == before)
  }

  @Test("a variable that nothing reads does not matter")
  func otherVariables() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(
      bench, "export LANG=\"$X\" LC_ALL=\"$X\" TZ=\"$X\" FOO=\"$X\"; exec \"$REEL\" ingest clips --library l")
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test(
    "a relative path in a working folder whose path is not UTF-8 is refused",
    arguments: [
      "ingest ../clips --library l", "ingest ../clips --library ../l --to d",
      "ingest ../clips --library ../l --to command:./a",
      "feed --library . ; mkdir l; \"$REEL\" feed --library l",
    ])
  func workingFolder(arguments: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(bench, "mkdir \"w$X\" && cd \"w$X\" && \"$REEL\" " + arguments)
    #expect(outcome.status == 1 || outcome.status == 64, "\(outcome.output) \(outcome.errors)")
    #expect(outcome.errors.contains("UTF-8") || outcome.output.contains("UTF-8"), "\(outcome.errors)")
    let made = try names(in: bench.folder)
    #expect(made.isSubset(of: [Array("w".utf8) + [0xFF], Array("clips".utf8), Array("l".utf8)]), "\(made)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/l/media"))
  }

  @Test("in such a folder, a file to ingest is remembered by its bytes")
  func remembered() async throws {
    let bench = try Workbench()
    let outcome = try await shell(
      bench,
      """
      mkdir "w$X" && cd "w$X" && echo text >t.mp4 && "$REEL" ingest t.mp4 --library ../l --quiet
      cd .. && exec "$REEL" status --json --library l
      """)
    #expect(outcome.output.contains("pathBytes"), "\(outcome.output) \(outcome.errors)")
    #expect(outcome.output.contains(#"w\\xff"#), "\(outcome.output)")
  }

  @Test("files to ingest, and lists of them, keep their bytes, even if other names look the same")
  func sources() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(
      bench,
      """
      Y=$(printf '\\376'); Z=$(printf '\\357\\277\\275')
      cp clips/clip-00000.mp4 "a$X.mp4"; echo text >"a$Z.mp4"
      printf 'path,caption\\na.mp4,wrong\\n' >"c$X"; printf 'path,caption\\n' >"c$Z"
      printf 'path,music,caption\\nclips/clip-00000.mp4,,right\\n' >"c$Y"
      printf 'clips/clip-00000.mp4\\0' >"f$Y"; printf 'nothing\\0' >"f$Z"
      "$REEL" probe "a$X.mp4" || exit 9
      exec "$REEL" ingest --files0-from="f$Y" --captions="c$Y" --exclude "$X" --library l --json
      """)
    #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
    let feed = try await shell(bench, "exec \"$REEL\" feed --library l --json")
    #expect(feed.output.contains("right"), "\(feed.output)")
  }

  @Test("characters that look like a repaired byte, or stand for one in the parser, are taken literally")
  func genuine() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    for name in ["l\u{FFFD}", "l\u{10FFFF}", "l\u{10FF80}\u{301}"] {
      let outcome = try await ReelBinary.run(["ingest", "clips", "--library", name], in: bench.folder)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try names(in: bench.folder).contains(Array(name.utf8)))
    }
  }
}
