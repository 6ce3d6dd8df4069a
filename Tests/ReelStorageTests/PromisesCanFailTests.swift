import ReelCore
import ReelStorageTesting
import Testing

/// A promise that no uploader can break proves nothing.
@Suite struct PromisesCanFailTests {
  static let caughtBy: [BrokenUploader.Mistake: Set<String>] = [
    .overwrites: ["upload.neverOverwrites", "upload.oneWinner"],
    .leavesPartsOnThrow: [
      "source.changed", "source.fails", "source.shrunk", "source.grown", "cancel.midway",
    ],
    .showsPartsMidway: ["upload.onlyWholeIsSeen"],
    .liesAboutSize: ["upload.empty", "upload.oneByte", "upload.small", "upload.large"],
    .liesAboutKey: ["upload.empty", "upload.small"],
    .dropsTheEnd: ["upload.oneByte", "upload.small", "upload.large"],
    .swallowsSourceErrors: ["source.fails", "source.shrunk"],
    .trustsTheLength: ["source.grown"],
    .neverHashes: ["source.changed", "source.changedSilently"],
    .readsPastTheEnd: ["source.grown"],
    .ignoresCancellation: ["cancel.midway", "cancel.before"],
    .looksThenCreates: ["upload.oneWinner"],
    .progressFalls: ["progress.honest"],
    .progressStopsShort: ["progress.honest"],
    .progressOverflows: ["progress.honest"],
    .reportsEveryKilobyte: ["progress.sparse"],
    .findThrowsForNothing: ["find.nothing"],
    .removeThrowsForNothing: ["remove.nothing"],
    .removeDoesNothing: ["remove.gone"],
    .removesByPrefix: ["remove.onlyThat"],
    .removesOnce: ["remove.again", "remove.atOnce"],
    .looksThenRemoves: ["remove.atOnce"],
    .removesInSecret: ["remove.gone", "remove.again"],
    .leavesSomethingUnsaid: ["remove.gone"],
    .foldsCase: ["upload.keys"],
    .prepareEmptiesTheStore: ["prepare.sparesOthers"],
    .wrongCodeForExisting: ["upload.neverOverwrites"],
    .changingDestination: ["destination.settled"],
    .forgetsOtherUploaders: ["find.others"],
    .silentMessages: ["upload.neverOverwrites"],
  ]

  @Test("each mistake is detected by the promise that it breaks", arguments: BrokenUploader.Mistake.allCases)
  func mistakes(_ mistake: BrokenUploader.Mistake) async throws {
    let expected = try #require(Self.caughtBy[mistake])
    let broken = await contractViolations(mistake)
    #expect(expected.isSubset(of: broken))
  }

  @Test("without a mistake the store keeps every promise", arguments: UploaderContractTest.all)
  func noMistake(_ promise: UploaderContractTest) async throws {
    let store = BrokenUploader.Store()
    try await promise.check(StoreUnderTest(largeSize: 3 << 20 + 1) { BrokenUploader(nil, store: store) })
  }

  @Test func everyPromiseIsBrokenBySomebody() {
    let caught = Self.caughtBy.values.reduce(into: Set<String>()) { $0.formUnion($1) }
    let untested = UploaderContractTest.all.map(\.name).filter { !caught.contains($0) }
    // A store behind a single lock can't break `upload.sideBySide`.
    #expect(untested == ["upload.sideBySide"])
  }

  @Test func namesAreUnique() {
    let names = UploaderContractTest.all.map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func aBrokenPromiseSaysWhich() async throws {
    let store = BrokenUploader.Store()
    let promise = try #require(UploaderContractTest.all.first { $0.name == "upload.small" })
    let broken = await #expect(throws: ContractViolation.self) {
      try await promise.check(StoreUnderTest { BrokenUploader(.dropsTheEnd, store: store) })
    }
    #expect(broken?.promise == "upload.small")
    #expect(broken?.sentence == promise.sentence)
    #expect(broken?.detail.contains("999 bytes instead of 1000") == true)
  }

  private func contractViolations(_ mistake: BrokenUploader.Mistake) async -> Set<String> {
    var broken: Set<String> = []
    for promise in UploaderContractTest.all {
      let store = BrokenUploader.Store()
      do throws(ContractViolation) {
        try await promise.check(
          StoreUnderTest(largeSize: 3 << 20 + 1) { BrokenUploader(mistake, store: store) })
      } catch {
        broken.insert(error.promise)
      }
    }
    return broken
  }
}
