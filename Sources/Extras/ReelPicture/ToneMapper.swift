import Glibc

/// Maps wide colours and a high dynamic range to what an ordinary screen shows (sRGB).
///
/// PQ and HLG are converted to light (BT.2100), with diffuse white at 203 cd/m² (BT.2408). What is brighter is
/// compressed as in BT.2390, by the brightest of the three channels so that hues stay. The colours of BT.2020 are
/// converted to those of BT.709.
struct ToneMapper {
  private let colours: FrameColours
  /// The light of each value, 1 being diffuse white.
  private let light: [Float]

  /// The luminance of diffuse white in cd/m².
  private static let white = 203.0
  /// The number of values that are told apart.
  private static let steps = 4096

  init(_ colours: FrameColours) {
    self.colours = colours
    light = (0..<Self.steps).map { step in
      let signal = Double(step) / Double(Self.steps - 1)
      return switch colours.transfer {
      case .standard: Float(SRGB.light(signal))
      case .pq: Float(PQ.light(signal) / Self.white)
      case .hlg: Float(HLG.sceneLight(signal))
      }
    }
  }

  /// - Parameter channels: 3, or 4 with opacity, which is kept.
  /// - Returns: one byte for each channel of each pixel.
  func mapped(_ pixels: [UInt16], channels: Int) -> [UInt8] {
    let peak = peak(of: pixels, channels: channels)
    let curve = colours.transfer == .standard ? nil : Compression(peak: peak * Self.white, white: Self.white)
    var bytes = [UInt8](repeating: 255, count: pixels.count)
    pixels.withUnsafeBufferPointer { pixels in
      var place = 0
      while place + channels <= pixels.count {
        var (red, green, blue) = shown(pixels, place)
        if let curve {
          let factor = curve.factor(max(red, green, blue))
          (red, green, blue) = (red * factor, green * factor, blue * factor)
        }
        if colours.isWide { (red, green, blue) = Self.narrowed(red, green, blue) }
        bytes[place] = SRGB.byte(red)
        bytes[place + 1] = SRGB.byte(green)
        bytes[place + 2] = SRGB.byte(blue)
        if channels == 4 { bytes[place + 3] = UInt8(truncatingIfNeeded: pixels[place + 3] >> 8) }
        place += channels
      }
    }
    return bytes
  }

  /// Returns the light that a screen of 1000 cd/m² would show, 1 being diffuse white.
  private func shown(_ pixels: UnsafeBufferPointer<UInt16>, _ place: Int) -> (Float, Float, Float) {
    let red = light[Int(pixels[place] >> 4)]
    let green = light[Int(pixels[place + 1] >> 4)]
    let blue = light[Int(pixels[place + 2] >> 4)]
    guard colours.transfer == .hlg else { return (red, green, blue) }
    let luminance = 0.2627 * red + 0.678 * green + 0.0593 * blue
    let factor = HLG.factor(luminance) / Float(Self.white)
    return (red * factor, green * factor, blue * factor)
  }

  /// Returns the brightest light that is more than a speck.
  private func peak(of pixels: [UInt16], channels: Int) -> Double {
    var counts = [Int](repeating: 0, count: 256)
    let count = pixels.count / channels
    pixels.withUnsafeBufferPointer { pixels in
      for pixel in 0..<count {
        let (red, green, blue) = shown(pixels, pixel * channels)
        let brightest = Double(max(red, green, blue)) * Self.white
        counts[min(255, max(0, Int(PQ.signal(brightest) * 255)))] += 1
      }
    }
    var left = count / 2000
    for step in counts.indices.reversed() {
      left -= counts[step]
      if left < 0 { return PQ.light(Double(step + 1) / 255) / Self.white }
    }
    return 1
  }

  /// Converts red, green and blue of BT.2020 to those of BT.709 (BT.2087).
  private static func narrowed(_ red: Float, _ green: Float, _ blue: Float) -> (Float, Float, Float) {
    (
      1.6605 * red - 0.5876 * green - 0.0728 * blue, -0.1246 * red + 1.1329 * green - 0.0083 * blue,
      -0.0182 * red - 0.1006 * green + 1.1187 * blue
    )
  }
}

/// The curve of BT.2390, 5.4: what is brighter than a screen can show is bent below its white, and what is dark stays.
private struct Compression {
  private let factors: [Float]
  private static let steps = 1024
  private static let top = 50.0

  /// Creates the curve for a peak and a white in cd/m². Nil if the peak is no brighter than white.
  init?(peak: Double, white: Double) {
    guard peak > white else { return nil }
    let source = PQ.signal(peak)
    let target = PQ.signal(white) / source
    let knee = 1.5 * target - 0.5
    factors = (0..<Self.steps).map { step in
      // The steps are finer where it is dark.
      let light = Self.top * pow(Double(step) / Double(Self.steps - 1), 2)
      guard light > 0 else { return 1 }
      let signal = min(1, PQ.signal(light * white) / source)
      guard signal > knee else { return 1 }
      let t = (signal - knee) / (1 - knee)
      let (t2, t3) = (t * t, t * t * t)
      let bent =
        (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * target
      return Float(PQ.light(bent * source) / white / light)
    }
  }

  /// Returns the factor by which light of this brightness is multiplied.
  func factor(_ light: Float) -> Float {
    let place = min(1, max(0, light) / Float(Self.top)).squareRoot() * Float(Self.steps - 1)
    let step = min(Self.steps - 2, Int(place))
    // Interpolate: within a step, brighter light would otherwise come out darker than at the beginning of the next.
    return factors[step] + (factors[step + 1] - factors[step]) * (place - Float(step))
  }
}

/// SMPTE ST 2084.
private enum PQ {
  private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
  private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)

  /// Returns the cd/m² of a signal from 0 to 1.
  static func light(_ signal: Double) -> Double {
    let power = pow(max(0, signal), 1 / m2)
    return 10_000 * pow(max(0, power - c1) / (c2 - c3 * power), 1 / m1)
  }

  /// Returns the signal of a number of cd/m².
  static func signal(_ light: Double) -> Double {
    let power = pow(min(1, max(0, light / 10_000)), m1)
    return pow((c1 + c2 * power) / (1 + c3 * power), m2)
  }
}

/// ARIB STD-B67, as defined in BT.2100.
private enum HLG {
  private static let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)

  /// Returns the light of the scene, from 0 to 1.
  static func sceneLight(_ signal: Double) -> Double {
    signal <= 0.5 ? signal * signal / 3 : (exp((signal - c) / a) + b) / 12
  }

  /// Returns the cd/m² that a screen of 1000 cd/m² shows for each unit of a scene's light of this luminance.
  static func factor(_ luminance: Float) -> Float {
    luminance > 0 ? 1000 * powf(luminance, 0.2) : 0
  }
}

/// IEC 61966-2-1.
enum SRGB {
  /// Returns the light of a signal, both from 0 to 1.
  static func light(_ signal: Double) -> Double {
    signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4)
  }

  /// Returns the signal of an amount of light, both from 0 to 1.
  static func signal(_ light: Double) -> Double {
    light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
  }

  /// The light of each byte.
  static let lights: [Float] = (0...255).map { Float(light(Double($0) / 255)) }

  /// Returns the byte of an amount of light, which is clamped to between 0 and 1.
  static func byte(_ light: Float) -> UInt8 {
    bytes[Int(min(1, max(0, light)).squareRoot() * 4095 + 0.5)]
  }

  /// The bytes, by the square root of the light.
  private static let bytes: [UInt8] = (0...4095).map {
    UInt8(min(255, max(0, signal(pow(Double($0) / 4095, 2)) * 255 + 0.5)))
  }
}
