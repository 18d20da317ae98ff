package dev.berth.config;

import java.nio.file.Path;
import java.util.List;

/**
 * Where what is declared is kept.
 *
 * @param directory {@code berth.state_dir}: absolute; made when there is something to keep
 * @param ephemeral {@code berth.ephemeral}: it is kept in memory only, and the directory not used
 * @param declare {@code berth.declare}: what of the file a start declares over what is kept
 */
public record StateOptions(Path directory, boolean ephemeral, Declare declare) {

  static final Key<Path> STATE_DIR =
      Key.optional(
              "state_dir",
              Types.path(),
              "Directory that keeps what was deployed, with the jars of it, so that it runs again"
                  + " after a restart. Relative to the folder of the file; the default is in the"
                  + " current folder. Made by the first accepted change. Only its owner may read"
                  + " it.")
          .fallbackText(Defaults.STATE_DIR);
  static final Key<Boolean> EPHEMERAL =
      Key.of(
          "ephemeral",
          Types.bool(),
          Defaults.EPHEMERAL,
          "Keeps what is deployed in memory only: a restart begins with the file alone, and"
              + " state_dir is neither read nor written.");

  static final Key<Declare> DECLARE =
      Key.of(
          "declare",
          Types.choice(List.of(Declare.values())),
          Defaults.DECLARE,
          "What a start declares of its file when something is kept: what the file says anew, all"
              + " that it says, or never anything.");

  /** With the default of the rest. */
  public StateOptions(Path directory, boolean ephemeral) {
    this(directory, ephemeral, Defaults.DECLARE);
  }

  static StateOptions from(Values berth) {
    Path given = berth.find(STATE_DIR);
    return new StateOptions(
        given != null ? given : Path.of(Defaults.STATE_DIR).toAbsolutePath().normalize(),
        berth.get(EPHEMERAL),
        berth.get(DECLARE));
  }
}
