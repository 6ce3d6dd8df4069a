import Glibc
import ReelCore

/// A blur of a picture as a short text, by the published algorithm (<https://github.com/woltapp/blurhash>).
enum BlurHash {
  private typealias Light = SIMD3<Float>

  /// 4×3 components; 3×4 for a picture that is higher than wide. 28 characters.
  static func text(of picture: RawPicture) -> String {
    let isHigh = picture.height > picture.width
    return text(of: picture, across: isHigh ? 3 : 4, down: isHigh ? 4 : 3)
  }

  /// - Parameters: from 1 to 9 components each.
  static func text(of picture: RawPicture, across: Int, down: Int) -> String {
    let components = components(of: picture, across: across, down: down)
    var text: [UInt8] = []
    append(across - 1 + (down - 1) * 9, digits: 1, to: &text)
    let largest = components.dropFirst().map { max(abs($0.x), abs($0.y), abs($0.z)) }.max() ?? 0
    let step = components.count > 1 ? min(82, max(0, Int((largest * 166 - 0.5).rounded(.down)))) : 0
    append(step, digits: 1, to: &text)
    append(average(components[0]), digits: 4, to: &text)
    for component in components.dropFirst() {
      append(detail(component / (Float(step + 1) / 166)), digits: 2, to: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// How much of each cosine wave is in the picture, row by row; the average first.
  private static func components(of picture: RawPicture, across: Int, down: Int) -> [Light] {
    let (width, height) = (picture.width, picture.height)
    let waves = (0..<across).map { wave($0, width) }
    var components = [Light](repeating: .zero, count: across * down)
    let lights = SRGB.lights
    picture.bytes.withUnsafeBufferPointer { bytes in
      for y in 0..<height {
        var row = [Light](repeating: .zero, count: across)
        for x in 0..<width {
          let place = 3 * (y * width + x)
          let light = Light(
            lights[Int(bytes[place])], lights[Int(bytes[place + 1])], lights[Int(bytes[place + 2])])
          for i in 0..<across { row[i] += light * waves[i][x] }
        }
        for j in 0..<down {
          let factor = Float(cos(Double.pi * Double(j) * Double(y) / Double(height)))
          for i in 0..<across { components[j * across + i] += row[i] * factor }
        }
      }
    }
    let scale = 1 / Float(width * height)
    return components.enumerated().map { $1 * ($0 == 0 ? scale : 2 * scale) }
  }

  private static func wave(_ number: Int, _ length: Int) -> [Float] {
    (0..<length).map { Float(cos(Double.pi * Double(number) * Double($0) / Double(length))) }
  }

  private static func average(_ light: Light) -> Int {
    let byte = { (light: Float) in Int(SRGB.signal(Double(min(1, max(0, light)))) * 255 + 0.5) }
    return byte(light.x) << 16 | byte(light.y) << 8 | byte(light.z)
  }

  private static func detail(_ light: Light) -> Int {
    let level = { (light: Float) -> Int in
      let root = light < 0 ? -(-light).squareRoot() : light.squareRoot()
      return min(18, max(0, Int((root * 9 + 9.5).rounded(.down))))
    }
    return (level(light.x) * 19 + level(light.y)) * 19 + level(light.z)
  }

  private static let alphabet = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

  private static func append(_ value: Int, digits: Int, to text: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 83 }
    for _ in 0..<digits {
      text.append(alphabet[value / divisor % 83])
      divisor /= 83
    }
  }
}
