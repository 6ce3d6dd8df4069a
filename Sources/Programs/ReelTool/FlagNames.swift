import ReelCore
import ReelTerminal

/// The library's messages name settings (`ErrorMessage.Setting`); here they become the flags of the command line.
enum FlagNames {
  /// The message with `--jobs` where it names the setting `jobs`.
  static func put(into message: ErrorMessage) -> String {
    message.naming(flag, writing: CommandHint.ofThisProcess.text(completing:))
  }

  static func flag(_ setting: ErrorMessage.Setting) -> String {
    SettingTable.flag(setting.rawValue)
  }
}

extension FlagNames {
  static func flag(_ mend: Mend) -> String { mend.flag }
}

extension ReelError {
  /// The message as the command line tells it.
  var told: String { FlagNames.put(into: text) }
}
