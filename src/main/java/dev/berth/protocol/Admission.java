package dev.berth.protocol;

/** By what right a request asks to run. */
public sealed interface Admission {
  /**
   * A slot is RUNNING for it already, taken by the sender through the ledger itself. Only an
   * instance can say so of its own replicas; from elsewhere it is refused.
   */
  enum Held implements Admission {
    HELD
  }

  /** The lease of a selection, consumed on arrival. */
  record Token(SlotToken token) implements Admission {}

  /** Run it if a slot is free when it arrives, else refuse it. */
  enum IfFree implements Admission {
    IF_FREE
  }
}
