package dev.berth.config;

/** {@code berth.declare}: what a start declares of its file when something is kept. */
public enum Declare {
  /** What the file says anew. */
  CHANGED,
  /** Everything that the file says. */
  ALL,
  /** Nothing. */
  NEVER
}
