import ReelIngest

/// The line of one file in flight.
struct FileLine {
  let file: FileInFlight
  let traits: TerminalTraits

  /// At most the terminal's width less one cell.
  func line() -> StyledLine {
    let columns = traits.redrawColumns
    let line =
      switch columns {
      case ..<30: narrow(columns)
      case ..<60: middling(columns)
      default: wide(columns)
      }
    return line.cut(to: columns, mark: traits.ellipsis)
  }

  /// `clip.mov  45%`
  private func narrow(_ columns: Int) -> StyledLine {
    let short: String? = if case .retrying = file.step { nil } else { file.percent }
    let right = DisplayWidth.paddedLeft(short ?? file.shortStepWord, to: FileInFlight.percentColumns)
    return name(columns - FileInFlight.percentColumns - 1) + " " + StyledLine(right, stepStyle)
  }

  /// `clip.mov  uploading  45%`
  private func middling(_ columns: Int) -> StyledLine {
    let right = FileInFlight.stepColumns + FileInFlight.percentColumns + 3
    return name(columns - right) + "  " + step(then: file.percent.map(percent))
  }

  /// `clip.mov  uploading [====------]  45%`
  private func wide(_ columns: Int) -> StyledLine {
    let bar = min(30, columns / 4)
    let right = FileInFlight.stepColumns + FileInFlight.percentColumns + bar + 6
    return name(columns - right) + "  "
      + step(then: file.percent.map { self.bar(bar) + " " + percent($0) })
  }

  private func name(_ columns: Int) -> StyledLine {
    let name = traits.sanitized(file.file.path.lastComponent.text)
    let cut = DisplayWidth.cuttingMiddle(name, to: columns, mark: traits.ellipsis)
    return StyledLine(DisplayWidth.padded(cut, to: columns))
  }

  private func step(then progress: StyledLine?) -> StyledLine {
    guard let progress else { return StyledLine(file.stepWord, stepStyle) }
    return StyledLine(DisplayWidth.padded(file.stepWord, to: FileInFlight.stepColumns), stepStyle) + " "
      + progress
  }

  private var stepStyle: StyledLine.TextStyle {
    if case .retrying = file.step { .warning } else { .dim }
  }

  private func percent(_ text: String) -> StyledLine {
    StyledLine(DisplayWidth.paddedLeft(text, to: FileInFlight.percentColumns))
  }

  private func bar(_ columns: Int) -> StyledLine {
    let (sent, total) = (file.progress?.sent ?? 0, file.progress?.total ?? 1)
    let share = Double(min(max(0, sent), total)) / Double(max(1, total))
    let full = Int(share * Double(columns))
    return StyledLine(
      "[" + String(repeating: "=", count: full) + String(repeating: "-", count: columns - full) + "]")
  }
}
