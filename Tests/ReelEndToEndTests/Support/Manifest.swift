import Foundation

/// `Samples/manifest.json`, which describes each sample.
struct Manifest: Decodable {
  struct Sample: Decodable {
    let path: String
    let verdict: String
    let code: String?
  }
  let samples: [Sample]

  static func load() throws -> Manifest {
    try JSONDecoder().decode(
      Manifest.self,
      from: Data(contentsOf: ReelBinary.project.appendingPathComponent("Samples/manifest.json")))
  }
}
