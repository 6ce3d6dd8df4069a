import ReelCore

/// What does it give away, and is its name safe?
enum PrivacyRules {
  static let all = [location, name]

  private static let location = Rule.media(
    "privacy.location", "the file does not tell where it was recorded",
    "Phones write the place of a recording into the file, and whoever gets the file gets the place. Reel never "
      + "shows the place itself."
  ) { media in
    .judging(media.hasLocation, unknown: "whether it tells where it was recorded") { tells in
      tells
        ? .broken(
          "it tells where it was recorded", expected: "no location", found: "a location",
          mend: "ffmpeg -i FILE -map 0:v -map 0:a -map_metadata -1 -c copy OUT.mp4")
        : .passed
    }
  }

  private static let name = Rule(
    "name.unsafe", "the name is safe in a shell, a URL and on other systems",
    "It is not empty, begins with no dash and no space, ends with no space or dot, is UTF-8, and has no control "
      + "characters and none of < > : \" \\ | ? * (Windows refuses those). Rename the file."
  ) { facts in
    guard let flaw = NameFlaw.flaw(of: facts.path.lastComponent) else { return .passed }
    return .broken(
      "its name \(flaw)", expected: "a name that is safe everywhere", found: facts.path.lastComponent.text,
      mend: nil)
  }
}

/// What makes a name unsafe.
enum NameFlaw {
  /// Characters that Windows does not allow in names (Microsoft, "Naming Files, Paths, and Namespaces").
  private static let refused: Set<Unicode.Scalar> = ["<", ">", ":", "\"", "\\", "|", "?", "*"]

  /// What is wrong, to follow "its name"; nil when nothing is.
  static func flaw(of name: SourcePath) -> String? {
    guard name.isUTF8 else { return "is not UTF-8" }
    let scalars = Array(name.text.unicodeScalars)
    if scalars.first == "-" { return "begins with a dash, which programs take for an option" }
    if scalars.first == " " || scalars.last == " " { return "begins or ends with a space" }
    if scalars.last == "." { return "ends with a dot" }
    if scalars.contains(where: isInvisible) { return "has characters that cannot be seen" }
    if let first = scalars.first(where: { refused.contains($0) }) {
      return "has \(first), which not every system allows"
    }
    return nil
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
    case .format: scalar.value != 0x200D && scalar.value != 0x200C
    default: false
    }
  }
}
