import Foundation
import Testing

/// `reel verify`, with damage caused by disks and people.
@Suite struct VerifyTests {
  private func problems(_ outcome: ReelBinary.Outcome) throws -> [String: String] {
    let all = try #require(try outcome.object()["problems"] as? [[String: Any]])
    return Dictionary(
      uniqueKeysWithValues: all.compactMap { problem in
        (problem["key"] as? String).flatMap { key in (problem["kind"] as? String).map { (key, $0) } }
      })
  }

  @Test func damageIsFoundAndNamed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(6)
    #expect(try await bench.reel("ingest", "clips").status == 0)

    let sound = try await bench.reel("verify", "--read", "--json")
    #expect(sound.status == 0, "\(sound.errors)")
    let counted = try sound.object()
    #expect(counted["objects"] as? Int == 6 && counted["digestsCompared"] as? Int == 6)
    #expect(counted["complete"] as? Bool == true)

    let names = try bench.objects().sorted()
    let (missing, cut, flipped) = (names[0], names[1], names[2])
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(missing))
    let file = try FileHandle(forUpdating: bench.media.appendingPathComponent(cut))
    try file.truncate(atOffset: 100)
    let other = try FileHandle(forUpdating: bench.media.appendingPathComponent(flipped))
    try other.seek(toOffset: 50)
    try other.write(contentsOf: Data([0xAA, 0x55]))
    try other.close()

    let glance = try await bench.reel("verify", "--json")
    #expect(glance.status == 3)
    #expect(try problems(glance) == [missing: "missing", cut: "truncated"])
    let reading = try await bench.reel("verify", "--read", "--json")
    #expect(reading.status == 3)
    #expect(try problems(reading) == [missing: "missing", cut: "truncated", flipped: "differs"])
    #expect(try reading.object()["damaged"] as? Int == 3)

    let text = try await bench.reel("verify", "--read")
    #expect(text.status == 3)
    for (name, words) in [(missing, "is gone"), (cut, "has 100 bytes, not"), (flipped, "holds other bytes")] {
      #expect(text.output.split(separator: "\n").contains { $0.contains(name) && $0.contains(words) })
    }
    #expect(text.output.contains("3 damaged objects in"))
  }

  @Test func aStoreThatIsNotThereIsNoDamage() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let store = bench.folder.appendingPathComponent("store")
    #expect(try await bench.reel("ingest", "clips", "--to", store.path).status == 0)
    #expect(try await bench.reel("verify", "--to", store.path).status == 0)
    try FileManager.default.moveItem(at: store, to: bench.folder.appendingPathComponent("elsewhere"))
    let gone = try await bench.reel("verify", "--json")
    #expect(gone.status == 1)
    #expect(try gone.object()["unreachable"] as? Int == 1)
    #expect(try gone.object()["damaged"] as? Int == 0)
  }

  @Test func whatCannotBeLookedAt() async throws {
    let bench = try Workbench()
    let none = try await bench.reel("verify")
    #expect(none.status == 1 && none.errors.contains("there is no library"))
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let other = try await bench.reel("verify", "--to", "./never")
    #expect(other.status == 1 && other.errors.contains("no post was ever stored in"))
    #expect(try await bench.reel("verify", "--to", "gopher://x").status == 64)
    #expect(try await bench.reel("verify", "--jobs", "0").status == 64)
  }
}
