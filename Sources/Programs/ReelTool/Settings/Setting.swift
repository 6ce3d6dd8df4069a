import ArgumentParser
import ReelCore

/// One setting: its name, how its value is written, and the help of its flag. ``SettingTable`` lists them all.
struct Setting<Value: Sendable>: Sendable {
  /// The name in the configuration file, from which the names of its variable and its flag are derived.
  let key: String
  let form: SettingForm<Value>
  fileprivate let help: ArgumentHelp
  fileprivate let completion: CompletionKind?

  /// - Parameter help: nil for a setting without a flag.
  init(
    _ key: String, _ form: SettingForm<Value>, _ help: String? = nil, valueName: String? = nil,
    completion: CompletionKind? = nil
  ) {
    (self.key, self.form, self.completion) = (key, form, completion)
    self.help = ArgumentHelp(help ?? "", valueName: valueName)
  }
}

/// How the value of a setting is written.
struct SettingForm<Value: Sendable>: Sendable {
  /// Parses the text of a flag; nil where `ExpressibleByArgument` does.
  var argument: (@Sendable (String) throws -> Value)?
  /// What is wrong with a flag's value, as the end of a sentence.
  var problem: @Sendable (Value) -> String? = { _ in nil }
  /// Parses the text of a variable or of the configuration file.
  let read: @Sendable (SettingText) throws(SettingRefusal) -> Value
}

/// The text of a variable or of the configuration file; never empty.
struct SettingText {
  let text: String
  let isVariable: Bool
  /// Whether it is quoted in YAML, which makes a word such as `yes` text rather than a truth value.
  let isQuoted: Bool
}

/// What is wrong with a value, as the end of a sentence.
struct SettingRefusal: Error {
  let reason: String
}

extension SettingForm {
  /// A form for values from variables and from the configuration file.
  /// - Parameters:
  ///   - form: what a value must be, as the end of a sentence.
  ///   - parse: returns nil for an invalid value.
  static func value(_ form: String, _ parse: @escaping @Sendable (String) -> Value?) -> SettingForm {
    SettingForm { text throws(SettingRefusal) in
      guard let value = parse(text.text) else { throw SettingRefusal(reason: "must be \(form)") }
      return value
    }
  }

  /// The same, also for the value of a flag.
  static func parsed(_ form: String, _ parse: @escaping @Sendable (String) -> Value?) -> SettingForm {
    var parsed = value(form, parse)
    parsed.argument = { text in
      guard let value = parse(try RawArguments.text(text)) else {
        throw ValidationError("it must be \(form)")
      }
      return value
    }
    return parsed
  }

  /// This form, with a check of a flag's value.
  func checking(_ problem: @escaping @Sendable (Value) -> String?) -> SettingForm {
    var form = self
    form.problem = problem
    return form
  }
}

extension SettingForm where Value: CaseIterable & RawRepresentable<String> {
  static var choice: SettingForm {
    value("one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))") { Value(rawValue: $0) }
  }
}

extension SettingForm<String> {
  /// Any text.
  static var text: SettingForm { SettingForm(argument: { try RawArguments.text($0) }) { $0.text } }

  /// A file, a folder or a destination of Reel's own.
  static var place: SettingForm {
    SettingForm(argument: { try RawArguments.place($0) }) { text throws(SettingRefusal) in
      if ShellWord.unexpandedHome(in: text.text) != nil {
        throw SettingRefusal(reason: "must be a full path: no shell expands \(text.text.prefix(1)) here")
      }
      return text.text
    }
  }
}

extension SettingForm<Int> {
  /// - Parameter unit: what the number counts, for the message about a flag.
  static func number(_ range: ClosedRange<Int>, of unit: String? = nil) -> SettingForm {
    let span = "from \(range.lowerBound) to \(range.upperBound)"
    let name = unit.map { "a number of \($0)" } ?? "a number"
    return value("a whole number \(span)") { Int($0).flatMap { range.contains($0) ? $0 : nil } }
      .checking { range.contains($0) ? nil : "must be \(name) \(span)" }
  }
}

extension SettingForm<Int> {
  /// Whole seconds.
  /// - Parameter limits: `range` in words.
  static func time(_ range: ClosedRange<Int>, _ limits: String) -> SettingForm {
    let bounds = Double(range.lowerBound)...Double(range.upperBound)
    var form = value("\(TimeText.form), \(limits)") { text in
      TimeText.seconds(text).flatMap { bounds.contains($0) ? Int($0) : nil }
    }
    form.argument = { Int(try TimeText.argument(bounds, limits)($0)) }
    return form
  }
}

extension SettingForm<Double> {
  static var seconds: SettingForm {
    let limits = "above 0, up to 1h"
    var form = value("\(TimeText.form), \(limits)") { text in
      TimeText.seconds(text).flatMap { $0 > 0 && $0 <= 3600 ? $0 : nil }
    }
    form.argument = TimeText.argument(Double.leastNonzeroMagnitude...3600, limits)
    return form
  }
}

extension SettingForm<Bool> {
  private static var wordsOfVariables: [String: Bool] {
    ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]
  }
  private static var wordsOfYAML: [String: Bool] {
    ["true": true, "yes": true, "on": true, "false": false, "no": false, "off": false]
  }

  static var yesOrNo: SettingForm {
    SettingForm { text throws(SettingRefusal) in
      let words = text.isVariable ? wordsOfVariables : text.isQuoted ? [:] : wordsOfYAML
      guard let isSet = words[text.text.lowercased()] else {
        throw SettingRefusal(reason: "must be true or false")
      }
      return isSet
    }
  }
}

