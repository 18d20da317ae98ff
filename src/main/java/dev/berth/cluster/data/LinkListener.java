package dev.berth.cluster.data;

/** What becomes of the links to a process. Called on the event loop that has the link. */
public interface LinkListener {
  /**
   * What an own loop sent to a process, and was not answered, may not have arrived. Of a link that
   * was never open this is not said: who waits for what it did not carry is answered.
   */
  void broken(String busNode, int loop);

  /** What a process sent here may not have arrived. */
  void cutOff(String busNode);

  /** A process says that it is about to end. */
  void leaving(String busNode);

  /** A process is silent, or cannot be reached; as it seems from here. */
  void suspected(String busNode);
}
