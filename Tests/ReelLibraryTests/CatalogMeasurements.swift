import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

/// The catalog's cost on this machine, printed but not checked. Run it in a release build.
@Suite(
  .serialized, .enabled(if: ProcessInfo.processInfo.environment["REEL_MEASURE"] != nil, "set REEL_MEASURE"))
struct CatalogMeasurements {
  @Test(arguments: [1, 8, 64])
  func claimsPerSecond(atOnce width: Int) async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let sketch = Sketch()
    let requests = (0..<(width * 100)).map { _ in sketch.request(sketch.publication()) }
    let duration = try await ContinuousClock().measure {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for start in 0..<width {
          group.addTask {
            for index in stride(from: start, to: requests.count, by: width) {
              _ = try await catalog.claim(requests[index])
            }
          }
        }
        try await group.waitForAll()
      }
    }
    try await catalog.close()
    let rate = Double(requests.count) / (duration / .seconds(1))
    print("\(width) at once: \(Int(rate)) claims/s")
  }
}
