package dev.berth.view;

import java.util.List;

/** The records of requests that were explained, while they are kept. Any thread. */
public interface ExplainView {
  /**
   * What is kept of a request, and of those it made in turn: the last recorded first. A client may
   * give several requests the same id. Empty when there is nothing.
   */
  List<RequestExplanation> explanations(String requestId);

  /** The last records kept, the newest first; at most {@code most}. */
  List<RequestExplanation> latest(int most);
}
