import Foundation
import Testing

/// A watched folder, and what has become of its files.
struct WatchScene {
  let bench: Workbench

  init(reader: Workbench.Reader = .fake) throws {
    bench = try Workbench(reader: reader)
  }

  func start(
    _ arguments: [String], environment: [String: String] = [:], launcher: [String] = []
  ) throws -> ReelBinary.Running {
    try ReelBinary.start(
      ["watch", "clips", "--library", bench.library.path, "--events", "events.jsonl"] + arguments,
      in: bench.folder, environment: bench.environment.merging(environment) { $1 }, launcher: launcher)
  }

  /// Returns all regular files below, including hidden ones, by their paths within that folder.
  func files(_ folder: String) -> Set<String> {
    let names =
      (try? FileManager.default.subpathsOfDirectory(
        atPath: bench.folder.appendingPathComponent(folder).path)) ?? []
    return Set(names.filter { $0.contains(".") })
  }

  func posts() throws -> Int {
    bench.hasCatalog ? try LibraryInspection(library: bench.library).published.count : 0
  }

  /// The notices, without those of slow files: on a busy machine, any file may be slow.
  func notices() -> [String] {
    events("watch.notice").filter { !$0.contains("it takes long to read") }
  }

  func events(_ type: String) -> [String] {
    let file = bench.folder.appendingPathComponent("events.jsonl")
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").filter { $0.contains("\"type\":\"\(type)\"") }.map(String.init)
  }

  /// Opens a file for writing. The writer closes it when it is done.
  func writing(_ name: String) throws -> FileHandle {
    let file = open(
      bench.clips.appendingPathComponent(name).path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    try #require(file >= 0)
    return FileHandle(fileDescriptor: file, closeOnDealloc: true)
  }

  static let video = Workbench.sample("clips/faststart.mp4")

  /// Returns the video with an appended box that makes it unique.
  static func video(_ number: Int) throws -> Data {
    try Data(contentsOf: video) + Data([0, 0, 0, 24]) + Data("free".utf8)
      + Data(String(format: "%016d", number).utf8)
  }
}
