import Foundation
import ReelCore
import ReelStorage
import Testing
import ReelTestSupport

/// A temporary folder with adapters in it; removed with this value.
final class AdapterFolder: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "reel-command-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func path(of name: String) -> String { path + "/" + name }

  /// The names in the subfolder `name`, without hidden ones.
  func names(in name: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path(of: name))) ?? []
    return names.filter { !$0.hasPrefix(".") }
  }

  /// Writes a shell adapter that reads its request into `$request` and then runs `body`; returns its path.
  func adapter(_ body: String) throws -> String {
    try file("adapter-\(UUID().uuidString).sh", "#!/bin/sh\nread -r request\n" + body + "\n")
  }

  /// Writes a program with this text; returns its path.
  func file(_ name: String, _ text: String, mode: Int = 0o755) throws -> String {
    let file = path(of: name)
    try Data(text.utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }

  /// Returns an uploader that runs the program at `program`.
  func uploader(
    _ program: String, store: String? = nil, environment: [String: String] = [:], allowing: [String] = [],
    publicBaseURL: String? = "https://media.example", silence: Duration = .seconds(60),
    grace: Duration = .seconds(2)
  ) throws -> CommandUploader {
    let all = ["PATH": "/usr/bin:/bin", "REEL_ADAPTER_FOLDER": path(of: "store")].merging(environment) { $1 }
    return CommandUploader(
      try #require(AdapterProgram(path: program, store: store)),
      environment: AdapterEnvironment(of: all, allowing: allowing), publicBaseURL: publicBaseURL,
      temporaries: path, silence: silence, grace: grace)
  }
}

/// The adapters that are meant to be copied.
enum SampleAdapter: String, CaseIterable, Sendable {
  case python = "folder.py"
  case shell = "folder.sh"

  var path: String {
    Checkout.root.appending(path: "Samples/adapters/" + rawValue).path
  }
}
