package dev.berth.config;

/** {@code berth.declare}: the part of the file that a start declares when a stored state exists. */
public enum DeclareMode {
  /** Entries of the file that changed since the last declaration. */
  CHANGED,
  /** All entries of the file. */
  ALL,
  /** No entries. */
  NEVER
}
