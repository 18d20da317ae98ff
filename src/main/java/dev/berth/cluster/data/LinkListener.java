package dev.berth.cluster.data;

/** What becomes of the links to a process. Called on the event loop that has the link. */
public interface LinkListener {
  /**
   * What an own loop sent to a process, or the answer, may not have arrived. What never left is
   * handed back before.
   */
  void broken(String busNode, int loop);

  /** A process says that it is about to end. */
  void leaving(String busNode);

  /** A process is silent, or cannot be reached; as it seems from here. */
  void suspected(String busNode);
}
