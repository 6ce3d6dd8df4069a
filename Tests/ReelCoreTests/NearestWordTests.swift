import ReelCore
import Testing

@Suite("the word that was meant")
struct NearestWordTests {
  private static let words = ["library", "to", "jobs", "mode", "publicBaseURL"]

  @Test(
    "it is the nearest word if at most a third of the letters differ, or one letter",
    arguments: [
      ("libary", "library"), ("lirbayr", "library"), ("job", "jobs"), ("Jobs", "jobs"), ("jbos", "jobs"),
      ("publicBaseUrl", "publicBaseURL"), ("t", "to"), ("ot", "to"), ("too", "to"),
    ])
  func near(typed: String, meant: String) {
    #expect(NearestWord.nearest(to: typed, among: Self.words) == meant)
  }

  @Test(
    "there is none if more letters differ",
    arguments: ["foo", "x", "", "jabbs", "mud", "liberate", "nonsense"])
  func far(typed: String) {
    #expect(NearestWord.nearest(to: typed, among: Self.words) == nil)
  }
}
