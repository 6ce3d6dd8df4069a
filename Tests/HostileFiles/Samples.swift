import Foundation

/// The honest videos that the hostile ones are made from.
struct Samples: Sendable {
  struct Clip: Sendable {
    let name: String
    let bytes: [UInt8]
    var path: String { "clips/" + name }
  }
  /// Sorted by name; without sidecars.
  let clips: [Clip]

  /// - Parameter folder: the project's `Samples`.
  init(in folder: URL) throws {
    let clips = folder.appendingPathComponent("clips")
    self.clips = try FileManager.default.contentsOfDirectory(atPath: clips.path).sorted()
      .filter { !$0.hasSuffix(".json") }
      .map { Clip(name: $0, bytes: Array(try Data(contentsOf: clips.appendingPathComponent($0)))) }
  }

  /// The bytes of a clip; none when there is no such clip.
  func bytes(_ name: String) -> [UInt8] {
    clips.first { $0.name == name }?.bytes ?? []
  }
}
