package dev.berth.cluster.data;

/** Receives events of the links to a process. Called on the event loop of the link. */
public interface LinkListener {
  /**
   * Reports that messages of a local loop to a process, or their replies, may be lost. Messages
   * that were never sent are refused before this call.
   */
  void broken(String busNode, int loop);

  /** Reports that a process announced its end. */
  void leaving(String busNode);

  /** Reports that a process is silent or unreachable, from the view of this instance. */
  void suspected(String busNode);
}
