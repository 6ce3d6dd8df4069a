import ReelCore
import ReelLibrary
import ReelTerminal
import Testing

@Suite struct VerificationViewTests {
  private func message(_ store: String, _ verdict: ObjectVerdict = .missing) throws -> String {
    let object = ExaminedObject(
      id: try Samples.post().id, key: try #require(ObjectKey("k.mp4")), size: 3,
      digest: try #require(ContentDigest(sha256: (0..<32).map { $0 })), state: .published,
      changedAt: Samples.moment)
    var view = VerificationView(library: "lib", wasRead: true, json: false, traits: TerminalTraits())
    return try view.text(.verified(VerifiedObject(object, in: Destination(store), verdict: verdict)))
  }

  @Test(
    "doctor is advised where it can put an object back, and a store that needs a secret is named",
    arguments: [
      ("file:///srv/media", ""), ("firebase://b/v", ""), ("firebase+http://127.0.0.1:9199/b", ""),
      ("s3://b/v", " --to 's3://b/v'"), ("s3+https://h/b", " --to 's3+https://h/b'"),
    ])
  func putBack(_ store: String, _ named: String) throws {
    #expect(try message(store).contains("reel doctor --fix\(named) --from FOLDER puts it back"))
    let digest = try #require(ContentDigest(sha256: (1..<33).map { $0 }))
    #expect(
      try message(store, .otherBytes(digest)).contains(
        "reel doctor --fix --read\(named) --from FOLDER puts it back"))
  }

  @Test(
    "doctor is not advised for other stores",
    arguments: ["tus+https://h/files/", "command:/opt/adapter", "shelf:tests"])
  func byHand(_ store: String) throws {
    #expect(try message(store).contains("is gone; put it back from a backup of the store"))
  }
}
