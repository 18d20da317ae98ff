package dev.berth.view;

import java.util.List;

/**
 * Changes of applications by a deploy or its dry run.
 *
 * @param revision latest revision of any application before the deploy
 * @param applications named applications in the order of the config, then the others
 */
public record DeployOutcome(long revision, List<ApplicationChange> applications) {

  /** Change of one application. */
  public enum ApplicationChangeKind {
    /** No application of this name existed. */
    NEW,
    /** The code or the entry differs. */
    CHANGED,
    /**
     * The entry and the contents of its jars are equal. A revision that has not run is tried again.
     */
    UNCHANGED,
    /** Deleted: the file that declared the application no longer names it. */
    DELETED,
    /** Deleted by pruning, although this file alone did not declare it. */
    PRUNED,
    /** Not named, and unchanged. */
    KEPT
  }

  /**
   * Change of a named application.
   *
   * @param revision new revision; for a deleted application, its last one
   */
  public record ApplicationChange(String name, ApplicationChangeKind change, long revision) {}
}