// MARK: Names

/// A row of ``SettingTable``, whatever the type of its value.
protocol SettingRow: Sendable {
  var key: String { get }
  /// - Throws: ``SettingRefusal``.
  func read(_ text: SettingText) throws(SettingRefusal) -> any Sendable
  /// The value given by a flag; nil when the flag is absent.
  /// - Parameter wrapper: the flag's `Option` or `Flag`.
  func given(_ wrapper: Any) -> (any Sendable)?
  func problem(with value: any Sendable) -> String?
}

extension SettingRow {
  /// `REEL_PUBLIC_BASE_URL`
  var variable: String { "REEL_" + SettingTable.words(of: key, separator: "_").uppercased() }
  /// `--public-base-url`
  var flag: String { SettingTable.flag(key) }
}

extension Setting: SettingRow {
  func read(_ text: SettingText) throws(SettingRefusal) -> any Sendable { try form.read(text) }

  func given(_ wrapper: Any) -> (any Sendable)? {
    switch wrapper {
    case let option as Option<Value?>: option.wrappedValue
    case let flag as Flag<Value?>: flag.wrappedValue
    // A flag that has no inversion means nothing when it is absent.
    case let flag as Flag<Bool>: flag.wrappedValue ? true : nil
    default: nil
    }
  }

  func problem(with value: any Sendable) -> String? { (value as? Value).flatMap(form.problem) }
}

extension SettingTable {
  /// `flag("publicBaseURL")` is `--public-base-url`.
  static func flag(_ key: String) -> String { "--" + words(of: key, separator: "-").lowercased() }

  /// The words of a key, joined by `separator`: `publicBaseURL` has the words `public`, `Base`, `URL`.
  static func words(of key: String, separator: Character) -> String {
    key.reduce(into: "") { name, character in
      if character.isUppercase, name.last?.isLowercase == true { name.append(separator) }
      name.append(character)
    }
  }
}

// MARK: Flags

/// Options that are settings: each is a property named like its row. Other options may stand among them.
protocol SettingFlags: ParsableArguments {}

extension SettingFlags {
  func validate() throws { try validateSettings() }

  /// - Throws: `ValidationError`, for the first invalid value.
  func validateSettings() throws {
    for (row, value) in SettingTable.values(in: self) {
      if let problem = row.problem(with: value) { throw ValidationError("\(row.flag) \(problem).") }
    }
  }
}

extension SettingTable {
  fileprivate static func values(in flags: any SettingFlags) -> [(row: any SettingRow, value: any Sendable)] {
    Mirror(reflecting: flags).children.compactMap { child in
      // The stored property of a wrapper has a `_` before its name.
      guard let row = child.label.flatMap({ rows[String($0.dropFirst())] }),
        let value = row.given(child.value)
      else { return nil }
      return (row, value)
    }
  }
}

extension Settings {
  /// The settings on the command line: those in `arguments` and in its groups of options.
  init(flagsOf arguments: any ParsableArguments) {
    if let flags = arguments as? any SettingFlags {
      for (row, value) in SettingTable.values(in: flags) { self[row.key] = value }
    }
    for child in Mirror(reflecting: arguments).children {
      guard let group = child.value as? any OptionGrouping else { continue }
      self = completed(by: Settings(flagsOf: group.arguments))
    }
  }
}

private protocol OptionGrouping {
  var arguments: any ParsableArguments { get }
}

extension OptionGroup: OptionGrouping {
  fileprivate var arguments: any ParsableArguments { wrappedValue }
}

extension Option {
  /// The flag of a setting.
  init<T>(_ setting: KeyPath<SettingTable, Setting<T>>) where Value == T? {
    let row = SettingTable.table[keyPath: setting]
    let argument = row.form.argument ?? { _ in throw ValidationError("it has no form") }
    self.init(
      name: .customLong(String(row.flag.dropFirst(2))), help: row.help, completion: row.completion,
      transform: argument)
  }

  /// The flag of a setting.
  init<T: ExpressibleByArgument>(_ setting: KeyPath<SettingTable, Setting<T>>) where Value == T? {
    let row = SettingTable.table[keyPath: setting]
    let name = NameSpecification.customLong(String(row.flag.dropFirst(2)))
    if let argument = row.form.argument {
      self.init(name: name, help: row.help, completion: row.completion, transform: argument)
    } else {
      self.init(name: name, help: row.help, completion: row.completion)
    }
  }
}

extension Flag<Bool?> {
  /// The flag of a setting, and its inversion.
  init(_ setting: KeyPath<SettingTable, Setting<Bool>>) {
    let row = SettingTable.table[keyPath: setting]
    self.init(
      name: .customLong(String(row.flag.dropFirst(2))), inversion: .prefixedNo, help: row.help)
  }
}

extension Flag<Bool> {
  /// The flag of a setting that the command line can only switch on.
  init(wrappedValue: Bool, _ setting: KeyPath<SettingTable, Setting<Bool>>) {
    let row = SettingTable.table[keyPath: setting]
    self.init(wrappedValue: wrappedValue, name: .customLong(String(row.flag.dropFirst(2))), help: row.help)
  }
}
