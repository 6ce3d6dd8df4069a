import ReelIngest

/// The line of one file in flight.
struct FileLine {
  let file: FileInFlight
  let traits: TerminalTraits

  /// Cells of `100%`.
  private static let percentColumns = 4

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
    let short = file.percent ?? String(file.stepWord.prefix(Self.percentColumns))
    return name(columns - Self.percentColumns - 1) + " "
      + StyledLine(DisplayWidth.paddedLeft(short, to: Self.percentColumns), .dim)
  }

  /// `clip.mov  uploading  45%`
  private func middling(_ columns: Int) -> StyledLine {
    let right = FileInFlight.stepColumns + Self.percentColumns + 3
    return name(columns - right) + "  " + step + " " + percent
  }

  /// `clip.mov  uploading [####------]  45%`
  private func wide(_ columns: Int) -> StyledLine {
    let bar = min(30, columns / 4)
    let right = FileInFlight.stepColumns + Self.percentColumns + bar + 6
    return name(columns - right) + "  " + step + " " + self.bar(bar) + " " + percent
  }

  private func name(_ columns: Int) -> StyledLine {
    let name = traits.harmless(file.file.path.lastComponent.text)
    let cut = DisplayWidth.cuttingMiddle(name, to: columns, mark: traits.ellipsis)
    return StyledLine(DisplayWidth.padded(cut, to: columns))
  }

  private var step: StyledLine {
    var ink = StyledLine.Ink.dim
    if case .retrying = file.step { ink = .warning }
    return StyledLine(DisplayWidth.padded(file.stepWord, to: FileInFlight.stepColumns), ink)
  }

  private var percent: StyledLine {
    StyledLine(DisplayWidth.paddedLeft(file.percent ?? "", to: Self.percentColumns))
  }

  /// Nothing before the first byte, so that a full bar and an empty one are both about the upload.
  private func bar(_ columns: Int) -> StyledLine {
    guard let progress = file.progress, progress.total > 0 else {
      return StyledLine(String(repeating: " ", count: columns + 2))
    }
    let share = Double(min(max(0, progress.sent), progress.total)) / Double(progress.total)
    let full = Int(share * Double(columns))
    return StyledLine(
      "[" + String(repeating: "#", count: full) + String(repeating: "-", count: columns - full) + "]")
  }
}
