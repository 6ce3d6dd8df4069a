import Foundation
import ReelCore
import Testing

@Suite struct ErrorMessageTests {
  /// A name chosen by a stranger.
  private let name = "`to`"

  @Test func onlySettingsAreNamedAnew() {
    let error = UploadError(.storeUnusable, "\(name) is full: name another with \(setting: .to)")
    #expect(error.message == "`to` is full: name another with `to`")
    #expect(error.text.naming { "--\($0)" } == "`to` is full: name another with --to")
  }

  @Test func settingsOutliveWhatIsMadeOfAMessage() {
    let inner: ErrorMessage = "use fewer \(setting: .jobs)"
    let outer: ErrorMessage = "\(name): " + "\(inner)" + (name.isEmpty ? "" : ", or \(setting: .to)")
    #expect(outer.naming { "--\($0)" } == "`to`: use fewer --jobs, or --to")
  }

  @Test func textNamesNoSetting() {
    let text = "use fewer `jobs`"
    #expect(CatalogError(.locked, text).text.naming { _ in "changed" } == text)
    #expect(PolicyViolation(rule: "rule", message: text).text.naming { _ in "changed" } == text)
  }

  @Test func inJSONItIsAString() throws {
    let error = UploadError(.unavailable, "use fewer \(setting: .uploads)", retryAfter: 2)
    let json = try JSONEncoder().encode(error)
    let keys = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(keys["message"] as? String == "use fewer `uploads`" && keys.count == 3)
    #expect(try JSONDecoder().decode(UploadError.self, from: json) == error)
    let probed = ProbeError(.noReader, "use fewer \(setting: .jobs)", found: "a video")
    #expect(try JSONDecoder().decode(ProbeError.self, from: JSONEncoder().encode(probed)) == probed)
  }
}
