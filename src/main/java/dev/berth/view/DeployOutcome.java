package dev.berth.view;

import java.util.List;

/**
 * What a deploy makes of the applications that there are, or would make.
 *
 * @param revision the last that was given to any application, before it
 * @param applications those that are named, in their order, then the others
 */
public record DeployOutcome(long revision, List<Change> applications) {

  /** What becomes of one. */
  public enum Word {
    /** There was none of that name. */
    NEW,
    /** Its code or its entry is another. */
    CHANGED,
    /** It says the same with jars that hold the same; what has not run is tried anew. */
    UNCHANGED,
    /** It goes: the file that brought it names it no longer. */
    DELETED,
    /** It goes, though not this file alone brought it. */
    PRUNED,
    /** It is not named, and stays. */
    KEPT
  }

  /**
   * @param revision of it from then on; of one that goes, its last
   */
  public record Change(String name, Word change, long revision) {}

  public DeployOutcome {
    applications = List.copyOf(applications);
  }
}
