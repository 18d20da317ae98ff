package dev.berth.simulation;

/** What happens to a cluster while its controller keeps it as declared. */
enum LifecycleFault {
  DEPLOY_CODE,
  DEPLOY_LIVE,
  DEPLOY_REPLICAS,
  DEPLOY_ROLLOUT,
  DEPLOY_ROUTE,
  DEPLOY_FEWER_OR_MORE_PARTS,
  BAD_BUILD,
  NEVER_STARTS,
  HANGS_IN_START,
  OFTEN_FAILS_TO_START,
  NEVER_TAKES_IT,
  HANGS_IN_RECONFIGURE,
  SICKENS,
  SCALE,
  CAPACITY,
  DELETE,
  DECLARE_AGAIN,
  ROLLBACK,
  CRASH,
  ALL_CRASH,
  UNHEALTHY,
  HEALTHY_AGAIN,
  SUSPECT,
  ANSWERS_AGAIN,
  BUSY,
  CONTROLLER_RESTART,
  PROCESS_KILLED,
  POWER_CUT,
  DISK_FAILS,
  NODE_BLOCKED,
  NODE_DIES,
  NODE_CUT_OFF,
  NODE_LEAVES,
  NODE_CORDONED,
  NODE_LINKED_ANEW;

  /** What befalls members of a cluster. */
  boolean isOfNodes() {
    return compareTo(NODE_DIES) >= 0;
  }

  /** What operators ask for; the others happen by themselves. */
  boolean isCommand() {
    return compareTo(CRASH) < 0;
  }
}
