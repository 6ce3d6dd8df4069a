import Foundation
import Testing

@testable import ReelPicture

/// Colors of an ordinary screen, encoded as BT.2100 signals by its formulas, are restored; anything brighter than
/// diffuse white (203 cd/m², BT.2408) keeps its order.
@Suite struct ToneMapperTests {
  private typealias Light = (Double, Double, Double)

  static let colours: [(UInt8, UInt8, UInt8)] = [
    (0, 0, 0), (255, 255, 255), (128, 128, 128), (20, 20, 20), (200, 30, 30), (30, 200, 30), (30, 30, 200),
    (250, 220, 40), (0, 190, 190), (240, 190, 160), (90, 60, 40),
  ]

  @Test(arguments: [FrameColours.Transfer.pq, .hlg, .standard], colours)
  func coloursComeBack(_ transfer: FrameColours.Transfer, _ colour: (UInt8, UInt8, UInt8)) {
    let wide = Self.wide(Self.light(colour))
    let signal = Self.signal(wide, transfer)
    let pixel = [signal.0, signal.1, signal.2].map { UInt16((min(1, max(0, $0)) * 65_535).rounded()) }
    // There are other pixels after it, so that one pixel is not the whole picture.
    let shown = ToneMapper(FrameColours(transfer: transfer, isWide: true)).mapped(
      pixel + Array(repeating: 0, count: 300), channels: 3)
    let wanted = [colour.0, colour.1, colour.2]
    for (found, wanted) in zip(shown, wanted) {
      #expect(abs(Int(found) - Int(wanted)) <= 6, "\(shown.prefix(3))")
    }
  }

  @Test(arguments: [FrameColours.Transfer.pq, .hlg])
  func brighterIsNeverDarker(_ transfer: FrameColours.Transfer) {
    let greys = (0..<2000).map { UInt16($0 * 32) }
    let shown = ToneMapper(FrameColours(transfer: transfer, isWide: true)).mapped(
      greys.flatMap { [$0, $0, $0] }, channels: 3)
    let levels = stride(from: 0, to: shown.count, by: 3).map { shown[$0] }
    #expect(zip(levels, levels.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(levels.first == 0 && (levels.last ?? 0) > 245)
    // A gray remains gray.
    #expect(
      stride(from: 0, to: shown.count, by: 3).allSatisfy { abs(Int(shown[$0]) - Int(shown[$0 + 2])) <= 2 })
  }

  /// A sky of 1000 cd/m² leaves the shadows as they were.
  @Test func highlightsDoNotDarkenTheRest() {
    let light = { (nits: Double) in UInt16(Self.pq(nits) * 65_535) }
    let sky = Array(repeating: light(1000), count: 3000)
    let mapper = ToneMapper(FrameColours(transfer: .pq, isWide: true))
    let alone = mapper.mapped([light(50), light(50), light(50)], channels: 3)[0]
    let beneath = mapper.mapped([light(50), light(50), light(50)] + sky, channels: 3)
    #expect(abs(Int(alone) - Int(beneath[0])) <= 8)
    #expect(beneath[3] > 240)
  }

  @Test func opacityIsKept() {
    let shown = ToneMapper(FrameColours(transfer: .pq, isWide: true)).mapped([0, 0, 0, 0x8000], channels: 4)
    #expect(shown == [0, 0, 0, 0x80])
  }

  // MARK: The inverse of BT.2100

  private static func light(_ colour: (UInt8, UInt8, UInt8)) -> Light {
    let one = { (byte: UInt8) -> Double in
      let signal = Double(byte) / 255
      return signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4)
    }
    return (one(colour.0), one(colour.1), one(colour.2))
  }

  /// Converts to BT.2020 as in BT.2087.
  private static func wide(_ light: Light) -> Light {
    (
      0.6274 * light.0 + 0.3293 * light.1 + 0.0433 * light.2,
      0.0691 * light.0 + 0.9195 * light.1 + 0.0114 * light.2,
      0.0164 * light.0 + 0.0880 * light.1 + 0.8956 * light.2
    )
  }

  private static func signal(_ light: Light, _ transfer: FrameColours.Transfer) -> Light {
    switch transfer {
    case .standard:
      let one = { (light: Double) in light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
      }
      return (one(light.0), one(light.1), one(light.2))
    case .pq: return (pq(light.0 * 203), pq(light.1 * 203), pq(light.2 * 203))
    case .hlg:
      let luminance = 203 * (0.2627 * light.0 + 0.678 * light.1 + 0.0593 * light.2)
      guard luminance > 0 else { return (0, 0, 0) }
      let factor = 0.203 * pow(luminance / 1000, (1 - 1.2) / 1.2)
      return (hlg(light.0 * factor), hlg(light.1 * factor), hlg(light.2 * factor))
    }
  }

  private static func pq(_ light: Double) -> Double {
    let power = pow(light / 10_000, 0.1593017578125)
    return pow((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power), 78.84375)
  }

  private static func hlg(_ light: Double) -> Double {
    light <= 1.0 / 12 ? sqrt(3 * light) : 0.17883277 * log(12 * light - 0.28466892) + 0.55991073
  }
}
