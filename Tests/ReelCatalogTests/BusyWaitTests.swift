import Testing

@testable import ReelCatalog

@Suite struct BusyWaitTests {
  @Test(arguments: [0, 0.05, 0.25, 1, 10])
  func waitsAsLongAsItMayAndNoLonger(seconds: Double) {
    let wait = BusyWait(longest: seconds)
    var waited = 0.0
    var tries = 0
    while let pause = wait.pause(after: tries) {
      #expect(pause <= 0.004)
      waited += pause
      tries += 1
    }
    #expect(abs(waited - seconds) <= 0.004)
  }
}
