package dev.berth.dialect;

/** Treatment of the token usage in responses. */
public enum UsageMode {
  /** Not read. */
  OFF,
  /** Read from the bytes that pass. */
  READ,
  /** Read; events that exist only because the ingress requested usage are not passed on. */
  INJECT
}
