package dev.berth.simulation;

import java.util.EnumSet;
import java.util.Set;

/** What the simulation does to a run, and what it can meet: the pairs the suite must reach. */
enum Fault {
  // --- to a message between instances: any message of these phases ---
  DROP(Phase.MESSAGES),
  DUPLICATE(Phase.MESSAGES),
  REORDER(Phase.MESSAGES),
  DELAY(Phase.MESSAGES),
  /** The sender is told that it will not arrive. */
  UNSENT(Phase.MESSAGES),
  /** The sender is told that it has no wire form. */
  UNFIT(EnumSet.of(Phase.DISPATCH, Phase.CONSUME, Phase.RESPOND, Phase.STREAM)),

  // --- to a request, by its caller ---
  /** The caller forgets about it: it never reads, dispatches or closes. */
  VANISH(Phase.OWNED),
  CANCEL(Phase.ASKED),
  /** Its deadline passes. */
  TIMEOUT(Phase.ASKED),

  // --- to a replica, with requests in these phases there, or waiting for it ---
  KILL(Phase.OWNED),
  DRAIN(Phase.OWNED),
  /** Fewer slots. */
  LOWER(Phase.OWNED),
  HANDLER_FAILURE(EnumSet.of(Phase.RESPOND, Phase.STREAM)),
  HANDLER_SLOW(EnumSet.of(Phase.RESPOND, Phase.STREAM)),

  // --- to an instance ---
  /** An event loop is blocked, with requests in these phases on it. */
  STALL(Phase.OWNED),
  /** An instance dies with its routers, replicas and callers, and comes back empty. */
  CRASH(Phase.OWNED),
  /** The instances take each other for dead, though they live. */
  NODE_LOST(Phase.OWNED),
  /** What is under way between the instances is given up, though both live. */
  LINK_BROKEN(Phase.OWNED),
  /** An instance suspects the other for a while. */
  SUSPECTED(Phase.OWNED);

  private final Set<Phase> phases;

  Fault(Set<Phase> phases) {
    this.phases = phases;
  }

  /** The phases it can meet. */
  Set<Phase> phases() {
    return phases;
  }
}
