import ReelCore

/// Assembles policies from files and presets.
package struct PolicyLibrary: Sendable {
  /// Returns the bytes of the policy file `name`, as written in the file `from` (nil: on the command line), and the
  /// name by which messages refer to it; throws if it can't be read.
  package typealias Loader =
    @Sendable (_ name: String, _ from: String?) throws(PolicyError) -> (
      bytes: [UInt8], source: String
    )

  /// The name of the rules that apply by default.
  package static let sanity = "sanity"
  /// The value of `extends` for a policy that builds on nothing.
  package static let nothing = "none"
  private static let deepest = 8

  private let load: Loader

  package init(load: @escaping Loader) {
    self.load = load
  }

  /// Returns a policy with everything that it extends.
  /// - Parameter name: a preset, or a policy file.
  /// - Throws: ``PolicyError``.
  package func policy(_ name: String) throws(PolicyError) -> Policy {
    let whole = try resolved(name, from: nil, place: nil, trail: [])
    return try Policy(
      name: whole.name ?? name, version: whole.version, settings: whole.settings,
      overrides: whole.overrides)
  }

  /// Whether `name` is meant as a file: it has a slash or a dot.
  package static func isFile(_ name: String) -> Bool {
    name.contains("/") || name.contains(".")
  }

  private func resolved(
    _ name: String, from: String?, place: PolicyPlace?, trail: [String]
  ) throws(PolicyError) -> PolicyDocument {
    let (bytes, source) = try bytes(of: name, from: from, place: place)
    guard !trail.contains(source), trail.count < Self.deepest else {
      throw PolicyError([
        (place ?? PolicyPlace(source: source, line: nil, column: nil)).problem(
          "extends forms a loop, or is nested too deeply: \((trail + [source]).joined(separator: " > "))")
      ])
    }
    var whole = try PolicyYAML.read(bytes, source: source)
    var below = PolicyDocument()
    for base in bases(of: whole, source) where base.name != Self.nothing {
      let more = try resolved(base.name, from: source, place: base.place, trail: trail + [source])
      below.settings = Policy.merged(below.settings, more.settings)
      below.overrides += more.overrides
    }
    whole.settings = Policy.merged(below.settings, whole.settings)
    whole.overrides = below.overrides + whole.overrides
    return whole
  }

  private func bases(of document: PolicyDocument, _ source: String) -> [PolicyDocument.Base] {
    if let named = document.extends { return named }
    guard source != Self.sanity else { return [] }
    return [
      PolicyDocument.Base(
        name: Self.sanity, place: PolicyPlace(source: source, line: nil, column: nil))
    ]
  }

  private func bytes(
    of name: String, from: String?, place: PolicyPlace?
  ) throws(PolicyError) -> ([UInt8], String) {
    if let preset = Preset.named(name) { return (Array(preset.text.utf8), preset.name) }
    guard Self.isFile(name) else {
      let names = Preset.all.map(\.name)
      let hint = NearestWord.nearest(to: name, among: names).map { " (did you mean \($0)?)" } ?? ""
      let message =
        "there is no preset \"\(name.prefix(60))\"\(hint); the presets are "
        + "\(names.joined(separator: ", ")); to use a file, give its name with the extension, like policy.yaml"
      throw PolicyError([place?.problem(message) ?? PolicyProblem(source: "", message: message)])
    }
    return try load(name, from)
  }
}
