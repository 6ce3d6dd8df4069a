import ReelCore
import Testing

@Suite("the word that was meant")
struct NearestWordTests {
  private static let words = ["library", "to", "jobs", "mode", "publicBaseURL"]

  @Test(
    "is the nearest one, if at most a third of the letters differ, or one",
    arguments: [
      ("libary", "library"), ("lirbayr", "library"), ("job", "jobs"), ("Jobs", "jobs"), ("jbos", "jobs"),
      ("publicBaseUrl", "publicBaseURL"), ("t", "to"), ("ot", "to"), ("too", "to"),
    ])
  func near(typed: String, meant: String) {
    #expect(NearestWord.nearest(to: typed, among: Self.words) == meant)
  }

  @Test(
    "is none of those that differ more", arguments: ["foo", "x", "", "jabbs", "mud", "liberate", "nonsense"])
  func far(typed: String) {
    #expect(NearestWord.nearest(to: typed, among: Self.words) == nil)
  }
}
