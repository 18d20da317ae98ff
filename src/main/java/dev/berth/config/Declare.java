package dev.berth.config;

import java.util.Locale;

/** {@code berth.declare}: what a start declares of its file when something is kept. */
public enum Declare {
  /** What the file says anew. */
  CHANGED,
  /** Everything that the file says. */
  ALL,
  /** Nothing. */
  NEVER;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
