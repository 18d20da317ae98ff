package dev.berth.view;

import java.util.List;

/** Access to retained records of explained requests. Thread-safe. */
public interface ExplainView {
  /**
   * Returns the retained records of a request and of its nested calls, latest first. A client may
   * send several requests with the same id. Empty if there are none.
   */
  List<RequestExplanation> explanations(String requestId);

  /**
   * Returns the latest records, newest first.
   *
   * @param most maximum number of records
   */
  List<RequestExplanation> latest(int most);
}
