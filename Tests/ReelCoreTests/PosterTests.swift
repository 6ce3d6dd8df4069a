import ReelCore
import Testing

@Suite struct PosterTests {
  @Test(arguments: ProbeError.Code.allCases)
  func everyProbeErrorKeepsItsCode(_ code: ProbeError.Code) {
    let error = PosterError(ProbeError(code, "it is so"))
    #expect(error.code.rawValue == code.rawValue)
    #expect(error.message == "it is so")
    #expect(error.code.isInstallation == code.isInstallation)
  }

  @Test(arguments: [(0, 16), (16, 16), (512, 512), (4096, 4096), (100_000, 4096)])
  func aSizeIsOneThatMayBeAskedFor(_ wanted: Int, _ taken: Int) {
    #expect(PosterOptions(size: wanted).size == taken)
  }
}
