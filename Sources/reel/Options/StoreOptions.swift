import ArgumentParser

/// How a store is reached, for every command that reaches one.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Put before each object's name to make the address that viewers open.", valueName: "url"))
  var publicBaseURL: String?

  @Option(
    help: ArgumentHelp(
      "Variables that a command: adapter gets beside REEL_ADAPTER_*.", valueName: "name,name"))
  var adapterEnv: String?

  @Option(
    help: ArgumentHelp(
      "Seconds that a command: adapter may tell nothing new (default: 60).", valueName: "seconds"))
  var adapterDeadline: Double?

  func validate() throws {
    if let adapterDeadline, !(adapterDeadline > 0 && adapterDeadline <= 3600) {
      throw ValidationError("--adapter-deadline is a number of seconds above 0, up to 3600.")
    }
  }
}
