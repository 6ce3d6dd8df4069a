import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@Suite("unguessable names")
struct NamesTests {
  @Test("a name has 22 characters of base 62 and the real extension")
  func shape() throws {
    let key = ObjectKey(random: SeededRandomness(seed: 1), container: .mov)
    let parts = key.rawValue.split(separator: ".")
    #expect(parts.count == 2)
    #expect(parts[0].count == 22)
    #expect(parts[1] == "mov")
    #expect(parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
    #expect(ObjectKey(key.rawValue) == key)
  }

  @Test("the length is clamped to its range", arguments: [(1, 16), (16, 16), (40, 40), (500, 64)])
  func length(asked: Int, given: Int) {
    let key = ObjectKey(random: SeededRandomness(seed: 2), container: .mp4, length: asked)
    #expect(key.rawValue.count == given + 4)
  }

  @Test("every character of the alphabet is about equally frequent")
  func uniform() {
    let name = SeededRandomness(seed: 3).name(length: 62_000)
    let counts = Dictionary(name.map { ($0, 1) }, uniquingKeysWith: +)
    #expect(counts.count == 62)
    #expect(counts.values.allSatisfy { (800...1200).contains($0) })
  }

  @Test("so is every character from the system's generator")
  func systemUniform() {
    let name = SystemRandomness().name(length: 62_000)
    let counts = Dictionary(name.map { ($0, 1) }, uniquingKeysWith: +)
    // Within six standard deviations.
    #expect(counts.count == 62)
    #expect(counts.values.allSatisfy { (800...1200).contains($0) })
  }

  @Test("numbers beyond a byte are drawn from their whole range")
  func wide() {
    let system = SystemRandomness()
    let numbers = (0..<1000).map { _ in system.number(below: 1 << 40) }
    #expect(numbers.allSatisfy { $0 < 1 << 40 })
    #expect(numbers.contains { $0 > 1 << 38 })
    #expect(Set(numbers).count > 990)
  }

  @Test("10,000 names from the system's generator are different")
  func different() {
    let names = Set((0..<10_000).map { _ in SystemRandomness().name(length: 22) })
    #expect(names.count == 10_000)
  }

  @Test(
    "a name that could leave the store, hide in it or break an address is not a key",
    arguments: [
      "", ".", "..", ".hidden", "-x", "a/b", "../a", "a\\b", "a b", "a\n", "ä.mp4", "a\u{0}b", "a?b", "a#b",
      "a%2fb",
      String(repeating: "a", count: 201),
    ])
  func refused(text: String) {
    #expect(ObjectKey(text) == nil)
    let json = try? JSONEncoder().encode([text])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([ObjectKey].self, from: json ?? Data())
    }
  }
}

@Suite("post IDs")
struct PostIDTests {
  @Test("IDs are UUIDs of version 7 that contain their time")
  func version() throws {
    let moment = Date(timeIntervalSince1970: 1_645_557_742)
    let id = PostID(at: moment, random: SeededRandomness(seed: 4))
    let text = id.description
    #expect(text.hasPrefix("017f22e2-79b0-7"))
    #expect(["8", "9", "a", "b"].contains(text.split(separator: "-")[3].first))
    #expect(PostID(text) == id)
    #expect(PostID("nonsense") == nil)
  }

  @Test("IDs sort by time")
  func sorting() {
    let random = SeededRandomness(seed: 5)
    let ids = (0..<100).map { PostID(at: Date(timeIntervalSince1970: Double($0)), random: random) }
    #expect(ids == ids.sorted())
  }
}
