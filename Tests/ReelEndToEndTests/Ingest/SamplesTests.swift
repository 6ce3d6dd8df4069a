import Foundation
import ReelTestSupport
import Testing

/// The probe's results, compared against `Samples/manifest.json` for each sample.
@Suite("Every sample is what the manifest says", .shortTime)
struct SamplesTests {
  static var samples: [[String: Any]] {
    let file = ReelBinary.project.appendingPathComponent("Samples/manifest.json")
    let object = (try? JSONSerialization.jsonObject(with: Data(contentsOf: file))) as? [String: Any]
    return object?["samples"] as? [[String: Any]] ?? []
  }

  @Test("the manifest names every file, and every name has a file")
  func complete() async throws {
    let named = Set(Self.samples.compactMap { $0["path"] as? String })
    var found: Set<String> = []
    for folder in ["clips", "broken"] {
      let path = ReelBinary.project.appendingPathComponent("Samples/\(folder)").path
      for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasSuffix(".json") {
        found.insert("\(folder)/\(name)")
      }
    }
    #expect(named == found)
    #expect(named.count > 30)
  }

  @Test("the facts are the manifest's", arguments: samples.compactMap { $0["path"] as? String })
  func facts(path: String) async throws {
    let sample = try #require(Self.samples.first { $0["path"] as? String == path })
    let bench = try Workbench()
    let run = try await ReelBinary.run(["probe", "--json", Workbench.sample(path).path], in: bench.folder)
    let object = try run.object()
    let verdict = sample["verdict"] as? String
    if let claimed = sample["media"] as? [String: Any] {
      #expect(object["ok"] as? Bool == true, "\(run.output)")
      let media = try #require(object["media"] as? [String: Any])
      let tolerance = sample["durationTolerance"] as? Double ?? 0.1
      expect(media, agreesWith: claimed, "\(path)", tolerance)
    } else {
      #expect(object["ok"] as? Bool == false, "\(run.output)")
      #expect((object["error"] as? [String: Any])?["code"] as? String == sample["code"] as? String)
    }
    #expect(["publishable", "refused", "failed"].contains(verdict))
  }

  /// Checks every claim of the manifest; further facts are ignored.
  private func expect(_ said: Any?, agreesWith claimed: Any, _ place: String, _ tolerance: Double) {
    switch claimed {
    case let claims as [String: Any]:
      guard let said = said as? [String: Any] else {
        Issue.record("\(place) is missing")
        return
      }
      for (key, claim) in claims { expect(said[key], agreesWith: claim, "\(place).\(key)", tolerance) }
    case let claims as [Any]:
      let said = said as? [Any] ?? []
      #expect(said.count == claims.count, "\(place)")
      for (index, claim) in claims.enumerated() where index < said.count {
        expect(said[index], agreesWith: claim, "\(place)[\(index)]", tolerance)
      }
    case let claim as NSNumber where place.hasSuffix(".duration"):
      let said = (said as? NSNumber)?.doubleValue ?? .nan
      #expect(abs(said - claim.doubleValue) <= tolerance, "\(place): \(said), not \(claim)")
    case is NSNull: #expect(said is NSNull, "\(place): \(String(describing: said)), not null")
    default:
      #expect(
        (said as? NSObject)?.isEqual(claimed) == true, "\(place): \(String(describing: said)), not \(claimed)"
      )
    }
  }
}
