import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Good files with changed header fields: whatever these claim, no fact may be wrong without a warning.
///
/// The short form tests the same lies in every run; `REEL_LIES=N` makes N other ones from `REEL_SEED`.
/// `REEL_LIARS=webm` selects the recipes whose names contain that text, and `REEL_LIARS_EACH=1` prints the effect of
/// each field that was believed, without failing the test.
@Suite(.notQuick, .needsFFmpeg, .serialized)
struct LiarTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count =
    environment["REEL_LIES"].flatMap { Int($0) } ?? (TestForm.isLong ? 100_000 : 2500)
  private static let seed =
    environment["REEL_LIES"] != nil || TestForm.isLong ? TestSeed.drawn() : 37
  private static let recipes = (Recipe.all + more).filter { recipe in
    environment["REEL_LIARS"].map { recipe.name.contains($0) } ?? true
  }

  /// Further kinds of files: other audio, none, pixel shapes, rotations, colors, uneven frames, and more than is read
  /// completely.
  private static let more: [Recipe] = {
    func recipe(_ name: String, _ container: MediaContainer, _ arguments: String) -> Recipe {
      Recipe(name: name, container: container, arguments: arguments.split(separator: " ").map(String.init))
    }
    return [
      recipe("mp3.mp4", .mp4, "-c:v mpeg4 -c:a libmp3lame"),
      recipe("opus.mp4", .mp4, "-c:v libx264 -c:a libopus"),
      recipe("ac3.mp4", .mp4, "-c:v libx264 -c:a ac3"), recipe("pcm.mov", .mov, "-c:v mjpeg -c:a pcm_s16le"),
      recipe("prores.mov", .mov, "-pix_fmt yuv422p10le -c:v prores -c:a pcm_s24le -ac 2"),
      recipe("shape.mov", .mov, "-vf setsar=4/3 -c:v libx264 -c:a aac"),
      recipe("turned.mp4", .mp4, "-c:v libx264 -c:a aac -metadata:s:v rotate=90"),
      recipe(
        "hdr.mp4", .mp4,
        "-pix_fmt yuv420p10le -c:v libx265 -x265-params log-level=none -vf \(FFmpegTool.pq) -c:a aac"
      ),
      recipe("uneven.mp4", .mp4, "-vf select=not(mod(n\\,5))+lt(n\\,25) -fps_mode vfr -c:v libx264 -c:a aac"),
      recipe("silent.mp4", .mp4, "-c:v libx264 -an"), recipe("silent.mov", .mov, "-c:v mpeg4 -an"),
      recipe("silent-fragments.mp4", .mp4, "-c:v libx264 -g 10 -an -movflags frag_keyframe+empty_moov"),
      recipe("h263.3gp", .threeGP, "-s 176x144 -c:v h263 -c:a aac"),
      recipe("ac3.mkv", .matroska, "-c:v libx264 -c:a ac3"),
      recipe("mp3.mkv", .matroska, "-c:v mpeg4 -c:a libmp3lame"),
      recipe("flac.mkv", .matroska, "-c:v libx264 -c:a flac"),
      recipe("pcm.mkv", .matroska, "-c:v mjpeg -c:a pcm_s16le"),
      recipe("silent.mkv", .matroska, "-c:v libx264 -an"), recipe("silent.webm", .webm, "-c:v libvpx -an"),
      recipe("vorbis.webm", .webm, "-c:v libvpx -c:a libvorbis"),
      recipe(
        "long.mkv", .matroska,
        "-g 10 -c:v mpeg4 -c:a libmp3lame -filter:v loop=loop=24:size=50 -af aloop=loop=24:size=88200"),
      recipe("pcm.avi", .avi, "-c:v mjpeg -c:a pcm_s16le"),
      recipe("mp3.avi", .avi, "-c:v mpeg4 -c:a libmp3lame"),
      recipe("silent.avi", .avi, "-c:v mpeg4 -an"),
      recipe("mp3.flv", .flv, "-c:v flv -c:a libmp3lame -ar 44100"),
      recipe("silent.wmv", .asf, "-c:v wmv2 -an"), recipe("silent.ogv", .ogg, "-c:v libtheora -an"),
    ]
  }()

  @Test(.timeLimit(.minutes(240))) func noFieldIsBelievedInSilence() throws {
    var chance = SplitMix64(seed: Self.seed)
    let files = try Self.recipes.map(GoodFile.init)
    var believed: [String: Int] = [:]
    var told = 0
    // First each field in turn with one of its lies, then any lie about any file, a third of them in pairs.
    for file in files {
      for field in file.fields where told < Self.count {
        guard let lie = field.lies(about: file.bytes, &chance).randomElement(using: &chance) else { continue }
        told += 1
        judge(file, [(field, lie)], &believed)
      }
    }
    while told < Self.count {
      guard let file = files.filter({ !$0.fields.isEmpty }).randomElement(using: &chance) else { break }
      var lies: [(HeaderField, UInt64)] = []
      for _ in 0..<(Int.random(in: 0..<3, using: &chance) == 0 ? 2 : 1) {
        guard let field = file.fields.randomElement(using: &chance),
          let lie = field.lies(about: file.bytes, &chance).randomElement(using: &chance)
        else { continue }
        lies.append((field, lie))
      }
      told += 1
      judge(file, lies, &believed)
    }
    if Self.environment["REEL_LIARS_EACH"] != nil {
      for (field, count) in believed.sorted(by: { $0.key < $1.key }) { print("believed:", field, count) }
      print("believed in silence:", believed.values.reduce(0, +), "of", told)
    }
  }

  private func judge(
    _ file: GoodFile, _ lies: [(field: HeaderField, value: UInt64)], _ believed: inout [String: Int]
  ) {
    var bytes = file.bytes
    for lie in lies { lie.field.write(lie.value, into: &bytes) }
    HeaderField.seal(&bytes, file.container)
    guard let opened = OpenFile(holding: bytes), let container = opened.sniffed,
      let answer = try? opened.read(as: container).media
    else { return }
    let wrong = LieVerdict(truth: file.truth, answer: answer).silent(
      after: Set(lies.map(\.field.subject)), isPair: lies.count == 2)
    guard !wrong.isEmpty else { return }
    let what = lies.map { "\($0.field) = \($0.value) for \($0.field.value(in: file.bytes))" }
    if Self.environment["REEL_LIARS_EACH"] != nil {
      believed[
        "\(file.name) \(lies.map(\.field.name)): \(wrong.map { $0.prefix { $0 != " " } })", default: 0] += 1
      print("\(file.name): \(what): \(wrong)")
    } else {
      Issue.record("\(file.name): \(what): \(wrong) (REEL_SEED=\(Self.seed))")
    }
  }
}

/// An unchanged file.
private struct GoodFile {
  let name: String
  let container: MediaContainer
  let bytes: [UInt8]
  let truth: MediaInfo
  let fields: [HeaderField]

  init(_ recipe: Recipe) throws {
    let file = try FFmpegTool.make(
      recipe.name, FFmpegTool.picture + FFmpegTool.tone + ["-pix_fmt", "yuv420p"] + recipe.arguments)
    (name, container) = (recipe.name, recipe.container)
    bytes = file.allBytes
    truth = try file.read(as: recipe.container).media
    // With a warning already, no lie would go unnoticed.
    try #require(truth.warnings.isEmpty, "\(recipe.name): \(truth.warnings)")
    fields = HeaderField.all(of: bytes, recipe.container)
  }
}
